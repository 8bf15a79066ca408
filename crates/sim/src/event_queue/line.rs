//! A few pending events in a sorted line.

use tidegate_core::units::Time;

/// Places: a power of two, so that masked indexes need no check.
pub(super) const PLACES: usize = 16;

/// The event queue for few components: a sorted ring of those that have an event.
///
/// A new time is walked in from the end, where it nearly always belongs.
#[derive(Clone, Debug)]
pub(super) struct Line {
    times: [Time; PLACES],
    components: [u32; PLACES],
    /// Where the first is, modulo `PLACES`.
    first: usize,
    len: usize,
}

impl Line {
    pub(super) fn new() -> Line {
        Line { times: [Time::NEVER; PLACES], components: [0; PLACES], first: 0, len: 0 }
    }

    /// Where the `nth` is, or would be. At most `PLACES` are counted: nothing wraps.
    #[inline(always)]
    fn place(&self, nth: usize) -> usize {
        self.first.wrapping_add(nth) % PLACES
    }

    #[inline(always)]
    pub(super) fn set(&mut self, component: u32, at: Time) {
        let first = self.place(0);
        if self.components[first] == component && self.times[first] != Time::NEVER {
            self.times[first] = Time::NEVER;
            self.first = self.first.wrapping_add(1);
            self.len = self.len.wrapping_sub(1);
        } else {
            self.remove(component);
        }
        if at == Time::NEVER {
            return;
        }
        let mut nth = self.len;
        self.len = self.len.wrapping_add(1);
        while nth > 0 {
            let before = self.place(nth.wrapping_sub(1));
            if self.times[before] < at || self.times[before] == at && self.components[before] < component {
                break;
            }
            let place = self.place(nth);
            self.times[place] = self.times[before];
            self.components[place] = self.components[before];
            nth = nth.wrapping_sub(1);
        }
        let place = self.place(nth);
        self.times[place] = at;
        self.components[place] = component;
    }

    /// Takes out a component that is not the first, if it is there at all.
    #[inline(never)]
    fn remove(&mut self, component: u32) {
        let Some(nth) = (0..self.len).find(|&nth| self.components[self.place(nth)] == component) else {
            return;
        };
        for nth in nth + 1..self.len {
            self.times[self.place(nth - 1)] = self.times[self.place(nth)];
            self.components[self.place(nth - 1)] = self.components[self.place(nth)];
        }
        self.len -= 1;
        self.times[self.place(self.len)] = Time::NEVER;
    }

    /// Every place without an event is at [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn first(&self) -> (Time, u32) {
        let first = self.place(0);
        (self.times[first], self.components[first])
    }
}
