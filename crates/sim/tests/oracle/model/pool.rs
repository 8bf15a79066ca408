//! The memory that the ports of a switch share, with push-out (Zhang 1991, section 3.1).

use super::port::Port;
use std::collections::BTreeMap;
use tidegate_core::params::Limit;
use tidegate_sim::packet_log::PacketId;

/// What is stored: a multicast packet once, however many ports hold it.
pub struct Pool {
    limit: Option<Limit>,
    packets: u64,
    bytes: u64,
    copies: BTreeMap<PacketId, usize>,
}

impl Pool {
    pub fn new(limit: Option<Limit>) -> Pool {
        Pool { limit, packets: 0, bytes: 0, copies: BTreeMap::new() }
    }

    pub fn is_exhausted(&self) -> bool {
        self.limit.is_some_and(|limit| !limit.admits(self.packets, self.bytes))
    }

    pub fn store(&mut self, packet: PacketId, len: u32, copies: usize) {
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(len));
        self.copies.insert(packet, copies);
    }

    /// A port is done with the packet.
    pub fn release(&mut self, packet: PacketId, len: u32) {
        let copies = self.copies.get_mut(&packet).expect("a packet that is stored");
        *copies -= 1;
        if *copies == 0 {
            self.copies.remove(&packet);
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(len));
        }
    }
}

/// What goes next to make room, at which link: from the longest queue by packets, the one in service counted but never
/// taken, of several the one with the latest arrival. When nothing is queued, the latest that waits in the envelope of the
/// flow that has just come to the links `arrived`.
pub fn push_out(
    ports: &mut [Port],
    links: &[usize],
    arrived: &[usize],
    flow: u32,
) -> Option<(usize, PacketId, u32)> {
    let queued = links.iter().copied().filter(|link| ports[*link].evictable() > 0);
    let longest = queued.max_by_key(|link| (ports[*link].backlog.0, ports[*link].latest));
    if let Some(link) = longest {
        return ports[link].push_out().map(|(packet, len)| (link, packet, len));
    }
    arrived.iter().find_map(|link| {
        let (packet, len) = ports[*link].push_out_waiting(flow)?;
        Some((*link, packet, len))
    })
}
