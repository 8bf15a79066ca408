//! Counters of a port. At every moment, in packets and in bytes:
//!
//! - for a flow, `arrived = sent + dropped + shaped + queued + in service`;
//! - for a port, its sent count is the sum over its flows (those that are gone included), and its
//!   drops are the sum over the reasons ([`Reason::ALL`]).
//!
//! A marked packet is one that was admitted to the queue, or released from it, with congestion
//! marked. It is sent, pushed out or queued like any other. It counts once where meters and
//! droppers see it arrive, and once where it is selected for service. In packets, therefore,
//! `marked ≤ 2 · arrived`, and a port's marks by reason add up to the marks of its flows, those
//! that are gone included.

use crate::context::Reason;
use crate::stats::{Count, Lengths, PositiveLengths, wrapping_count};
use crate::units::{Span, Time};

/// Counters of one flow at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Packets whose last bit is in.
    pub arrived: Count,
    /// Packets whose last bit is out.
    pub sent: Count,
    /// Packets dropped, for any reason.
    pub dropped: Count,
    /// Packets marked instead of being dropped.
    pub marked: u64,
}

/// A port's queue over time: the packet in service is included, packets waiting in shapers are not.
#[derive(Clone, Debug)]
pub struct QueueStats {
    area: u128,
    busy: Span,
    /// The longest queue, in packets.
    pub longest: u64,
    /// Queue lengths as seen by entering packets, excluding themselves.
    pub seen: Lengths,
}

/// A port's queue over time while it is counted, without the lengths above zero that packets see:
/// the part that every packet touches, when it enters and when it leaves.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RunningStats {
    /// Packets × ticks: the sum of leaving times less that of entering times, modulo 2¹²⁸: two
    /// instructions a packet.
    area: u128,
    /// Ends less starts of service, in ticks.
    busy: u64,
    since: Time,
    /// The longest queue that a leaving packet has seen, itself included.
    longest: u64,
    /// Packets that found nothing here.
    alone: u64,
}

impl RunningStats {
    /// Starts the statistics of a queue that has `packets` packets now.
    pub(super) fn new(now: Time, packets: u64, in_service: bool) -> RunningStats {
        // As if the packets entered now, and service began.
        let busy = if in_service { now.ticks() } else { 0 };
        RunningStats {
            longest: 0,
            alone: 0,
            area: area_before(now, packets).wrapping_neg(),
            busy: busy.wrapping_neg(),
            since: now,
        }
    }

    /// Counts a packet that enters the queue.
    #[inline]
    pub(super) fn entered(&mut self, now: Time) {
        self.area = self.area.wrapping_sub(u128::from(now.ticks()));
        self.since = now;
    }

    /// Counts a packet that enters the queue and finds nothing there.
    #[inline]
    pub(super) fn entered_alone(&mut self, now: Time) {
        wrapping_count(&mut self.alone, 1);
        self.entered(now);
    }

    /// Counts the push-out of one of `packets` packets. A length that the queue has reached only at
    /// this instant lasted no time.
    pub(super) fn pushed_out(&mut self, now: Time, packets: u64) {
        if self.since < now {
            self.reached(packets);
        }
    }

    /// Records the length `packets` before a packet leaves other than by push-out.
    #[inline]
    pub(super) fn reached(&mut self, packets: u64) {
        self.longest = self.longest.max(packets);
    }

    /// Counts a packet that leaves the queue.
    #[inline]
    pub(super) fn left(&mut self, now: Time) {
        self.area = self.area.wrapping_add(u128::from(now.ticks()));
        self.since = now;
    }

    /// Starts a service: a packet's first bit leaves.
    #[inline]
    pub(super) fn service_begins(&mut self, now: Time) {
        self.busy = self.busy.wrapping_sub(now.ticks());
        self.since = now;
    }

    /// Ends a service: a packet's last bit is out.
    #[inline]
    pub(super) fn service_ends(&mut self, now: Time) {
        self.busy = self.busy.wrapping_add(now.ticks());
        self.left(now);
    }

    /// Closes the statistics at `now`, with `packets` packets in the queue, as if they left then.
    /// `now` is never before the last change. `seen` holds the lengths above zero that packets have
    /// seen.
    pub(super) fn closed(
        &self,
        now: Time,
        packets: u64,
        in_service: bool,
        seen: PositiveLengths,
    ) -> QueueStats {
        let now = now.max(self.since);
        let seen = Lengths::joined(self.alone, seen);
        QueueStats {
            area: self.area.wrapping_add(area_before(now, packets)),
            busy: self.busy_until(now, in_service),
            longest: self.longest.max(packets).max(seen.largest().unwrap_or(0)),
            seen,
        }
    }

    /// Time during which a packet was in service until `now`, at or after the last change of the
    /// queue.
    pub(super) fn busy_until(&self, now: Time, in_service: bool) -> Span {
        let since = if in_service { now.ticks() } else { 0 };
        Span::from_ticks(self.busy.wrapping_add(since))
    }
}

impl QueueStats {
    /// Packets × ticks: the area under the queue's length.
    pub fn area(&self) -> u128 {
        self.area
    }

    /// Time during which a packet was in service.
    pub fn busy(&self) -> Span {
        self.busy
    }
}

/// Area of `packets` packets from the zero of time until `at`.
fn area_before(at: Time, packets: u64) -> u128 {
    u128::from(packets) * u128::from(at.ticks())
}

/// Packets by reason for dropping, or for marking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByReason([u64; Reason::ALL.len()]);

impl ByReason {
    pub(super) fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Number of packets for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Number of packets for all reasons.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the plain sums over the stretches between changes and over the arrivals,
        /// with a restart on the way.
        #[test]
        fn what_is_kept_is_what_the_definitions_say(
            steps in prop::collection::vec((0u64..1 << 40, 0u8..4), 1..100),
            anew in 0usize..100,
        ) {
            let mut now = Time::ORIGIN;
            let (mut packets, mut busy) = (0u64, false);
            let (mut stats, mut seen) = (RunningStats::new(now, packets, busy), PositiveLengths::default());
            let (mut area, mut busy_for, mut seen_before) = (0u128, 0u64, Vec::new());
            for (step, (gap, what)) in steps.into_iter().enumerate() {
                now += Span::from_ticks(gap);
                area += u128::from(packets) * u128::from(gap);
                busy_for += if busy { gap } else { 0 };
                if step == anew {
                    (stats, seen) = (RunningStats::new(now, packets, busy), PositiveLengths::default());
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
                        match packets {
                            0 => stats.entered_alone(now),
                            before => {
                                stats.entered(now);
                                seen.add(before);
                            }
                        }
                        seen_before.push(packets);
                        packets += 1;
                    }
                }
                let later = now + Span::from_ticks(7);
                prop_assert_eq!(stats.busy_until(later, busy).ticks(), busy_for + if busy { 7 } else { 0 });
                let closed = stats.closed(later, packets, busy, seen.clone());
                let until = (area + 7 * u128::from(packets), busy_for + if busy { 7 } else { 0 });
                prop_assert_eq!((closed.area(), closed.busy().ticks()), until);
                prop_assert_eq!(closed.seen.count(), seen_before.len() as u64);
                prop_assert_eq!(closed.seen.quantile(1, 1), seen_before.iter().copied().max());
            }
        }
    }
}
