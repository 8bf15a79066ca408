//! The data of each profile of a meter: its state and its usage.

use super::ProfileIx;
use crate::packet::{Colour, Mark};

/// The usage of a profile, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes that the meter found green (inside the profile), yellow and red (outside), in this
    /// order.
    pub coloured: [u64; 3],
    /// Green bytes that came with congestion experienced, where the meter looks for it.
    pub congested_inside: u64,
    /// Yellow and red bytes that came with congestion experienced, where the meter looks for it.
    pub congested_outside: u64,
}

impl Usage {
    /// The usage of a profile without packets.
    pub const NOTHING: Usage = Usage { coloured: [0; 3], congested_inside: 0, congested_outside: 0 };

    /// The usage of the same profile since `before`.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            coloured: [0, 1, 2].map(|colour| self.coloured[colour] - before.coloured[colour]),
            congested_inside: self.congested_inside - before.congested_inside,
            congested_outside: self.congested_outside - before.congested_outside,
        }
    }

    /// The usage in both records together.
    #[must_use]
    pub fn and(&self, other: &Usage) -> Usage {
        Usage {
            coloured: [0, 1, 2].map(|colour| self.coloured[colour] + other.coloured[colour]),
            congested_inside: self.congested_inside + other.congested_inside,
            congested_outside: self.congested_outside + other.congested_outside,
        }
    }

    /// Counts a packet of `len` bytes that was found to be of this colour.
    #[inline]
    pub(super) fn add(&mut self, colour: Colour, len: u32) {
        self.coloured[colour as usize] += u64::from(len);
    }

    /// Counts it as congested if it came with a mark of congestion.
    #[inline]
    pub(super) fn add_congested(&mut self, colour: Colour, len: u32, came: Mark) {
        if came.has_met_congestion() {
            let congested = match colour {
                Colour::Green => &mut self.congested_inside,
                Colour::Yellow | Colour::Red => &mut self.congested_outside,
            };
            *congested += u64::from(len);
        }
    }
}

/// A profile of a meter.
#[derive(Clone, Copy)]
pub(super) struct Profile<T> {
    /// State that a decision reads and writes.
    pub(super) state: T,
    pub(super) usage: Usage,
}

/// The profiles of a meter, by their indices.
pub(super) struct Profiles<T> {
    profiles: Vec<Profile<T>>,
    newcomer: T,
}

impl<T: Copy> Profiles<T> {
    /// No profiles yet; `newcomer` is the state of a new one.
    pub(super) fn new(newcomer: T) -> Profiles<T> {
        Profiles { profiles: Vec::new(), newcomer }
    }

    /// The profile's state; opens the profile if it does not exist.
    pub(super) fn open(&mut self, profile: ProfileIx) -> &mut T {
        if self.profiles.len() <= profile.ix() {
            let newcomer = Profile { state: self.newcomer, usage: Usage::NOTHING };
            self.profiles.resize(profile.ix() + 1, newcomer);
        }
        &mut self.profiles[profile.ix()].state
    }

    /// The profile; `None` for one that was never opened.
    #[inline]
    pub(super) fn get_mut(&mut self, profile: ProfileIx) -> Option<&mut Profile<T>> {
        self.profiles.get_mut(profile.ix())
    }

    /// The profile's state; `None` for one that was never opened.
    pub(super) fn get(&self, profile: ProfileIx) -> Option<&T> {
        self.profiles.get(profile.ix()).map(|profile| &profile.state)
    }

    /// Usage of the profile; `None` for one that was never opened.
    pub(super) fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        self.profiles.get(profile.ix()).map(|profile| profile.usage)
    }

    /// Gives the index to another profile: a new one.
    pub(super) fn forget(&mut self, profile: ProfileIx) {
        if let Some(profile) = self.profiles.get_mut(profile.ix()) {
            *profile = Profile { state: self.newcomer, usage: Usage::NOTHING };
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.profiles.capacity() * size_of::<Profile<T>>()
    }
}
