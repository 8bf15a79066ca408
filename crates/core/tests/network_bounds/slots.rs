//! A tandem of two links, slot by slot. It shares no code with the bounds or the schedulers: a byte
//! takes one slot or more, and all times are whole slots.

use std::collections::VecDeque;

/// Order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of arrival.
    Fifo,
    /// By level, 0 first, and in the order of arrival within a level.
    Levels([u64; 3]),
    /// By clocks that advance by a packet's size times the slots per byte of its flow.
    Clocks([u64; 3]),
    /// By such clocks, which are never behind that of the packet in service, and do not follow time.
    SelfClocked([u64; 3]),
    /// By deadlines, these numbers of slots after the arrival.
    Deadlines([u64; 3]),
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    flow: usize,
    born: u64,
    /// The rank by which it is served here.
    rank: u64,
}

/// A link and its queue.
#[derive(Default)]
struct Link {
    queue: VecDeque<Packet>,
    /// The packet in service and the end of its service.
    busy: Option<(Packet, u64)>,
    clocks: [u64; 3],
    came: u64,
    /// The clock of the last packet in service.
    served: u64,
    /// Slots that a byte takes.
    slots: u64,
}

impl Link {
    fn arrive(&mut self, now: u64, mut packet: Packet, order: Order, sizes: [u64; 3]) {
        self.came += 1;
        packet.rank = match order {
            Order::Fifo => self.came,
            Order::Levels(levels) => levels[packet.flow] * 1_000 + self.came,
            Order::Clocks(slots) | Order::SelfClocked(slots) => {
                let from = if order == Order::Clocks(slots) { now } else { self.served };
                let clock = &mut self.clocks[packet.flow];
                *clock = from.max(*clock) + sizes[packet.flow] * slots[packet.flow];
                *clock * 1_000 + self.came
            }
            Order::Deadlines(within) => (now + within[packet.flow]) * 1_000 + self.came,
        };
        self.queue.push_back(packet);
        self.start(now, sizes);
    }

    fn start(&mut self, now: u64, sizes: [u64; 3]) {
        if self.busy.is_none()
            && let Some(first) = (0..self.queue.len()).min_by_key(|place| self.queue[*place].rank)
        {
            let packet = self.queue.remove(first).unwrap();
            self.served = packet.rank / 1_000;
            self.busy = Some((packet, now + sizes[packet.flow] * self.slots));
        }
    }
}

/// The tandem.
#[derive(Clone, Copy, Debug)]
pub struct Tandem {
    /// Order of service at both links.
    pub order: Order,
    /// Size of each flow's packets, in bytes.
    pub sizes: [u64; 3],
    /// First and last link of each flow.
    pub ways: [(usize, usize); 3],
    /// Slots that a byte takes at each link.
    pub slots: [u64; 2],
}

impl Tandem {
    /// The longest delay of a packet of flow 0 and the most bytes at each link, if the flows send
    /// these numbers of packets at the beginning of each slot. Of those that come at one time, packets
    /// of flows come in the order `ties`, those from the first link before or after the others.
    pub fn run(&self, sends: [&[u64]; 3], ties: [usize; 3], links_first: bool) -> (u64, [u64; 2]) {
        let mut links = self.slots.map(|slots| Link { slots, ..Link::default() });
        let (mut longest, mut most, mut now) = (0, [0, 0], 0);
        let last = sends.iter().map(|sends| sends.len() as u64).max().unwrap();
        loop {
            let mut done = Vec::new();
            for (at, link) in links.iter_mut().enumerate() {
                if let Some((packet, _)) = link.busy.filter(|(_, end)| *end == now) {
                    link.busy = None;
                    done.push((at, packet));
                }
            }
            // A server takes the next packet before those that come at this time.
            links.iter_mut().for_each(|link| link.start(now, self.sizes));
            let mut moved = Vec::new();
            for (at, packet) in done {
                match at < self.ways[packet.flow].1 {
                    true => moved.push(packet),
                    false if packet.flow == 0 => longest = longest.max(now - packet.born),
                    false => {}
                }
            }
            let mut fresh = Vec::new();
            for flow in ties {
                let count = sends[flow].get(now as usize).copied().unwrap_or(0);
                (0..count).for_each(|_| fresh.push(Packet { flow, born: now, rank: 0 }));
            }
            let mut enter = |at: usize, packet| links[at].arrive(now, packet, self.order, self.sizes);
            let mut moved = moved.into_iter();
            if links_first {
                moved.by_ref().for_each(|packet| enter(1, packet));
            }
            fresh.into_iter().for_each(|packet| enter(self.ways[packet.flow].0, packet));
            moved.for_each(|packet| enter(1, packet));
            for (at, link) in links.iter().enumerate() {
                let waiting = link.queue.iter().map(|packet| packet.flow);
                let served = link.busy.iter().map(|(packet, _)| packet.flow);
                let bytes: u64 = waiting.chain(served).map(|flow| self.sizes[flow]).sum();
                most[at] = most[at].max(bytes);
            }
            now += 1;
            if now >= last && links.iter().all(|link| link.busy.is_none()) {
                return (longest, most);
            }
        }
    }
}

/// All sequences of numbers of packets of `size` bytes in `slots` slots that keep a bucket of `burst`
/// bytes that refills with a byte every `every` slots: over any interval of t slots, both ends
/// included, at most `burst + t / every` bytes.
pub fn conforming(size: u64, burst: u64, every: u64, slots: usize) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> = vec![Vec::new()];
    for slot in 0..slots {
        let mut longer = Vec::new();
        for sends in &all {
            for count in 0..=burst / size {
                let mut next = sends.clone();
                next.push(count);
                let keeps = (0..=slot).all(|from| {
                    let bytes: u64 = next[from..].iter().sum::<u64>() * size;
                    bytes * every <= burst * every + (slot - from) as u64
                });
                if keeps {
                    longer.push(next);
                }
            }
        }
        all = longer;
    }
    all
}
