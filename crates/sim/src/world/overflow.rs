//! The limit of packets in the network, and the report when it is exceeded.
//!
//! Everything that makes several packets in one event checks the limit for each of them:
//! segmentation, tasks of endpoints and stages, and forks of multicast routes. Sources make one
//! packet in an event.

use super::World;
use tidegate_core::units::Time;

/// A network that holds more packets than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Time at which it was noticed.
    pub at: Time,
    /// Packets in the network.
    pub packets: usize,
    /// The link with the most packets waiting in front of it.
    pub link: usize,
    /// Packets waiting in front of that link.
    pub waiting: u64,
}

impl<Q> World<Q> {
    /// Limits the packets that the network may hold, in place of the default of 8 million.
    pub fn limit_packets(&mut self, most: usize) {
        self.cx.packets.most = most;
    }

    /// Returns the packets in the network: those in queues, shapers and on links, those that hosts
    /// have not prepared yet, and credit cells under way.
    pub fn packets_held(&self) -> usize {
        self.cx.packets.held()
    }

    /// Returns the overflow that has stopped the run, if any: more packets in the network than the
    /// memory is meant to hold.
    pub fn overflow(&self) -> Option<Overflow> {
        self.overflow
    }

    /// Returns true if the network holds more packets than allowed, or has done so: then no more
    /// packets are made.
    #[inline]
    pub(super) fn is_over_full(&mut self) -> bool {
        if self.overflow.is_none() && self.packets_held() > self.cx.packets.most {
            self.note_overflow();
        }
        self.overflow.is_some()
    }

    #[cold]
    fn note_overflow(&mut self) {
        let waiting = |ix: usize| {
            let (switch, port) = self.cx.fabric.port_of(ix as u32);
            switch.backlog(port).packets
        };
        let link = (0..self.cx.fabric.links.len()).max_by_key(|ix| waiting(*ix)).unwrap_or(0);
        let packets = self.packets_held();
        self.overflow = Some(Overflow { at: self.cx.now, packets, link, waiting: waiting(link) });
    }
}
