//! Data structures that keep flows and packets in order: ranks, rings and tables by flow.

pub mod flow_heap;
mod flow_ladder;
pub(crate) mod flow_ranks;
mod flow_tournament;
pub(crate) mod lazy_table;
mod radix_ladder;
pub mod ring;
mod sorted_prefix;

pub use sorted_prefix::Rank;
