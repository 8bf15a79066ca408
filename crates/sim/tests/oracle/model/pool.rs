//! The memory that the ports of a switch share, with push-out (docs/pool.md).

use super::Ticks;
use super::port::Port;
use std::collections::BTreeMap;
use tidegate_core::params::Limit;
use tidegate_core::switch::plan::PushOut;
use tidegate_sim::packet_log::PacketId;

/// The stored packets: a multicast packet counts once, even in several ports.
pub struct Pool {
    limit: Option<Limit>,
    /// The push-out rule.
    pub rule: PushOut,
    packets: u64,
    bytes: u64,
    copies: BTreeMap<PacketId, usize>,
}

impl Pool {
    pub fn new(limit: Option<Limit>, rule: PushOut) -> Pool {
        Pool { limit, rule, packets: 0, bytes: 0, copies: BTreeMap::new() }
    }

    pub fn is_exhausted(&self) -> bool {
        self.limit.is_some_and(|limit| !limit.admits(self.packets, self.bytes))
    }

    /// True if it is limited in bytes.
    fn counts_bytes(&self) -> bool {
        matches!(self.limit, Some(Limit::Bytes(_)))
    }

    /// Its limit.
    fn size(&self) -> u64 {
        match self.limit {
            Some(Limit::Packets(limit) | Limit::Bytes(limit)) => limit,
            None => 0,
        }
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

/// A packet to be removed: its link, its identity and its length.
pub type Victim = (usize, PacketId, u32);

/// Chooses the next packet to remove from the pool of the ports `links`; `arrived` is the port of
/// the latest packet, of `flow`.
pub fn push_out(
    now: Ticks,
    ports: &mut [Port],
    links: &[usize],
    pool: &Pool,
    arrived: &[usize],
    flow: u32,
) -> Option<Victim> {
    match pool.rule {
        PushOut::Shares => push_out_beyond_share(now, ports, links, pool),
        PushOut::LongestQueue => push_out_of_longest(now, ports, links, pool, arrived, flow),
    }
}

/// The port with the largest excess over its share gives way; among equal ones, the one with the
/// latest arrival. The share has two parts. The first is the need of the port's flows with buckets,
/// or a part of it when all need more than there is. The second is a part of half of the remainder,
/// in proportion to the reservations of its other flows. At that port, a packet in an envelope goes
/// when the envelopes hold more than a third of the rest, the latest of the longest queue;
/// otherwise the packet that would be sent last goes.
fn push_out_beyond_share(now: Ticks, ports: &mut [Port], links: &[usize], pool: &Pool) -> Option<Victim> {
    let in_bytes = pool.counts_bytes();
    let sum =
        |of: &dyn Fn(&Port) -> u64| links.iter().map(|link| i128::from(of(&ports[*link]))).sum::<i128>();
    let needed = sum(&|port| port.needed(in_bytes));
    let reserved = sum(&|port| port.reserved(in_bytes));
    let size = i128::from(pool.size());
    let held = |link: usize| {
        let [queued, waiting] = [ports[link].backlog, ports[link].waiting()];
        [queued, waiting].map(|(packets, bytes)| if pool.counts_bytes() { bytes } else { packets })
    };
    let excess = |link: usize| {
        let held = i128::from(held(link).iter().sum::<u64>());
        let need = i128::from(ports[link].needed(in_bytes));
        // A share is a fraction: its numerator and its denominator, which is the same for all.
        let (share, parts) = if needed > size {
            (size * need, needed)
        } else if reserved > 0 {
            let rate = i128::from(ports[link].reserved(in_bytes));
            (2 * reserved * need + (size - needed) * rate, 2 * reserved)
        } else {
            (need, 1)
        };
        parts * held - share
    };
    let gives = |link: &usize| ports[*link].evictable() > 0 || ports[*link].waiting().0 > 0;
    let link = links.iter().copied().filter(gives).max_by_key(|link| (excess(*link), ports[*link].latest))?;
    let [queued, waiting] = held(link);
    let port = &mut ports[link];
    let gone = match port.evictable() == 0 || 3 * waiting > queued {
        true => port.longest_waiting().and_then(|flow| port.push_out_waiting(flow)),
        false => port.push_out(now, pool.counts_bytes()),
    };
    gone.map(|(packet, len)| (link, packet, len))
}

/// Zhang 1991, section 3.1: from the longest queue by packets, the one in service counted but never
/// taken, of several the one with the latest arrival. When nothing is queued, the latest that waits
/// in the envelope of the flow that has just come.
fn push_out_of_longest(
    now: Ticks,
    ports: &mut [Port],
    links: &[usize],
    pool: &Pool,
    arrived: &[usize],
    flow: u32,
) -> Option<Victim> {
    let queued = links.iter().copied().filter(|link| ports[*link].evictable() > 0);
    let longest = queued.max_by_key(|link| (ports[*link].backlog.0, ports[*link].latest));
    if let Some(link) = longest {
        return ports[link].push_out(now, pool.counts_bytes()).map(|(packet, len)| (link, packet, len));
    }
    arrived.iter().find_map(|link| {
        let (packet, len) = ports[*link].push_out_waiting(flow)?;
        Some((*link, packet, len))
    })
}
