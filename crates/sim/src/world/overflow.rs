//! How many packets may be in the network, and what is said when there are more.
//!
//! Everything that makes several packets in one event looks at the limit for each of them: segmentation, what an endpoint
//! or a relay hands out, and forks of multicast routes. Sources make one packet in an event.

use super::World;
use super::relays::AnyRelay;
use tidegate_core::units::Time;

/// A network that holds more packets than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// When it was noticed.
    pub at: Time,
    /// Packets in the network.
    pub packets: usize,
    /// The link with the most packets waiting in front of it.
    pub link: usize,
    /// Packets waiting in front of that link.
    pub waiting: u64,
}

impl<Q> World<Q> {
    /// Lets the network hold so many packets, in place of the 8 million that it may hold otherwise.
    pub fn limit_packets(&mut self, most: usize) {
        self.packets.most = most;
    }

    /// Packets in the network: those in queues, shapers and on links, those that hosts have still to prepare, and credit
    /// cells under way.
    pub fn packets_held(&self) -> usize {
        let credit = self.credit.map(|ix| &self.relays[ix as usize]);
        let cells = match credit {
            Some(AnyRelay::Credit(credit)) => credit.cells_under_way(),
            _ => 0,
        };
        self.packets.held() + cells
    }

    /// The overflow that has stopped the run, if any: more packets in the network than the memory is meant to hold.
    pub fn overflow(&self) -> Option<Overflow> {
        self.overflow
    }

    /// Whether the network holds more packets than it may, or has done so: then no packet is made any more.
    #[inline]
    pub(super) fn is_over_full(&mut self) -> bool {
        if self.overflow.is_none() && self.packets_held() > self.packets.most {
            self.note_overflow();
        }
        self.overflow.is_some()
    }

    #[cold]
    fn note_overflow(&mut self) {
        let waiting = |ix: usize| {
            let (switch, port) = self.fabric.port_of(ix as u32);
            switch.backlog(port).packets
        };
        let link = (0..self.fabric.links.len()).max_by_key(|ix| waiting(*ix)).unwrap_or(0);
        let packets = self.packets_held();
        self.overflow = Some(Overflow { at: self.now, packets, link, waiting: waiting(link) });
    }
}
