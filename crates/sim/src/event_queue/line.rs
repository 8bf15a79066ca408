//! A few pending events in a sorted line.

use tidegate_core::units::Time;

/// Places: a power of two, so that masked indexes need no check.
const PLACES: usize = 64;
/// A walk of at most so many steps is short.
const SHORT: usize = 8;
/// How many steps long walks may take before the first event.
const SLACK: usize = 1 << 10;

/// The event queue for few pending events: a sorted ring.
///
/// A new time is walked in from the end, where it nearly always belongs: links of about the same rate finish their packets
/// in the order in which they start them. Where it often belongs elsewhere, another queue is faster, and the line says so.
#[derive(Clone, Debug)]
pub(super) struct Line {
    times: [Time; PLACES],
    components: [u32; PLACES],
    /// Where the first is and where the next at the end would be, modulo `PLACES`.
    first: usize,
    end: usize,
    /// Steps of all long walks.
    steps: usize,
}

impl Line {
    pub(super) fn new() -> Line {
        Line { times: [Time::NEVER; PLACES], components: [0; PLACES], first: 0, end: 0, steps: 0 }
    }

    /// Whether the line is to be kept: it has a place for another component, and walks are short on the average.
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

    /// Takes out the first component, which there is.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.times[self.first % PLACES] = Time::NEVER;
        self.first = self.first.wrapping_add(1);
    }

    /// Takes in a component that is not in the line, at a time that is not [`Time::NEVER`]. Whether the line is to be kept.
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

    /// Counts the steps of a long walk. Whether there are few, on the average.
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

    /// Takes out a component that is not the first, if it is there at all. Whether walks are short on the average.
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

    /// All pending events, the first one first.
    pub(super) fn pending(&self) -> impl Iterator<Item = (Time, u32)> {
        let places = self.end.wrapping_sub(self.first);
        (0..places)
            .map(|nth| self.first.wrapping_add(nth) % PLACES)
            .map(|at| (self.times[at], self.components[at]))
    }

    /// Every place without an event is at [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn first(&self) -> (Time, u32) {
        let first = self.first % PLACES;
        (self.times[first], self.components[first])
    }
}
