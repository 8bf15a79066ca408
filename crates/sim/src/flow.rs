//! A running flow: its sender and its hops.

use crate::host::Source;
use core::ops::Range;
use tidegate_core::packet::Mark;
use tidegate_core::units::Time;

/// A running flow. What a packet that leaves its source touches is on the first two cache lines.
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) stop: Time,
    pub(crate) next_sequence: u64,
    pub(crate) first_hop: u32,
    /// The size of the packet whose event is pending.
    pub(crate) pending: u32,
    pub(crate) group: u32,
    /// The mark of its packets as they leave their source.
    pub(crate) mark: Mark,
    /// True if meters at the first port of its route use its endpoint's round-trip time.
    pub(crate) tells_round_trip: bool,
    /// True if each packet takes one of several paths.
    pub(crate) is_spread: bool,
    pub(crate) source: Source,
    /// The wake-up time requested by its endpoint; meaningless for a source with its own pattern.
    pub(crate) wakes_at: Time,
    /// Number of hops, of all paths.
    pub(crate) hops: u32,
    /// Number of hops of each path.
    pub(crate) path_length: u32,
    /// The flow in the other direction of its connection, whose endpoint receives this flow's
    /// packets.
    pub(crate) peer: Option<u32>,
}

impl Flow {
    /// Returns the indexes of its hops.
    pub(crate) fn range(&self) -> Range<usize> {
        self.first_hop as usize..(self.first_hop + self.hops) as usize
    }

    /// Returns the first hop of each of its paths.
    pub(crate) fn first_hops(&self) -> impl Iterator<Item = u32> + use<> {
        (self.first_hop..self.first_hop + self.hops).step_by(self.path_length as usize)
    }

    /// Returns the number of links on the path of a hop in front of it.
    pub(crate) fn links_before(&self, hop: u32) -> u32 {
        (hop - self.first_hop) % self.path_length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn a_flow_takes_three_cache_lines() {
        assert_eq!([offset_of!(Flow, source), size_of::<Flow>()], [32, 192]);
    }
}
