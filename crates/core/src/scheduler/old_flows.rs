//! The old list of DRR++: backlogged flows in the order of their turns, in one round for all.

use super::turns::Turns;
use crate::contract::Contract;
use crate::packet::FlowIx;

/// Number of further quanta after which a deficit is above zero.
#[inline]
pub(super) fn quanta(deficit: i64, quantum: i64) -> i64 {
    if deficit > 0 { 0 } else { -deficit / quantum + 1 }
}

/// The old list. Its flows take turns in one round, or in a round of each host.
pub trait OldFlows {
    /// A host; one for all flows if they take turns in one round.
    type Host: Copy + PartialEq;

    /// Creates an empty list for turns of `quantum` bytes, above 0.
    fn new(quantum: i64) -> Self;

    /// Opens a flow, or changes its contract.
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract);

    /// Returns the flow whose turn it is.
    fn first(&self) -> Option<FlowIx>;

    /// Number of flows that take turns with the first, itself among them.
    fn len(&self) -> u32;

    /// These flows in the order of their turns.
    fn iter(&self) -> impl Iterator<Item = FlowIx>;

    /// Returns true if the flow is in the list.
    fn contains(&self, flow: FlowIx) -> bool;

    /// Puts a flow that is not in the list behind all with which it takes turns.
    fn join(&mut self, flow: FlowIx);

    /// Removes the flow, if it is in the list.
    fn leave(&mut self, flow: FlowIx);

    /// Ends the turn of the first flow.
    fn end_turn(&mut self);

    /// Lets this number of rounds pass without a packet, among the flows that take turns with the
    /// first.
    fn skip_rounds(&mut self, rounds: u64);

    /// Returns the round in which the flow's turn comes after this number of its further turns.
    fn round_after(&self, flow: FlowIx, turns: u64) -> u64;

    /// The flow's host.
    fn host(&self, flow: FlowIx) -> Self::Host;

    /// Returns the host whose turn comes first among those with a flow for which `waits` is true,
    /// once the flows of `joining` have joined, in their order. Without such a host, `None` or any.
    fn next_host<I: Iterator<Item = FlowIx>>(
        &self,
        joining: impl Fn() -> I,
        waits: impl Fn(&FlowIx) -> bool,
    ) -> Option<Self::Host>;

    /// The flows of a host that are in the list, in the order of their turns.
    fn of_host(&self, host: Self::Host) -> impl Iterator<Item = FlowIx>;

    /// Charges the flow's host for a packet that is sent.
    fn charge(&mut self, flow: FlowIx, len: u32);

    /// Returns true if the flow may be sent before old flows while it is new.
    fn lets_lead(&self, flow: FlowIx) -> bool;

    /// Forgets the host of a flow that is closed and not in the list.
    fn release(&mut self, flow: FlowIx);

    /// Bytes of memory held.
    fn memory(&self) -> usize;
}

impl OldFlows for Turns {
    type Host = ();

    fn new(_: i64) -> Turns {
        Turns::default()
    }

    fn set_flow(&mut self, flow: FlowIx, _: &Contract) {
        self.grow_to(flow.0 + 1);
    }

    #[inline]
    fn first(&self) -> Option<FlowIx> {
        Turns::first(self)
    }

    #[inline]
    fn len(&self) -> u32 {
        Turns::len(self)
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = FlowIx> {
        Turns::iter(self)
    }

    #[inline]
    fn contains(&self, flow: FlowIx) -> bool {
        Turns::contains(self, flow)
    }

    #[inline]
    fn join(&mut self, flow: FlowIx) {
        Turns::join(self, flow);
    }

    #[inline]
    fn leave(&mut self, flow: FlowIx) {
        Turns::leave(self, flow);
    }

    #[inline]
    fn end_turn(&mut self) {
        Turns::end_turn(self);
    }

    fn skip_rounds(&mut self, rounds: u64) {
        Turns::skip_rounds(self, rounds);
    }

    #[inline]
    fn round_after(&self, flow: FlowIx, turns: u64) -> u64 {
        let round = if self.contains(flow) { self.round(flow) } else { self.next_round() };
        round.saturating_add(turns)
    }

    #[inline]
    fn host(&self, _: FlowIx) {}

    #[inline]
    fn next_host<I: Iterator<Item = FlowIx>>(
        &self,
        _: impl Fn() -> I,
        _: impl Fn(&FlowIx) -> bool,
    ) -> Option<()> {
        Some(())
    }

    #[inline]
    fn of_host(&self, (): ()) -> impl Iterator<Item = FlowIx> {
        Turns::iter(self)
    }

    #[inline]
    fn charge(&mut self, _: FlowIx, _: u32) {}

    #[inline]
    fn lets_lead(&self, _: FlowIx) -> bool {
        true
    }

    fn release(&mut self, _: FlowIx) {}

    fn memory(&self) -> usize {
        Turns::memory(self)
    }
}
