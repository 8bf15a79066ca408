//! A few pending events in a sorted line.

use tidegate_core::units::Time;

/// Places: a power of two, so that masked indexes need no check.
const PLACES: usize = 16;

/// The event queue for few pending events: a sorted ring.
///
/// A new time is walked in from the end, where it nearly always belongs.
#[derive(Clone, Debug)]
pub(super) struct Line {
    times: [Time; PLACES],
    components: [u32; PLACES],
    /// Where the first is and where the next at the end would be, modulo `PLACES`.
    first: usize,
    end: usize,
}

impl Line {
    pub(super) fn new() -> Line {
        Line { times: [Time::NEVER; PLACES], components: [0; PLACES], first: 0, end: 0 }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, component: u32, at: Time) {
        let first = self.first % PLACES;
        if self.components[first] == component && self.times[first] != Time::NEVER {
            self.times[first] = Time::NEVER;
            self.first = self.first.wrapping_add(1);
        } else {
            self.remove(component);
        }
        if at != Time::NEVER {
            self.insert(component, at);
        }
    }

    /// Takes in a component that is not in the line, at a time that is not [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn insert(&mut self, component: u32, at: Time) {
        debug_assert!(self.pending().all(|(_, other)| other != component), "{component} is pending");
        let mut place = self.end;
        self.end = place.wrapping_add(1);
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
    }

    #[inline(always)]
    fn put(&mut self, place: usize, time: Time, component: u32) {
        self.times[place % PLACES] = time;
        self.components[place % PLACES] = component;
    }

    /// Takes out a component that is not the first, if it is there at all.
    #[inline(never)]
    fn remove(&mut self, component: u32) {
        let mut place = self.first;
        while place != self.end && self.components[place % PLACES] != component {
            place = place.wrapping_add(1);
        }
        if place == self.end {
            return;
        }
        self.end = self.end.wrapping_sub(1);
        while place != self.end {
            let after = place.wrapping_add(1) % PLACES;
            self.put(place, self.times[after], self.components[after]);
            place = place.wrapping_add(1);
        }
        self.times[place % PLACES] = Time::NEVER;
    }

    /// Whether there is no place for another component.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.end.wrapping_sub(self.first) == PLACES
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
