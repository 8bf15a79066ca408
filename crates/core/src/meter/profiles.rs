//! What is kept of each profile of a meter: its state, and what has been used of it.

use super::ProfileIx;
use crate::packet::{Colour, Mark};

/// What of a profile has been used, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// What the meter found green (inside the profile), yellow and red (outside), in this order.
    pub coloured: [u64; 3],
    /// Of the green, what came with congestion experienced.
    pub congested_inside: u64,
    /// Of the yellow and the red, what came with congestion experienced.
    pub congested_outside: u64,
}

impl Usage {
    /// Of a profile of which nothing has come.
    pub const NOTHING: Usage = Usage { coloured: [0; 3], congested_inside: 0, congested_outside: 0 };
}

/// The profiles of a meter, by their indices. The usage stands apart: a decision reads the state alone.
pub(super) struct Profiles<T> {
    states: Vec<T>,
    usage: Vec<Usage>,
    newcomer: T,
}

impl<T: Copy> Profiles<T> {
    /// No profiles yet; `newcomer` is what a new one holds.
    pub(super) fn new(newcomer: T) -> Profiles<T> {
        Profiles { states: Vec::new(), usage: Vec::new(), newcomer }
    }

    /// The profile, which is made if it was never there.
    pub(super) fn open(&mut self, profile: ProfileIx) -> &mut T {
        if self.states.len() <= profile.ix() {
            self.states.resize(profile.ix() + 1, self.newcomer);
            self.usage.resize(profile.ix() + 1, Usage::NOTHING);
        }
        &mut self.states[profile.ix()]
    }

    /// The profile; `None` for one that was never opened.
    #[inline]
    pub(super) fn get_mut(&mut self, profile: ProfileIx) -> Option<&mut T> {
        self.states.get_mut(profile.ix())
    }

    /// The profile; `None` for one that was never opened.
    pub(super) fn get(&self, profile: ProfileIx) -> Option<&T> {
        self.states.get(profile.ix())
    }

    /// A packet of `len` bytes that came with this mark was found to be of this colour.
    #[inline]
    pub(super) fn count(&mut self, profile: ProfileIx, colour: Colour, came: Mark, len: u32) {
        let usage = &mut self.usage[profile.ix()];
        usage.coloured[colour as usize] += u64::from(len);
        if came.has_met_congestion() {
            let congested = match colour {
                Colour::Green => &mut usage.congested_inside,
                Colour::Yellow | Colour::Red => &mut usage.congested_outside,
            };
            *congested += u64::from(len);
        }
    }

    /// What has been used of the profile; `None` for one that was never opened.
    pub(super) fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        self.usage.get(profile.ix()).copied()
    }

    /// The index goes to another profile: a new one.
    pub(super) fn forget(&mut self, profile: ProfileIx) {
        if let Some(state) = self.states.get_mut(profile.ix()) {
            *state = self.newcomer;
            self.usage[profile.ix()] = Usage::NOTHING;
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.states.capacity() * size_of::<T>() + self.usage.capacity() * size_of::<Usage>()
    }
}
