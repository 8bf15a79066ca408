//! A server whose rate may be another one for every packet, and a record of what it does.

use crate::common::{World, rate};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Arrived,
    /// Its last bit has left.
    Left,
    Dropped,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at: Time,
    pub what: What,
    pub flow: usize,
    pub len: u32,
    /// Flow of the packet in service, and its rest in bytes.
    pub in_service: Option<(usize, f64)>,
}

pub struct Server {
    pub world: World,
    pub legs: Vec<Leg>,
    pub events: Vec<Event>,
    /// Time at which the last bit of the packet in service leaves.
    until: Option<Time>,
    /// The packet in service, and the time at which it began.
    serving: (usize, u32, Time),
}

impl Server {
    /// A server that the scheduler takes to have this rate in bit/s, for flows with these
    /// reservations.
    pub fn new(
        scheduler: SchedulerKind,
        told: impl Into<Option<u64>>,
        reserves: &[u64],
        buffer: Option<Limit>,
    ) -> Server {
        let port = PortPlan { rate: told.into().map(rate), ..PortPlan::new(scheduler) };
        let mut world = World::new(&SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() });
        world.audited = false;
        let mut server = Server {
            world,
            legs: Vec::new(),
            events: Vec::new(),
            until: None,
            serving: (0, 0, Time::ORIGIN),
        };
        reserves.iter().for_each(|bits| server.open(*bits));
        server
    }

    pub fn open(&mut self, bits: u64) {
        let contract = Contract { reserve: Some(rate(bits)), ..Contract::default() };
        self.legs.push(self.world.open(0, &FlowPlan { contract, ..FlowPlan::default() }));
    }

    fn note(&mut self, what: What, flow: usize, len: u32) {
        let at = self.world.now;
        let (whose, of, began) = self.serving;
        let in_service = self.until.map(|until| {
            let left = until.since(at).ticks() as f64 / until.since(began).ticks() as f64;
            (whose, left * f64::from(of))
        });
        self.events.push(Event { at, what, flow, len, in_service });
    }

    pub fn arrive(&mut self, flow: usize, len: u32) {
        self.note(What::Arrived, flow, len);
        self.world.arrive(&[self.legs[flow]], len);
        let out = std::mem::take(&mut self.world.out);
        for effect in out {
            if let tidegate_core::context::Effect::Dropped { packet, .. } = effect {
                self.note(What::Dropped, packet.flow.ix(), packet.len);
            }
        }
    }

    /// Starts the next packet at this rate, if the server is free and there is one.
    pub fn start(&mut self, bits: u64) -> bool {
        if self.until.is_none()
            && let Some(packet) = self.world.start(0)
        {
            self.until = Some(self.world.now + rate(bits).time_for(packet.len));
            self.serving = (packet.flow.ix(), packet.len, self.world.now);
        }
        self.until.is_some()
    }

    /// Time at which the packet in service has left.
    pub fn free_at(&self) -> Option<Time> {
        self.until
    }

    /// The packet in service leaves.
    pub fn finish(&mut self) -> Option<usize> {
        self.world.now = self.until.take()?;
        let (packet, _) = self.world.finish(0);
        self.note(What::Left, packet.flow.ix(), packet.len);
        Some(packet.flow.ix())
    }

    /// Sends up to `packets` packets at this rate; returns their flows.
    pub fn send(&mut self, packets: usize, bits: u64) -> Vec<usize> {
        let one = |server: &mut Server| if server.start(bits) { server.finish() } else { None };
        (0..packets).map_while(|_| one(self)).collect()
    }

    pub fn wait(&mut self, span: Span) {
        self.world.now += span;
    }
}
