//! Stamps that never decrease within a flow, and the place where an absent flow rejoins: the common
//! part of schedulers that stamp packets with times.

use crate::packet::FlowIx;
use crate::queues::Queues;
use crate::ranking::lazy_table::LazyTable;

/// The least key of each flow's queued packets; 0 for a flow that was not absent.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors(LazyTable<u64>);

impl Floors {
    /// Returns the tag of a packet that is about to be pushed with this stamp: at least the tag of
    /// the packet in front of it.
    #[inline]
    pub(super) fn tag(&mut self, flow: FlowIx, stamp: u64, queues: &Queues) -> u64 {
        match queues.last(flow) {
            Some(last) => stamp.max(last.packet.tag),
            None => {
                self.0.set(flow, 0);
                stamp
            }
        }
    }

    /// Returns the current rank of a packet with this tag.
    #[inline]
    pub(super) fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        tag.max(self.0.get(flow))
    }

    /// Ends the absence of a flow: its queued packets are served no sooner than a packet with this
    /// stamp.
    pub(super) fn rejoin(&mut self, flow: FlowIx, stamp: u64) {
        let floor = self.0.get_mut(flow);
        *floor = stamp.max(*floor);
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.0.memory()
    }
}
