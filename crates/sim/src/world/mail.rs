//! What reaches sources at a time to come: notices on their way, and packets that hosts prepare.

use std::collections::BTreeMap;
use tidegate_core::endpoint::Notice;
use tidegate_core::units::Time;

/// What reaches a source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Letter {
    /// A notice of the network.
    Notice(Notice),
    /// The host has prepared the next packet of the flow.
    Prepared,
}

/// Letters by the time at which they arrive, those of one instant in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Mail {
    under_way: BTreeMap<(Time, u64), (u32, Letter)>,
    sent: u64,
}

impl Mail {
    pub(super) fn send(&mut self, at: Time, flow: u32, letter: Letter) {
        self.sent += 1;
        self.under_way.insert((at, self.sent), (flow, letter));
    }

    /// When the first arrives; [`Time::NEVER`] when there is none.
    pub(super) fn next(&self) -> Time {
        self.under_way.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(u32, Letter)> {
        self.under_way.pop_first().map(|(_, mail)| mail)
    }
}
