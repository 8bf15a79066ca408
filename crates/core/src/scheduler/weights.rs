//! Service curves of the schedulers that share a link by weight.

use crate::curves::{Exact, bytes_per_second};
use crate::params::{FixedPort, Sharer};
use crate::units::Rate;

/// Share of the link of the flow with this index, in bytes a second, while all flows have packets.
/// The weight of a flow is its reservation, or `unreserved`.
pub(super) fn share(port: &FixedPort<'_>, index: usize, unreserved: Rate) -> Exact {
    let weight = |flow: &Sharer| bytes_per_second(flow.contract.reserve.unwrap_or(unreserved));
    let all: Exact = port.flows.iter().map(weight).sum();
    &port.rate * weight(&port.flows[index]) / all
}
