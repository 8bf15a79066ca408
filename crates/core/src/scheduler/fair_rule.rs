//! The differences between fair queues: how virtual time runs, and which tag ranks. The default methods give
//! a packet its tags when it comes to the front of its queue.

use super::ASK_AGAIN;
use super::virtual_time::VirtualTime;
use crate::contract::Refused;
use crate::packet::{FlowIx, Packet};
use crate::units::{Rate, Time};

/// Which flow is selected.
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
    /// Of the first packet that is queued.
    pub(super) start: VirtualTime,
    /// Of the first packet that is queued; of the one that was served last when there is none.
    pub(super) finish: VirtualTime,
    /// The finish tag of the latest packet that is queued.
    pub(super) last: VirtualTime,
    /// The rate that tags are computed with.
    pub(super) weight: Rate,
    /// Whether the flow is open, or closed with packets left.
    pub(super) open: bool,
}

/// How virtual time runs.
pub trait FairRule {
    /// Which flow is selected.
    const ORDER: Order;

    /// The rate of the server behind the node; see [`Scheduler::set_rate`].
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let _ = (now, rate);
    }

    /// A flow of this weight is opened, or its weight was `before`.
    ///
    /// # Errors
    /// When the rule cannot work here.
    fn set_weight(&mut self, flow: FlowIx, before: Option<Rate>, weight: Rate) -> Result<(), Refused> {
        let _ = (flow, before, weight);
        Ok(())
    }

    /// A flow of this weight is closed, and has no packet left.
    fn release(&mut self, flow: FlowIx, weight: Rate) {
        let _ = (flow, weight);
    }

    /// A packet of the flow with these tags is about to be pushed, and no other of it waits.
    fn backlogged(&mut self, flow: FlowIx, tags: &Tags) {
        let _ = (flow, tags);
    }

    /// The last packet of the flow with these tags is gone; its service has begun, or it was dropped.
    fn emptied(&mut self, flow: FlowIx, tags: &Tags) {
        let _ = (flow, tags);
    }

    /// Real time has come to `now`.
    fn pass(&mut self, now: Time) {
        let _ = now;
    }

    /// Virtual time.
    fn virtual_time(&self) -> VirtualTime;

    /// Virtual time is no earlier than this: a busy period is over.
    fn reach(&mut self, start: VirtualTime) {
        let _ = start;
    }

    /// A packet is about to be pushed: the tags of its flow with it; `queued` says whether others of it wait.
    fn stamp(&mut self, packet: &mut Packet, tags: &mut Tags, queued: bool) {
        if queued {
            tags.last = tags.last.after(packet.len, tags.weight);
        } else {
            tags.start = tags.finish.max(self.virtual_time());
            tags.finish = tags.start.after(packet.len, tags.weight);
            tags.last = tags.finish;
        }
    }

    /// The service of a packet of `len` bytes with these tags begins.
    fn served(&mut self, tags: &Tags, len: u32);

    /// `next` has come to the front behind the packet with these tags, which was served.
    fn follow(&self, tags: &mut Tags, next: &Packet) {
        tags.start = tags.finish;
        tags.finish = tags.start.after(next.len, tags.weight);
    }

    /// `gone`, the first packet, was dropped; `next` is behind it.
    fn drop_first(&self, tags: &mut Tags, gone: &Packet, next: Option<&Packet>) {
        tags.finish = next.map_or(tags.start, |next| tags.start.after(next.len, tags.weight));
        tags.last = tags.last.before(gone.len, tags.weight);
    }

    /// `gone`, the latest packet, was pushed out; `queued` says whether others wait.
    fn drop_last(&mut self, tags: &mut Tags, gone: &Packet, queued: bool) {
        tags.last = tags.last.before(gone.len, tags.weight);
        if !queued {
            tags.finish = tags.start;
        }
    }

    /// The flow has another weight, and has packets of these lengths.
    fn weigh(&self, tags: &mut Tags, lengths: impl Iterator<Item = u32>) {
        let behind = lengths.skip(1);
        tags.last = behind.fold(tags.finish, |last, len| last.after(len, tags.weight));
    }

    /// The flow is absent from now on.
    fn leave(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// The flow is not absent any more; the tags of what it has queued, if anything, are later by `late`.
    fn rejoin(&mut self, flow: FlowIx, tags: &Tags, late: Option<u128>) {
        let _ = (flow, tags, late);
    }

    /// Until when the flow is ahead of virtual time.
    fn end(&self, flow: FlowIx, tags: &Tags) -> VirtualTime {
        let _ = flow;
        tags.finish.max(tags.last)
    }

    /// When the flow is not ahead any more that is ahead until `end`, if no packet comes: not after `now` only when that
    /// is so. `over` is the end of the busy period, when nothing is queued.
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
