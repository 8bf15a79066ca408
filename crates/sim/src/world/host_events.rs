//! Future events of hosts: notices on their way to a source, and packets that a host prepares.

use std::collections::BTreeMap;
use tidegate_core::endpoint::Notice;
use tidegate_core::units::Time;

/// An event of the source of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum HostEvent {
    /// A notice from the network.
    Notice(Notice),
    /// The host has prepared the next packet of the flow.
    Prepared,
}

/// Events by their time; those of one instant in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(super) struct HostEvents {
    pending: BTreeMap<(Time, u64), (u32, HostEvent)>,
    scheduled: u64,
}

impl HostEvents {
    pub(super) fn schedule(&mut self, at: Time, flow: u32, event: HostEvent) {
        self.scheduled += 1;
        self.pending.insert((at, self.scheduled), (flow, event));
    }

    /// Returns the time of the first event; [`Time::NEVER`] when there is none.
    pub(super) fn next(&self) -> Time {
        self.pending.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(u32, HostEvent)> {
        self.pending.pop_first().map(|(_, event)| event)
    }
}
