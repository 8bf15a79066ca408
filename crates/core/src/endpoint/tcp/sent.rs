//! Times at which the bytes in flight were first sent.

use crate::units::Time;
use alloc::collections::VecDeque;

/// First transmissions of data that are not acknowledged, in the order of numbers.
#[derive(Debug, Default)]
pub(super) struct FirstSent {
    /// End of the bytes sent at each instant, and the instant.
    ends: VecDeque<(u64, Time)>,
}

impl FirstSent {
    /// Records that new data up to `end` are sent.
    pub(super) fn sent(&mut self, end: u64, now: Time) {
        match self.ends.back_mut() {
            Some(last) if last.1 == now => last.0 = end,
            _ => self.ends.push_back((end, now)),
        }
    }

    /// Forgets everything before `una`, which is acknowledged.
    pub(super) fn acknowledged(&mut self, una: u64) {
        while self.ends.front().is_some_and(|(end, _)| *end <= una) {
            self.ends.pop_front();
        }
    }

    /// Time at which the byte `number` was first sent; `None` when it is acknowledged, or was not
    /// sent.
    pub(super) fn at(&self, number: u64) -> Option<Time> {
        let place = self.ends.partition_point(|(end, _)| *end <= number);
        self.ends.get(place).map(|(_, sent)| *sent)
    }
}
