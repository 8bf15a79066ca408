//! The table `usage`.

use super::Run;
use super::table::{Cell, Table};
use crate::usage::Whose;
use Cell::{Text, Whole};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("usage");
    for (metered, usage) in run.world.usage() {
        let (profile, flow) = match metered.whose {
            Whose::Shared(ix) => (name(&run.network.profiles, ix), ""),
            Whose::Flow(ix) => ("", run.network.flows[ix as usize].name.as_str()),
        };
        let [inside, yellow, outside] = usage.coloured;
        rows.row([
            ("link", Text(&run.network.links[metered.link as usize].name)),
            ("class", Text(metered.class.map_or("", |ix| name(&run.network.classes, ix)))),
            ("nth", Whole(metered.nth as u64 + 1)),
            ("profile", Text(profile)),
            ("flow", Text(flow)),
            ("inside_bytes", Whole(inside)),
            ("yellow_bytes", Whole(yellow)),
            ("outside_bytes", Whole(outside)),
            ("congested_inside_bytes", Whole(usage.congested_inside)),
            ("congested_outside_bytes", Whole(usage.congested_outside)),
        ]);
    }
    rows.finish()
}

/// The name of a class or a profile; empty for one that has none.
fn name(names: &[String], ix: u16) -> &str {
    names.get(usize::from(ix)).map_or("", String::as_str)
}
