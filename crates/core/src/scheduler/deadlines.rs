//! The deadline of a packet: the common part of schedulers that serve the earliest deadline first.

use super::floors::Floors;
use crate::bounds::deadlines::{DeadlineDemand, first_overrun_of};
use crate::contract::Contract;
use crate::packet::FlowIx;
use crate::params::{Fault, Guarantee, Member, NodeContext, Supply};
use crate::queues::Queues;
use crate::units::{Span, Time};
use alloc::format;
use alloc::vec::Vec;

/// The local delay bounds of flows, and the stamps that follow from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    /// [`Span::MAX`] for a flow without a bound: its packets are due at the end of time.
    bounds: Vec<Span>,
    floors: Floors,
}

impl Deadlines {
    /// Opens a flow or changes its bound.
    pub(super) fn set(&mut self, flow: FlowIx, contract: &Contract) {
        if self.bounds.len() <= flow.ix() {
            self.bounds.resize(flow.ix() + 1, Span::MAX);
        }
        self.bounds[flow.ix()] = contract.deadline.unwrap_or(Span::MAX);
    }

    /// Returns true if the flow has a deadline.
    #[inline]
    pub(super) fn has_one(&self, flow: FlowIx) -> bool {
        self.bounds[flow.ix()] != Span::MAX
    }

    /// Returns the tag of a packet of the flow that is about to be pushed; its bound counts from
    /// `from`.
    #[inline]
    pub(super) fn tag(&mut self, flow: FlowIx, from: Time, queues: &Queues) -> u64 {
        self.floors.tag(flow, (from + self.bounds[flow.ix()]).ticks(), queues)
    }

    /// Returns the current rank of a packet with this tag.
    #[inline]
    pub(super) fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        self.floors.key(flow, tag)
    }

    /// Ends the absence of a flow: its first packet is due as if it had arrived now.
    pub(super) fn rejoin(&mut self, now: Time, flow: FlowIx) {
        if self.has_one(flow) {
            self.floors.rejoin(flow, (now + self.bounds[flow.ix()]).ticks());
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.bounds.capacity() * size_of::<Span>() + self.floors.memory()
    }
}

/// The error where nothing is known of the service of a class.
const UNSUPPLIED: &str = "its deadline cannot be kept: the schedulers above the class guarantee it no rate. Let all that is \
                          as urgent state `reserve` and `workahead`, or share by reservations above it";

/// Checks that every deadline is kept while flows send no more than they state. The traffic of
/// flows set up by signalling, and of flows that do not state W, is unknown: only one of their
/// packets counts, in service.
///
/// # Errors
/// When packets may be late: at their flow.
pub(super) fn check(node: &NodeContext<'_>) -> Result<(), Fault> {
    let demand = |member: &Member| DeadlineDemand {
        count: if member.signalled { 0 } else { member.count },
        contract: member.contract,
        largest: member.largest,
    };
    let demands: Vec<DeadlineDemand> = node.members.iter().map(demand).collect();
    let server = match node.supply {
        Supply::Link => Guarantee::of_link(node.link),
        Supply::Class(Some(guarantee)) => guarantee,
        Supply::Class(None) => {
            let states = |member: &Member| {
                let Contract { deadline, reserve, .. } = member.contract;
                deadline.is_some() && reserve.is_some() && member.contract.max_workahead().is_some()
            };
            let Some(index) = node.members.iter().position(|member| states(member) && !member.signalled)
            else {
                return Ok(());
            };
            return Err(Fault::of(index, 0, "deadline", UNSUPPLIED));
        }
    };
    let Some(overrun) = first_overrun_of(server, &demands) else { return Ok(()) };
    let carrier = if node.supply == Supply::Link { "the link carries" } else { "the class is guaranteed" };
    let message = format!(
        "its deadline may be missed: up to {:.0} B may be due within {:.3} ms, and {carrier} {:.0} B",
        libm::ceil(overrun.due),
        overrun.within * 1e3,
        libm::floor(overrun.carried)
    );
    Err(Fault::of(overrun.index, 0, "deadline", message))
}
