//! The rule of a fair-queueing discipline: the pace of virtual time, and the tag that ranks. The
//! default methods give a packet its tags when it reaches the front of its queue.

use super::traits::ASK_AGAIN;
use super::virtual_time::VirtualTime;
use crate::contract::Refused;
use crate::packet::{FlowIx, Packet};
use crate::units::{Rate, Time};

/// The criterion that selects a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest start tag first.
    Start,
    /// Smallest finish tag first.
    Finish,
    /// Smallest finish tag first among packets whose start tag virtual time has reached.
    EligibleFinish,
}

/// The tags of a flow.
#[derive(Clone, Copy)]
pub struct Tags {
    /// Start tag of the first queued packet.
    pub(super) start: VirtualTime,
    /// Finish tag of the first queued packet; of the last packet served when none is queued.
    pub(super) finish: VirtualTime,
    /// Finish tag of the latest queued packet.
    pub(super) last: VirtualTime,
    /// Rate by which tags are computed.
    pub(super) weight: Rate,
    /// True if the flow is open; false if it is closed with packets still queued.
    pub(super) open: bool,
}

impl Tags {
    /// Moves the tags of all queued packets on by this much virtual time.
    pub(super) fn delay(&mut self, by: u128) {
        for tag in [&mut self.start, &mut self.finish, &mut self.last] {
            *tag = tag.later(by);
        }
    }
}

/// The pace of virtual time, and the tags that it gives to packets.
pub trait FairRule {
    /// The criterion that selects a flow.
    const ORDER: Order;

    /// Sets the rate of the server behind the node; see
    /// [`Scheduler::set_rate`](super::Scheduler::set_rate).
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let _ = (now, rate);
    }

    /// Makes the node a class; see [`Scheduler::follow_service`].
    ///
    /// [`Scheduler::follow_service`]: super::Scheduler::follow_service
    fn follow_service(&mut self) {}

    /// Opens a flow with this weight, or changes its weight from `before`.
    ///
    /// # Errors
    /// When the rule cannot work at this node.
    fn set_weight(&mut self, flow: FlowIx, before: Option<Rate>, weight: Rate) -> Result<(), Refused> {
        let _ = (flow, before, weight);
        Ok(())
    }

    /// Releases a flow of this weight, which is closed and has no packet left.
    fn release(&mut self, flow: FlowIx, weight: Rate) {
        let _ = (flow, weight);
    }

    /// Reports that the flow with these tags becomes backlogged: a packet of it is about to be
    /// pushed, and no other one waits.
    fn backlogged(&mut self, flow: FlowIx, tags: &Tags) {
        let _ = (flow, tags);
    }

    /// Reports that the flow with these tags has no packet left: the service of the last one has
    /// begun, or it was dropped.
    fn emptied(&mut self, flow: FlowIx, tags: &Tags) {
        let _ = (flow, tags);
    }

    /// Records whether the flow has a packet that waits and takes part.
    fn waits(&mut self, flow: FlowIx, waits: bool) {
        let _ = (flow, waits);
    }

    /// Advances to real time `now`.
    fn pass(&mut self, now: Time) {
        let _ = now;
    }

    /// Returns virtual time.
    fn virtual_time(&self) -> VirtualTime;

    /// Advances virtual time to `start` if it is earlier.
    fn advance_to(&mut self, start: VirtualTime) {
        let _ = start;
    }

    /// Ends the busy period: virtual time has passed all tags, of which `latest` is the latest one of
    /// the packets that were served.
    fn end_busy_period(&mut self, latest: VirtualTime) {
        self.advance_to(latest);
    }

    /// Updates the tags of a flow for a packet that is about to be pushed; `queued` is true if
    /// other packets of the flow wait.
    fn stamp(&mut self, packet: &mut Packet, tags: &mut Tags, queued: bool) {
        if queued {
            tags.last = tags.last.after(packet.len, tags.weight);
        } else {
            tags.start = tags.finish.max(self.virtual_time());
            tags.finish = tags.start.after(packet.len, tags.weight);
            tags.last = tags.finish;
        }
    }

    /// Updates the tags of a flow whose only packet, a token, has a new length. Returns false, with
    /// nothing changed, if they cannot change.
    fn resize(&self, tags: &mut Tags, len: u32) -> bool {
        tags.finish = tags.start.after(len, tags.weight);
        tags.last = tags.finish;
        true
    }

    /// Begins service of a packet of `len` bytes with these tags.
    fn served(&mut self, tags: &Tags, len: u32);

    /// Moves the tags on to `next`, which has reached the front after the packet with these tags
    /// was served.
    fn follow(&self, tags: &mut Tags, next: &Packet) {
        tags.start = tags.finish;
        tags.finish = tags.start.after(next.len, tags.weight);
    }

    /// Updates the tags after the first packet, `gone`, was dropped; `next` is the packet behind
    /// it.
    fn drop_first(&self, tags: &mut Tags, gone: &Packet, next: Option<&Packet>) {
        tags.finish = next.map_or(tags.start, |next| tags.start.after(next.len, tags.weight));
        tags.last = tags.last.before(gone.len.into(), tags.weight);
    }

    /// Updates the tags after the latest packet, `gone`, was pushed out; `queued` is true if others
    /// wait.
    fn drop_last(&mut self, tags: &mut Tags, gone: &Packet, queued: bool) {
        tags.last = tags.last.before(gone.len.into(), tags.weight);
        if !queued {
            tags.finish = tags.start;
        }
    }

    /// Updates the tags after a change of the weight of a flow whose queued packets have these
    /// lengths.
    fn weigh(&self, tags: &mut Tags, lengths: impl Iterator<Item = u32>) {
        let behind = lengths.skip(1);
        tags.last = behind.fold(tags.finish, |last, len| last.after(len, tags.weight));
    }

    /// Keeps the flow from being served from now on; `bytes` of it are queued.
    fn leave(&mut self, flow: FlowIx, tags: &Tags, bytes: u64) {
        let _ = (flow, tags, bytes);
    }

    /// Returns by how much virtual time is later than the start of the flow's `first` packet.
    fn late(&self, tags: &Tags, first: &Packet) -> u128 {
        let _ = first;
        self.virtual_time().since(tags.start)
    }

    /// Lets the flow be served again; the tags of its queued packets, if any, are later by `late`.
    fn rejoin(&mut self, flow: FlowIx, tags: &Tags, late: Option<u128>) {
        let _ = (flow, tags, late);
    }

    /// Sets the finish tag of a flow without packets at a new scheduler; see [`Scheduler::resume`].
    ///
    /// [`Scheduler::resume`]: super::Scheduler::resume
    fn resume(&mut self, flow: FlowIx, tags: &Tags) {
        let _ = (flow, tags);
    }

    /// Sets virtual time after the packets that wait at a new scheduler have been pushed. The server is
    /// still sending a packet of `in_service` bytes, or none.
    fn resumed(&mut self, at: VirtualTime, in_service: Option<u32>) {
        let _ = in_service;
        self.advance_to(at);
    }

    /// Reports, after that, a flow without packets whose finish tag is later.
    fn resume_ahead(&mut self, flow: FlowIx, tags: &Tags) {
        let _ = (flow, tags);
    }

    /// Returns the virtual time until which the flow is ahead.
    fn end(&self, flow: FlowIx, tags: &Tags) -> VirtualTime {
        let _ = flow;
        tags.finish.max(tags.last)
    }

    /// Returns the time at which a flow that is ahead until `end` is no longer ahead, if no packet
    /// arrives. The time is not after `now` only when the flow is no longer ahead. `over` is the
    /// end of the busy period, when nothing is queued.
    fn caught_up_at(&self, now: Time, flow: FlowIx, end: VirtualTime, over: Option<Time>) -> Time {
        let _ = flow;
        // The pace of virtual time depends on the flows that arrive.
        over.unwrap_or_else(|| now + end.span_since(self.virtual_time()).max(ASK_AGAIN))
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize {
        0
    }
}
