//! Counters of classes: of all flows in each, at each port.

use std::collections::BTreeMap;
use tidegate_core::stats::Count;
use tidegate_core::switch::FlowCounters;

/// Counters of a class at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Packets sent.
    pub sent: Count,
    /// Packets dropped, for any reason.
    pub dropped: Count,
    /// Packets marked.
    pub marked: u64,
}

impl ClassCounts {
    /// Adds the counters of another class.
    pub fn merge(&mut self, other: ClassCounts) {
        self.sent.merge(other.sent);
        self.dropped.merge(other.dropped);
        self.marked += other.marked;
    }

    fn since(self, before: ClassCounts) -> ClassCounts {
        let since = |all: Count, before: Count| Count {
            packets: all.packets - before.packets,
            bytes: all.bytes - before.bytes,
        };
        ClassCounts {
            sent: since(self.sent, before.sent),
            dropped: since(self.dropped, before.dropped),
            marked: self.marked - before.marked,
        }
    }
}

/// Counters by the index of the link in front of which a port stands, and that of the class in it:
/// of the flows that are members of the class itself, not of a class below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassRecords(BTreeMap<(u32, u16), ClassCounts>);

impl ClassRecords {
    /// Adds the counters of a flow that is a member of a class at the port of a link.
    pub(crate) fn take(&mut self, link: u32, class: u16, counters: FlowCounters) {
        let FlowCounters { sent, dropped, marked, .. } = counters;
        self.0.entry((link, class)).or_default().merge(ClassCounts { sent, dropped, marked });
    }

    /// Returns the counters since the records `before`.
    pub(crate) fn since(self, before: &ClassRecords) -> BTreeMap<(u32, u16), ClassCounts> {
        let since = |(at, counts): ((u32, u16), ClassCounts)| {
            (at, counts.since(before.0.get(&at).copied().unwrap_or_default()))
        };
        self.0.into_iter().map(since).collect()
    }
}
