//! Pacing: packets of a window leave at intervals, in place of all at once.

use crate::units::{Span, Time};

/// The pacer of a sender; without intervals it holds nothing back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Time from which the next packet may leave.
    free_at: Time,
    /// True while data wait for that time, which the windows let go.
    waits: bool,
}

impl Pacer {
    pub(super) const fn new() -> Pacer {
        Pacer { free_at: Time::ORIGIN, waits: false }
    }

    /// Returns true if a packet may leave, which the windows let go.
    pub(super) fn lets_go(&mut self, now: Time) -> bool {
        self.waits = now < self.free_at;
        !self.waits
    }

    /// Records that no packet waits, or that the windows hold it.
    pub(super) fn rests(&mut self) {
        self.waits = false;
    }

    /// Records that a packet has left, and the time for which the next one waits.
    pub(super) fn sent(&mut self, now: Time, interval: Option<Span>) {
        if let Some(interval) = interval {
            self.free_at = self.free_at.max(now) + interval;
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Time at which data that wait may leave.
    pub(super) fn due(&self) -> Time {
        if self.waits { self.free_at } else { Time::NEVER }
    }
}
