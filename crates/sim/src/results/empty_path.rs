//! The completion time of a transfer on the empty network: all its packets are sent at once, and
//! wait only for each other.

use crate::network::{FlowSetup, Network};
use crate::source::{EndpointFactory, Traffic};
use tidegate_core::aal5;
use tidegate_core::link::Framing;
use tidegate_core::units::{Rate, Span};

/// The links on the way of a connection's data and back.
pub(super) struct EmptyPath<'n> {
    factory: &'n dyn EndpointFactory,
    /// Its paths: the fastest counts.
    there: Vec<Way>,
    back: Vec<Way>,
}

impl<'n> EmptyPath<'n> {
    /// Returns the path of the connection whose data are the flow; `None` where the time of a
    /// packet over a link is not its length over the link's rate: with a trace, or through a gate.
    pub(super) fn of(network: &'n Network, flow: usize) -> Option<EmptyPath<'n>> {
        let setup = &network.flows[flow];
        let Traffic::Endpoint(factory) = &setup.traffic else { return None };
        let back = Way::of(network, &network.flows[setup.peer?])?;
        Some(EmptyPath { factory: factory.as_ref(), there: Way::of(network, setup)?, back })
    }

    /// Returns the time from the start of a transfer of this many bytes to the acknowledgement of
    /// its last; `None` for a transport without acknowledgements.
    pub(super) fn time(&self, bytes: u64) -> Option<Span> {
        let packets = self.factory.packets(bytes)?;
        let there = self.there.iter().map(|way| way.time(packets.count - 1, packets.each, packets.last));
        let back = self.back.iter().map(|way| way.time(0, packets.answer, packets.answer));
        Some(there.min()? + back.min()?)
    }
}

/// The links in one direction.
struct Way {
    /// Rate and framing of each.
    links: Vec<(Rate, Framing)>,
    delay: Span,
    is_cut: bool,
}

impl Way {
    /// Returns the ways of the packets of a flow.
    fn of(network: &Network, flow: &FlowSetup) -> Option<Vec<Way>> {
        let has_rate = |link: &usize| {
            let gate = network.gate.as_ref().is_some_and(|gate| gate.links.contains(link));
            !gate && network.links[*link].pace.is_steady() && network.links[*link].has_one_delay()
        };
        let hops: Vec<usize> = flow.hops().map(|place| flow.route[place]).collect();
        let way = |path: &[usize]| {
            let links = || path.iter().map(|link| &network.links[*link]);
            Way {
                links: links().map(|link| (link.rate, link.framing)).collect(),
                delay: links().fold(Span::ZERO, |sum, link| sum + link.delay),
                is_cut: flow.aal5,
            }
        };
        flow.route.iter().all(has_rate).then(|| hops.chunks(flow.path_length()).map(way).collect())
    }

    /// Returns the time until the last of several packets has arrived: `before` packets of `each`
    /// bytes, and the `last`.
    fn time(&self, before: u64, each: u32, last: u32) -> Span {
        match self.is_cut {
            true => {
                let cells = before * u64::from(aal5::cells(each)) + u64::from(aal5::cells(last));
                self.time_of_train(cells - 1, aal5::CELL, aal5::CELL)
            }
            false => self.time_of_train(before, each, last),
        }
    }

    /// Packets of one length wait at the slowest of the links that they have come to, and so the
    /// k-th leaves a link (k - 1) of its times after the first. The last one waits at each link for
    /// the one before.
    fn time_of_train(&self, before: u64, each: u32, last: u32) -> Span {
        let (mut first, mut slowest, mut end) = (Span::ZERO, Span::ZERO, Span::ZERO);
        for (rate, framing) in &self.links {
            let time = rate.time_for(framing.charge(each));
            first += time;
            slowest = slowest.max(time);
            let waits = before.saturating_sub(1).saturating_mul(slowest.ticks());
            let ahead = if before > 0 { first + Span::from_ticks(waits) } else { Span::ZERO };
            end = end.max(ahead) + rate.time_for(framing.charge(last));
        }
        end + self.delay
    }
}
