//! A few pending events in a sorted line.

use tidegate_core::units::Time;

/// Capacity: a power of two, so that masked indexes need no check.
const PLACES: usize = 64;
/// Most steps of a short walk.
const SHORT: usize = 8;
/// Steps that long walks may take before the first event.
const SLACK: usize = 1 << 10;

/// The event queue for few pending events: a sorted ring.
///
/// A new time is moved into place from the end, where it nearly always belongs: links of about the
/// same rate finish their packets in the order in which they start them. Where it often belongs
/// elsewhere, another queue is faster, and the line reports that.
#[derive(Clone, Debug)]
pub(super) struct Line {
    times: [Time; PLACES],
    components: [u32; PLACES],
    /// Positions of the first event and behind the last one, modulo `PLACES`.
    first: usize,
    end: usize,
    /// Total steps of long walks.
    steps: usize,
}

impl Line {
    pub(super) fn new() -> Line {
        Line { times: [Time::NEVER; PLACES], components: [0; PLACES], first: 0, end: 0, steps: 0 }
    }

    /// Sets a component's time. Returns true if the line should be kept: it has room for another
    /// component, and walks are short on average.
    #[inline(always)]
    #[must_use]
    pub(super) fn set(&mut self, component: u32, at: Time) -> bool {
        let first = self.first % PLACES;
        let mut keeps = true;
        if self.components[first] == component && self.times[first] != Time::NEVER {
            self.pop();
        } else {
            keeps = self.remove(component);
        }
        (at == Time::NEVER || self.insert(component, at)) && keeps
    }

    /// Removes the first event, which must exist.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.times[self.first % PLACES] = Time::NEVER;
        self.first = self.first.wrapping_add(1);
    }

    /// Inserts a component that is not in the line, at a time other than [`Time::NEVER`]. Returns
    /// true if the line should be kept.
    #[inline(always)]
    #[must_use]
    pub(super) fn insert(&mut self, component: u32, at: Time) -> bool {
        debug_assert!(self.pending().all(|(_, other)| other != component), "{component} is pending");
        let last = self.end;
        let mut place = last;
        self.end = last.wrapping_add(1);
        while place != self.first {
            let before = place.wrapping_sub(1);
            let (time, other) = (self.times[before % PLACES], self.components[before % PLACES]);
            if time < at || time == at && other < component {
                break;
            }
            self.put(place, time, other);
            place = before;
        }
        self.put(place, at, component);
        let walked = last.wrapping_sub(place);
        (walked <= SHORT || self.walked_far(walked)) && self.end.wrapping_sub(self.first) < PLACES
    }

    /// Counts the steps of a long walk. Returns true if walks are short on average.
    #[cold]
    #[inline(never)]
    fn walked_far(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        self.steps <= self.end.saturating_mul(SHORT).saturating_add(SLACK)
    }

    #[inline(always)]
    fn put(&mut self, place: usize, time: Time, component: u32) {
        self.times[place % PLACES] = time;
        self.components[place % PLACES] = component;
    }

    /// Removes a component that is not the first, if present. Returns true if walks are short on
    /// average.
    #[inline(never)]
    fn remove(&mut self, component: u32) -> bool {
        let keeps = self.walked_far(self.end.wrapping_sub(self.first));
        let mut place = self.first;
        while place != self.end && self.components[place % PLACES] != component {
            place = place.wrapping_add(1);
        }
        if place == self.end {
            return keeps;
        }
        self.end = self.end.wrapping_sub(1);
        while place != self.end {
            let after = place.wrapping_add(1) % PLACES;
            self.put(place, self.times[after], self.components[after]);
            place = place.wrapping_add(1);
        }
        self.times[place % PLACES] = Time::NEVER;
        keeps
    }

    /// Iterates over all pending events, the first one first.
    pub(super) fn pending(&self) -> impl Iterator<Item = (Time, u32)> {
        let places = self.end.wrapping_sub(self.first);
        (0..places)
            .map(|nth| self.first.wrapping_add(nth) % PLACES)
            .map(|at| (self.times[at], self.components[at]))
    }

    /// Returns the first event. Every free place is at [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn first(&self) -> (Time, u32) {
        let first = self.first % PLACES;
        (self.times[first], self.components[first])
    }
}
