//! The counters of a port. At every moment, in packets and in bytes:
//!
//! - of a flow, `arrived = sent + dropped + shaped + queued + in service`;
//! - of a port, what it sent is the sum of what its flows sent (those that are gone included), and
//!   its drops are the sum over the reasons ([`Reason::ALL`]).
//!
//! A packet that was marked is one that was let into the queue, or out of it, with congestion
//! marked: it is sent, pushed out or queued like any other, and counts once where meters and
//! droppers see it arrive and once where it is selected to be sent. In packets, therefore,
//! `marked ≤ 2 · arrived`, and a port's marks by reason add up to the marks of its flows, those
//! that are gone included.

use crate::context::Reason;
use crate::stats::{Count, Lengths};
use crate::units::{Span, Time};

/// One flow at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Last bit in.
    pub arrived: Count,
    /// Last bit out.
    pub sent: Count,
    /// Dropped, for whatever reason.
    pub dropped: Count,
    /// Packets marked instead of being dropped.
    pub marked: u64,
}

/// A port's queue over time: the packet in service is included, packets waiting in shapers are not.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct QueueStats {
    /// Packets × ticks: the area under the queue's length. While the statistics are kept, it is
    /// the times of leaving less the times of entering, modulo 2¹²⁸: two instructions a packet.
    area: u128,
    /// Ticks during which a packet was in service; while kept, ends less beginnings of service.
    busy: u64,
    since: Time,
    /// The longest queue, in packets.
    pub longest: u64,
    /// Queue lengths as the packets that entered saw them, themselves excluded.
    pub seen: Lengths,
}

impl QueueStats {
    /// The statistics of a queue that has `packets` packets now.
    pub(super) fn new(now: Time, packets: u64, in_service: bool) -> QueueStats {
        // As if they entered now, and service began.
        let busy = if in_service { now.ticks() } else { 0 };
        QueueStats {
            longest: 0,
            seen: Lengths::default(),
            area: area_before(now, packets).wrapping_neg(),
            busy: busy.wrapping_neg(),
            since: now,
        }
    }

    /// A packet enters the queue behind `before` others.
    #[inline]
    pub(super) fn entered(&mut self, now: Time, before: u64) {
        self.seen.add(before);
        self.area = self.area.wrapping_sub(u128::from(now.ticks()));
        self.since = now;
    }

    /// A packet of `packets` is pushed out. Those of a length that the queue has reached at this instant were in
    /// the queue for no time.
    pub(super) fn pushed_out(&mut self, now: Time, packets: u64) {
        if self.since < now {
            self.reached(packets);
        }
    }

    /// A packet of `packets` is to leave, other than by push-out.
    #[inline]
    pub(super) fn reached(&mut self, packets: u64) {
        self.longest = self.longest.max(packets);
    }

    /// A packet leaves the queue.
    #[inline]
    pub(super) fn left(&mut self, now: Time) {
        self.area = self.area.wrapping_add(u128::from(now.ticks()));
        self.since = now;
    }

    /// A packet's first bit leaves.
    #[inline]
    pub(super) fn service_begins(&mut self, now: Time) {
        self.busy = self.busy.wrapping_sub(now.ticks());
        self.since = now;
    }

    /// A packet's last bit is out.
    #[inline]
    pub(super) fn service_ends(&mut self, now: Time) {
        self.busy = self.busy.wrapping_add(now.ticks());
        self.left(now);
    }

    /// As of `now`, when the queue has `packets` packets: as if they left it then. Never before the last change.
    pub(super) fn closed(mut self, now: Time, packets: u64, in_service: bool) -> QueueStats {
        let now = now.max(self.since);
        self.reached(packets.max(self.seen.largest().unwrap_or(0)));
        self.area = self.area.wrapping_add(area_before(now, packets));
        if in_service {
            self.busy = self.busy.wrapping_add(now.ticks());
        }
        self
    }

    /// Bytes of memory held beyond the record itself.
    pub(super) fn memory(&self) -> usize {
        self.seen.memory()
    }

    /// Packets × ticks.
    pub fn area(&self) -> u128 {
        self.area
    }

    /// How long a packet was in service.
    pub fn busy(&self) -> Span {
        Span::from_ticks(self.busy)
    }

    /// How long a packet was in service until `now`, at or after the last change of the queue.
    pub(super) fn busy_until(&self, now: Time, in_service: bool) -> Span {
        let since = if in_service { now.ticks() } else { 0 };
        Span::from_ticks(self.busy.wrapping_add(since))
    }
}

/// The area of `packets` packets from the zero of time until `at`.
fn area_before(at: Time, packets: u64) -> u128 {
    u128::from(packets) * u128::from(at.ticks())
}

/// Packets by the reason for which they were dropped, or marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByReason([u64; Reason::ALL.len()]);

impl ByReason {
    pub(super) fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Packets for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Packets for all reasons.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plain sums over the stretches between changes and over the arrivals, with a
        /// new beginning on the way.
        #[test]
        fn what_is_kept_is_what_the_definitions_say(
            steps in prop::collection::vec((0u64..1 << 40, 0u8..4), 1..100),
            anew in 0usize..100,
        ) {
            let mut now = Time::ORIGIN;
            let (mut packets, mut busy) = (0u64, false);
            let mut stats = QueueStats::new(now, packets, busy);
            let (mut area, mut busy_for, mut seen_before) = (0u128, 0u64, Vec::new());
            for (step, (gap, what)) in steps.into_iter().enumerate() {
                now += Span::from_ticks(gap);
                area += u128::from(packets) * u128::from(gap);
                busy_for += if busy { gap } else { 0 };
                if step == anew {
                    stats = QueueStats::new(now, packets, busy);
                    (area, busy_for) = (0, 0);
                    seen_before.clear();
                }
                match what {
                    0 if packets > u64::from(busy) && !busy => {
                        stats.service_begins(now);
                        busy = true;
                    }
                    1 if busy => {
                        stats.service_ends(now);
                        (packets, busy) = (packets - 1, false);
                    }
                    2 if packets > u64::from(busy) => {
                        stats.left(now);
                        packets -= 1;
                    }
                    _ => {
                        stats.entered(now, packets);
                        seen_before.push(packets);
                        packets += 1;
                    }
                }
                let later = now + Span::from_ticks(7);
                prop_assert_eq!(stats.busy_until(later, busy).ticks(), busy_for + if busy { 7 } else { 0 });
                let closed = stats.clone().closed(later, packets, busy);
                let until = (area + 7 * u128::from(packets), busy_for + if busy { 7 } else { 0 });
                prop_assert_eq!((closed.area(), closed.busy().ticks()), until);
                prop_assert_eq!(closed.seen.count(), seen_before.len() as u64);
                prop_assert_eq!(closed.seen.quantile(1, 1), seen_before.iter().copied().max());
            }
        }
    }
}
