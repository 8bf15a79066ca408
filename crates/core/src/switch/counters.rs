//! What a port counts. Packets and bytes obey, at every moment,
//! `arrived = sent + dropped + shaped + queued + in service`.

use crate::context::Reason;
use crate::dropper::Backlog;
use crate::units::{Span, Time};

/// One flow at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Last bit in.
    pub arrived: Backlog,
    /// Last bit out.
    pub sent: Backlog,
    /// Dropped, for whatever reason.
    pub dropped: Backlog,
}

/// A port's queue over time: the packet in service is included, packets waiting in shapers are not.
#[derive(Clone, Copy, Debug)]
pub struct QueueStats {
    /// The longest queue, in packets.
    pub longest: u64,
    /// Queue lengths as arriving packets saw them, themselves excluded, summed.
    pub seen: u64,
    /// Arrivals that entered the queue.
    pub arrivals: u64,
    /// Packets × ticks: the area under the queue's length.
    area: u128,
    /// Ticks during which a packet was in service.
    busy: Span,
    since: Time,
}

impl QueueStats {
    pub(super) fn new(now: Time) -> QueueStats {
        QueueStats { longest: 0, seen: 0, arrivals: 0, area: 0, busy: Span::ZERO, since: now }
    }

    /// The queue has had `packets` packets since the last call.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, packets: u64, in_service: bool) {
        let span = now.since(self.since);
        if in_service {
            self.busy += span;
        }
        self.area += u128::from(packets) * u128::from(span.ticks());
        self.since = now;
    }

    /// Packets × ticks until the last change of the queue.
    pub fn area(&self) -> u128 {
        self.area
    }

    /// How long a packet was in service, until the last change of the queue.
    pub fn busy(&self) -> Span {
        self.busy
    }
}

/// Drops by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; Reason::ALL.len()]);

impl Drops {
    pub(super) fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Packets dropped for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Packets dropped.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
