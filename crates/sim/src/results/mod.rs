//! Results of a run, as the tables that [`tidegate_formats::columns`] declares: one file for each
//! table, and `table`, which makes columns of its rows.

mod aal5;
mod assurance;
mod classes;
mod credit;
mod drops;
mod empty_path;
mod flows;
mod gate;
mod groups;
mod histogram;
mod links;
mod non_responsive;
mod run;
mod series;
mod signals;
mod table;
mod transfers;
mod usage;
mod workahead;

pub use table::{Table, Values};

use crate::network::Network;
use crate::world::World;
use run::Run;

/// Returns the tables of one replication so far, in the order of
/// [`TABLES`](tidegate_formats::columns::TABLES).
pub fn tables<Q>(network: &Network, world: &World<Q>, replication: u64, seed: u64) -> Vec<Table> {
    let run = Run { network, world, replication, seed };
    vec![
        flows::table(&run),
        groups::table(&run),
        links::table(&run),
        classes::table(&run),
        drops::table(&run),
        transfers::table(&run),
        usage::table(&run),
        assurance::table(&run),
        non_responsive::table(&run),
        aal5::table(&run),
        credit::links(&run),
        credit::vcs(&run),
        credit::outputs(&run),
        credit::stalls(&run),
        series::table(&run),
        signals::table(&run),
        gate::table(&run),
        workahead::table(&run),
        histogram::table(&run),
    ]
}
