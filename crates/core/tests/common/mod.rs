//! The smallest driver: one switch, a clock, and links that the test drives by hand.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod headers;
pub mod lines;
pub mod lists;
pub mod oracle;
pub mod plans;
pub mod twins;

use tidegate_core::context::{Body, Ctx, Effect, Reason};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{BodyId, Leg, Packet, PortIx};
use tidegate_core::params::{NamedPolicy, Role, Service, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, Participation, SchedulerKind};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{Diff, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

pub struct World {
    pub switch: Switch,
    pub now: Time,
    pub rng: Rng,
    pub out: Vec<Effect>,
    /// True if every call is followed by an audit, which looks at every packet.
    pub audited: bool,
    /// Value that packets carry from the hop before.
    pub carry: i64,
    bodies: u32,
}

/// Number of rounds: `few`, or many more when TIDEGATE_VERIFY asks for the long tier.
pub fn rounds(few: u64) -> u64 {
    if std::env::var_os("TIDEGATE_VERIFY").is_some_and(|set| set == "1") { few * 20 } else { few }
}

/// Picks one of these at random.
pub fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// Every built-in scheduler with the values of its example.
pub fn every_scheduler() -> Vec<SchedulerKind> {
    every_scaled_scheduler(1, 1)
}

/// Every built-in scheduler with sizes `larger` times as large and rates `larger * faster` times as
/// high: for packets that are `larger` times as large and leave `faster` times as fast.
pub fn every_scaled_scheduler(larger: u64, faster: u64) -> Vec<SchedulerKind> {
    let scaled = |(name, value)| match value {
        Value::Size(bytes) => (name, Value::Size(bytes * larger)),
        Value::Rate(bits) => (name, Value::Rate(bits * larger * faster)),
        value => (name, value),
    };
    let built_in = |example: BuiltInScheduler| {
        let values: Vec<_> = example.values().into_iter().map(scaled).collect();
        SchedulerKind::BuiltIn(BuiltInScheduler::read(example.record().name, &values).unwrap().unwrap())
    };
    BuiltInScheduler::examples().into_iter().map(built_in).collect()
}

/// Every built-in scheduler that sends whenever a packet waits.
pub fn every_work_conserving_scheduler() -> Vec<SchedulerKind> {
    let role = Role::Scheduler { service: Service::WorkConserving };
    every_scheduler().into_iter().filter(|kind| kind.record().role == role).collect()
}

pub fn kind(name: &str) -> SchedulerKind {
    SchedulerKind::named(name).unwrap()
}

pub fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

pub fn reserved(bits: u64) -> FlowPlan {
    FlowPlan {
        contract: Contract { reserve: Some(rate(bits)), ..Contract::default() },
        ..FlowPlan::default()
    }
}

impl World {
    pub fn new(plan: &SwitchPlan) -> World {
        World::starting(Time::ORIGIN, plan)
    }

    pub fn starting(now: Time, plan: &SwitchPlan) -> World {
        let switch = Switch::new(now, plan).unwrap();
        World { switch, now, rng: Rng::named(1, "toy"), out: Vec::new(), audited: true, carry: 0, bodies: 0 }
    }

    /// One port with one scheduler and an unlimited buffer.
    pub fn with(scheduler: SchedulerKind) -> World {
        World::new(&SwitchPlan {
            ports: vec![PortPlan::new(scheduler)],
            buffer: None,
            ..SwitchPlan::default()
        })
    }

    pub fn cx<T>(&mut self, act: impl FnOnce(&mut Switch, &mut Ctx<'_>) -> T) -> T {
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut self.out };
        let done = act(&mut self.switch, &mut cx);
        if self.audited {
            self.switch.audit(self.now).unwrap();
        }
        done
    }

    pub fn open(&mut self, port: u16, plan: &FlowPlan) -> Leg {
        self.try_open(port, plan).unwrap()
    }

    pub fn try_open(&mut self, port: u16, plan: &FlowPlan) -> Result<Leg, Refused> {
        self.switch.open(self.now, PortIx(port), plan)
    }

    pub fn take_part(&mut self, leg: Leg, how: Participation) {
        _ = self.cx(|switch, cx| switch.take_part(cx.now, leg, how));
    }

    /// A packet of `len` bytes arrives; its body's number comes back.
    pub fn arrive(&mut self, to: &[Leg], len: u32) -> u32 {
        self.bodies += 1;
        let mut packet = Packet::new(BodyId(self.bodies), len);
        packet.carry = self.carry;
        self.arrive_packet(to, packet);
        self.bodies
    }

    pub fn arrive_packet(&mut self, to: &[Leg], packet: Packet) {
        _ = self.cx(|switch, cx| switch.arrive(cx, to, packet));
    }

    pub fn start(&mut self, port: u16) -> Option<Packet> {
        self.cx(|switch, cx| switch.start(cx, PortIx(port)))
    }

    pub fn finish(&mut self, port: u16) -> (Packet, Body) {
        self.cx(|switch, cx| switch.finish(cx, PortIx(port))).unwrap()
    }

    pub fn close(&mut self, leg: Leg) {
        _ = self.cx(|switch, cx| switch.close(cx.now, leg));
    }

    pub fn timer(&mut self, port: u16) {
        _ = self.cx(|switch, cx| switch.timer(cx, PortIx(port)));
    }

    /// Starts and finishes the next packet in no time.
    pub fn send(&mut self, port: u16) -> Option<Packet> {
        self.start(port)?;
        Some(self.finish(port).0)
    }

    /// The packet that is sent next, in no time: now, or once the scheduler holds it back no
    /// longer.
    pub fn send_next(&mut self, port: u16) -> Option<Packet> {
        loop {
            // A wake-up may have become due since the last call.
            self.timer(port);
            if let Some(packet) = self.send(port) {
                return Some(packet);
            }
            self.now = self.wakes().into_iter().filter(|at| *at > self.now).min()?;
        }
    }

    /// Sends at `rate` until `until`, waking when asked: (flow index, departure of the last bit).
    pub fn run(&mut self, port: u16, rate: Rate, until: Time) -> Vec<(u32, Time)> {
        let mut sent = Vec::new();
        while self.now < until {
            match self.start(port) {
                Some(packet) => {
                    self.now += rate.time_for(packet.len);
                    sent.push((packet.flow.0, self.now));
                    self.finish(port);
                }
                None => {
                    let Some(at) = self.wakes().into_iter().filter(|at| *at > self.now).min() else { break };
                    self.now = at;
                    self.timer(port);
                }
            }
        }
        sent
    }

    pub fn wakes(&mut self) -> Vec<Time> {
        let at = |effect: &Effect| if let Effect::Wake { at, .. } = effect { Some(*at) } else { None };
        self.out.iter().filter_map(at).collect()
    }

    /// Packets dropped since the last call: bodies and reasons.
    pub fn dropped(&mut self) -> Vec<(u32, Reason, Body)> {
        let drop = |effect: Effect| match effect {
            Effect::Dropped { packet, reason, body, .. } => Some((packet.body.0, reason, body)),
            _ => None,
        };
        self.out.drain(..).filter_map(drop).collect()
    }

    pub fn reconfigure(&mut self, plan: &SwitchPlan, flows: &[(Leg, FlowPlan)]) -> Diff {
        self.try_reconfigure(plan, flows).unwrap()
    }

    pub fn try_reconfigure(&mut self, plan: &SwitchPlan, flows: &[(Leg, FlowPlan)]) -> Result<Diff, Refused> {
        self.cx(|switch, cx| switch.reconfigure(cx, plan, flows)).map(|(diff, _)| diff)
    }

    pub fn wait(&mut self, span: Span) {
        self.now += span;
    }
}
