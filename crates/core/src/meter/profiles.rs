//! The data of each profile of a meter: its state and its usage.

use super::traits::ProfileIx;
use super::usage::Usage;
use alloc::vec::Vec;

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
