//! One port of 1 Mbit/s, and the packets that come to it.

use crate::Outcome;
use crate::common::{World, rate};
use std::collections::VecDeque;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::switch::plan::{FlowPlan, PacketSizes, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Rate of the link in bit/s.
pub const LINK: u64 = 1_000_000;
/// The largest packet, in bytes.
pub const LARGEST: u32 = 1000;
/// Time of one round in which every flow of a workload, of which there are at most five, sends a
/// packet of the largest size for each packet of the flow with the lowest reservation, which is a
/// quarter of the highest: no published latency of a rate-based discipline is above three of these.
const ROUND: f64 = 4.0 * 5.0 * 8.0 * LARGEST as f64 / LINK as f64;
/// The most by which a discipline with a guarantee is behind it, in seconds.
pub const LATENCY: f64 = 3.0 * ROUND;

/// Time by which packets were sent early at a port before, as they tell the disciplines that look.
pub const EARLY: Span = Span::from_millis(5);

/// A property of disciplines.
pub struct Property {
    /// Its name in the table.
    pub name: &'static str,
    /// The property in a sentence.
    pub says: &'static str,
    /// Looks at one random workload.
    pub check: fn(&SchedulerKind, &mut Rng) -> Outcome,
}

/// A flow at the port.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Reservation in bit/s.
    pub reserve: u64,
    /// Peak rate in bit/s.
    pub peak: u64,
    /// Level of priority.
    pub priority: u8,
    /// Depth of the token bucket to which its traffic conforms, if it does, in bytes.
    pub burst: u32,
}

impl Flow {
    /// Seconds in which the reservation serves this many bytes.
    pub fn seconds(&self, bytes: f64) -> f64 {
        8.0 * bytes / self.reserve as f64
    }

    /// A plan with a value for everything that a discipline may want of a flow.
    fn plan(&self) -> FlowPlan {
        let contract = Contract {
            reserve: Some(rate(self.reserve)),
            peak: Some(rate(self.peak)),
            workahead: Some(self.burst),
            interval: None,
            deadline: Some(Span::from_secs_f64(self.seconds(f64::from(self.burst + LARGEST)))),
            priority: self.priority,
            ..Contract::default()
        };
        let sizes = Some(PacketSizes { smallest: 100, largest: LARGEST });
        FlowPlan { contract, sizes, ..FlowPlan::default() }
    }
}

/// Something that happens to a flow.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A packet of this many bytes arrives.
    Packet(u32),
    /// Its participation changes.
    Takes(Participation),
}

/// An event of a workload: its time, the index of the flow, and what happens.
pub type Event = (Time, usize, What);

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub flow: usize,
    /// Its number among the packets of its flow.
    pub number: u32,
    pub len: u32,
    pub arrived: Time,
    /// Time at which its last bit was out.
    pub left: Time,
}

impl Sent {
    pub fn delay(&self) -> f64 {
        self.left.since(self.arrived).as_secs_f64()
    }
}

/// The packets that a port sent, those that wait at the end, and the first time at which it was idle
/// though it was not empty.
pub struct Run {
    pub sent: Vec<Sent>,
    waiting: Vec<(usize, Time)>,
    ended: Time,
    pub idle: Option<Time>,
}

impl Run {
    /// Delays of a flow's packets in seconds; of those that wait, so far.
    pub fn delays(&self, flow: usize) -> impl Iterator<Item = f64> {
        let waiting = self.waiting.iter().filter(move |one| one.0 == flow);
        let so_far = waiting.map(|one| self.ended.since(one.1).as_secs_f64());
        self.sent.iter().filter(move |one| one.flow == flow).map(Sent::delay).chain(so_far)
    }

    /// Bytes of a flow that have left between two times.
    pub fn served(&self, flow: usize, from: Time, until: Time) -> f64 {
        let within = self.sent.iter().filter(|one| one.flow == flow && one.left > from && one.left <= until);
        within.map(|one| f64::from(one.len)).sum()
    }
}

/// Carries out a workload, and sends what is left for up to `after`.
///
/// # Errors
/// When the discipline refuses a flow.
pub fn run(kind: &SchedulerKind, flows: &[Flow], events: &[Event], after: Span) -> Result<Run, Refused> {
    let port = PortPlan { rate: Some(rate(LINK)), ..PortPlan::new(kind.clone()) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
    world.audited = false;
    // As if all packets had been sent early at a port before.
    world.carry = EARLY.ticks() as i64;
    let opened = flows.iter().map(|flow| world.try_open(0, &flow.plan()));
    let legs: Vec<Leg> = opened.collect::<Result<_, _>>()?;
    let mut waiting: Vec<VecDeque<(u32, u32, Time)>> = vec![VecDeque::new(); flows.len()];
    let mut counts = vec![0; flows.len()];
    let mut held = vec![false; flows.len()];
    let (mut sent, mut idle) = (Vec::new(), None);
    let end = events.last().map_or(Time::ORIGIN, |last| last.0) + after;
    let mut next = events.iter().peekable();
    let (mut busy, mut wake) = (None::<Time>, None::<Time>);
    while world.now < end {
        while let Some((_, flow, what)) = next.next_if(|event| event.0 <= world.now) {
            match what {
                What::Packet(len) => {
                    let body = world.arrive(&[legs[*flow]], *len);
                    waiting[*flow].push_back((body, counts[*flow], world.now));
                    counts[*flow] += 1;
                }
                What::Takes(how) => {
                    held[*flow] = *how != Participation::Active;
                    world.take_part(legs[*flow], *how);
                }
            }
        }
        if busy.is_some_and(|until| until <= world.now) {
            busy = None;
            let (packet, _) = world.finish(0);
            let flow = legs.iter().position(|leg| leg.flow == packet.flow).unwrap();
            let place = waiting[flow].iter().position(|(body, ..)| *body == packet.body.0).unwrap();
            let (_, number, arrived) = waiting[flow].remove(place).unwrap();
            sent.push(Sent { flow, number, len: packet.len, arrived, left: world.now });
        }
        if busy.is_none() {
            world.timer(0);
            match world.start(0) {
                Some(packet) => {
                    busy = Some(world.now + rate(LINK).time_for(packet.len));
                }
                None if waiting.iter().zip(&held).any(|(packets, held)| !packets.is_empty() && !held) => {
                    idle = idle.or(Some(world.now));
                }
                None => {}
            }
        }
        // A request replaces the one before.
        wake = world.wakes().into_iter().last().or(wake).filter(|at| *at > world.now);
        world.out.clear();
        let at = wake.into_iter().chain(next.peek().map(|event| event.0)).chain(busy).min();
        world.now = at.unwrap_or(end).min(end);
    }
    let waiting = waiting.iter().enumerate();
    let waiting = waiting.flat_map(|(flow, packets)| packets.iter().map(move |packet| (flow, packet.2)));
    Ok(Run { sent, waiting: waiting.collect(), ended: end, idle })
}

/// Two to five flows whose reservations differ by a factor of at most four, and are nine tenths of
/// the link.
pub fn flows(rng: &mut Rng) -> Vec<Flow> {
    flows_with(LINK * 9 / 10, rng)
}

/// Two to five flows whose reservations differ by a factor of at most four, and together are nearly
/// this rate.
pub fn flows_with(reserved: u64, rng: &mut Rng) -> Vec<Flow> {
    let parts: Vec<u64> = (0..2 + rng.below(4)).map(|_| 1 + rng.below(4)).collect();
    let all: u64 = parts.iter().sum();
    let flow = |part: &u64| {
        let reserve = reserved * part / all;
        Flow {
            reserve,
            peak: reserve,
            priority: rng.below(4) as u8,
            burst: LARGEST * (1 + rng.below(4) as u32),
        }
    };
    parts.iter().map(flow).collect()
}

/// Packets of a flow that come one right behind the other, until it has sent for `lasts` at the
/// rate of the link: it always has packets.
pub fn flood(flow: usize, from: Time, lasts: Span) -> impl Iterator<Item = Event> {
    let packets = lasts.ticks() / rate(LINK).time_for(LARGEST).ticks();
    (0..packets).map(move |_| (from, flow, What::Packet(LARGEST)))
}

/// Packets of a flow that conform to its bucket, some as early as they may and some later.
pub fn conforming(place: usize, flow: &Flow, lasts: Span, rng: &mut Rng) -> Vec<Event> {
    let mut bucket = tidegate_core::shaper::TokenBucket::new(rate(flow.reserve), flow.burst);
    let (mut now, mut events) = (Time::ORIGIN, Vec::new());
    while now < Time::ORIGIN + lasts {
        for _ in 0..1 + rng.below(6) {
            let len = [100, 500, LARGEST][rng.below(3) as usize];
            now = now.max(bucket.conforms_at(len));
            bucket.take(now, len);
            events.push((now, place, What::Packet(len)));
        }
        now += Span::from_micros(rng.below(3) * rng.below(60_000));
    }
    events
}

/// The events in the order of their times; those of one time stay in order.
pub fn in_order(parts: impl IntoIterator<Item = Vec<Event>>) -> Vec<Event> {
    let mut events: Vec<Event> = parts.into_iter().flatten().collect();
    events.sort_by_key(|event| event.0);
    events
}
