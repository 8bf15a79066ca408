//! Settings that are not mistakes, but are seldom intended.
//!
//! Each kind of them is found by one function, which names the first case in the file, or all of
//! them in one message. The losses that a gate's file accepts stand before them. The output of
//! `check`, `run`, `compare` and every other command comes from here.

mod abr;
mod buffers;
mod ceilings;
mod charged;
mod colours;
mod found;
mod idle;
mod late;
mod load;
mod pool;
mod ports;
mod reserved;
mod unread;
mod windows;

use super::{Load, Scenario, marking, metered};
use crate::error::FormatError;
use crate::gate::GateFile;
use found::Found;

impl Scenario {
    /// Settings that are not mistakes, but are seldom intended, with their places, as far as the
    /// file alone shows them.
    pub fn warnings(&self) -> Vec<FormatError> {
        let loads: Vec<Load> =
            self.groups.iter().enumerate().map(|(index, group)| Load::of_group(index, group)).collect();
        self.warnings_of(&loads)
    }

    /// Like [`Scenario::warnings`], with the known load of recordings on links.
    pub fn warnings_of(&self, loads: &[Load]) -> Vec<FormatError> {
        let Scenario { links, nodes, classes, profiles, groups, .. } = self;
        let oversubscribed = metered::oversubscribed(links, nodes, classes, profiles, groups);
        let mixed = marking::mixed((links, nodes), classes, groups);
        let found = [
            load::overload(self, loads),
            buffers::too_small(self, loads),
            ceilings::open_pool(self),
            ceilings::open_queue(self),
            pool::short(self, loads),
            oversubscribed,
            reserved::classes(self),
            charged::reservations(self, loads),
            colours::uncoloured(self),
            unread::profiles(self),
            mixed,
            abr::absent(self),
            windows::short(self),
            late::starts(self),
            idle::links(self),
        ];
        let mut all: Vec<Found> = found.into_iter().flatten().collect();
        all.extend(unread::contracts(self));
        let accepted = self.gate.iter().flat_map(GateFile::shown_losses);
        let here = all.into_iter().map(|(place, complaint)| self.origin.error(place, complaint));
        accepted.chain(here).collect()
    }
}
