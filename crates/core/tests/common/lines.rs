//! Links that keep themselves busy, as a simulator's do: one packet at a time on each, the next
//! started when the last is out, timers called when they were asked for.

use super::World;
use tidegate_core::context::{Body, Effect, Reason};
use tidegate_core::packet::{Leg, Packet, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::stats::Count;
use tidegate_core::units::{Rate, Time};

/// A packet whose first bit left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Time,
    pub port: u16,
    pub packet: Packet,
}

pub struct Lines {
    pub world: World,
    /// Rate of each port.
    pub rates: Vec<Rate>,
    done_at: Vec<Option<Time>>,
    wake_at: Vec<Time>,
    pub sent: Vec<Sent>,
    pub dropped: Vec<(u16, Packet, Reason)>,
    /// Number of bodies that came back.
    pub released: u64,
}

impl Lines {
    pub fn new(world: World, rates: &[Rate]) -> Lines {
        let ports = rates.len();
        Lines {
            world,
            rates: rates.to_vec(),
            done_at: vec![None; ports],
            wake_at: vec![Time::NEVER; ports],
            sent: Vec::new(),
            dropped: Vec::new(),
            released: 0,
        }
    }

    /// A new port's link.
    pub fn add(&mut self, rate: Rate) {
        self.rates.push(rate);
        self.done_at.push(None);
        self.wake_at.push(Time::NEVER);
    }

    pub fn arrive(&mut self, to: &[Leg], len: u32) -> u32 {
        let body = self.world.arrive(to, len);
        self.kick();
        body
    }

    /// Starts every link that can start, and records the bodies that came back.
    pub fn kick(&mut self) {
        for port in 0..self.rates.len() {
            if let Some(packet) = self.world.start(port as u16) {
                self.done_at[port] = Some(self.world.now + self.rates[port].time_for(packet.len));
                self.sent.push(Sent { at: self.world.now, port: port as u16, packet });
            }
        }
        self.listen();
    }

    fn listen(&mut self) {
        for effect in self.world.out.drain(..) {
            match effect {
                Effect::Wake { port: PortIx(port), at } => self.wake_at[usize::from(port)] = at,
                Effect::Dropped { port, packet, reason, body } => {
                    self.dropped.push((port.0, packet, reason));
                    self.released += u64::from(body == Body::Released);
                }
                Effect::Marked { .. } | Effect::Finding { .. } | Effect::Released { .. } => {}
            }
        }
    }

    /// Time of the next event.
    pub fn next(&self) -> Time {
        let done = self.done_at.iter().flatten().copied();
        done.chain(self.wake_at.iter().copied()).min().unwrap_or(Time::NEVER)
    }

    /// Processes all events by `until`, and stops there.
    pub fn run(&mut self, until: Time) {
        self.kick();
        while self.next() <= until {
            self.step();
        }
        self.world.now = until;
    }

    /// Processes the next event. A departure comes before a timer of the same instant.
    pub fn step(&mut self) {
        let next = self.next();
        self.world.now = self.world.now.max(next);
        if let Some(port) = self.done_at.iter().position(|at| *at == Some(next)) {
            self.done_at[port] = None;
            self.released += u64::from(self.world.finish(port as u16).1 == Body::Released);
        } else if let Some(port) = self.wake_at.iter().position(|at| *at == next) {
            self.wake_at[port] = Time::NEVER;
            self.world.timer(port as u16);
        }
        self.kick();
    }

    /// Runs until there is no event left.
    pub fn drain(&mut self) {
        self.kick();
        while self.next() < Time::NEVER {
            self.step();
        }
    }

    /// Bytes whose first bit left within [from, to), for flows that the test picks.
    pub fn bytes(&self, from: Time, to: Time, counts: impl Fn(&Sent) -> bool) -> u64 {
        let within = |sent: &&Sent| sent.at >= from && sent.at < to && counts(sent);
        self.sent.iter().filter(within).map(|sent| u64::from(sent.packet.len)).sum()
    }
}

/// A count in the unit of a limit.
pub fn measure(limit: Limit, count: Count) -> u64 {
    match limit {
        Limit::Packets(_) => count.packets,
        Limit::Bytes(_) => count.bytes,
    }
}

/// Packets and bytes of a flow at its port.
pub fn held(lines: &Lines, leg: Leg) -> Count {
    let counters = lines.world.switch.counters(leg);
    Count {
        packets: counters.arrived.packets - counters.sent.packets - counters.dropped.packets,
        bytes: counters.arrived.bytes - counters.sent.bytes - counters.dropped.bytes,
    }
}
