//! A scheduler and its model side by side: the same packets, gates and contracts, and the same
//! packets out.

use super::{World, pick};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{BodyId, Leg, Packet};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, PushOut, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

/// A packet in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub body: u32,
    pub flow: usize,
    pub len: u32,
    pub carry: i64,
    pub arrived: Time,
}

/// All packets in the order of arrival, and their flows.
#[derive(Debug, Default)]
pub struct Line {
    pub packets: Vec<Waiting>,
    pub flows: Vec<(Contract, Participation)>,
}

impl Line {
    pub fn of(&self, flow: usize) -> impl Iterator<Item = &Waiting> {
        self.packets.iter().filter(move |waiting| waiting.flow == flow)
    }

    /// The first packet of every flow that takes part.
    pub fn heads(&self) -> Vec<Waiting> {
        let active = (0..self.flows.len()).filter(|flow| self.flows[*flow].1 == Participation::Active);
        active.filter_map(|flow| self.of(flow).next().copied()).collect()
    }

    pub fn remove(&mut self, body: u32) -> Waiting {
        let at = self.packets.iter().position(|waiting| waiting.body == body).unwrap();
        self.packets.remove(at)
    }
}

/// One scheduler, as slowly and as plainly as it can be written.
pub trait Model {
    fn line(&mut self) -> &mut Line;
    /// Called before the line records a flow's contract.
    fn set(&mut self, _contract: &Contract) {}
    /// Called after the packet has joined the line.
    fn arrived(&mut self, waiting: Waiting);
    /// Called after the line has recorded the change.
    fn takes_part(&mut self, _now: Time, _flow: usize, _before: Participation) {}
    /// The packet that is sent now, with the value that it carries when it leaves; it is not in the
    /// line any more.
    fn start(&mut self, now: Time) -> Option<Waiting>;
    /// Time at which a packet may be sent, if none may be now.
    fn next(&mut self) -> Option<Time> {
        None
    }
    /// Rank of a flow's latest packet for push-out, by how late it would be sent: the greatest goes
    /// first, of equal ones the latest arrival.
    fn rank_to_lose(&mut self, last: Waiting) -> u64;
    /// Called after a packet has gone without being sent.
    fn removed(&mut self, _gone: Waiting) {}
}

pub struct Twins<M> {
    pub world: World,
    pub model: M,
    pub legs: Vec<Leg>,
    plan: SwitchPlan,
    bodies: u32,
    serving: bool,
    /// Wake-up times that the port has asked for.
    wakes: Vec<Time>,
    /// Number of times that a packet waited with the link free.
    pub held_back: u64,
    pub pushed_out: u64,
}

impl<M: Model> Twins<M> {
    pub fn new(scheduler: SchedulerKind, rate: Rate, most: Option<u64>, model: M) -> Twins<M> {
        let port = PortPlan { rate: Some(rate), ..PortPlan::new(scheduler) };
        let buffer = most.map(Limit::Packets);
        let push_out = PushOut::LongestQueue;
        let plan = SwitchPlan { ports: vec![port], buffer, push_out, ..SwitchPlan::default() };
        let (world, legs) = (World::new(&plan), Vec::new());
        Twins {
            world,
            model,
            legs,
            plan,
            bodies: 0,
            serving: false,
            wakes: Vec::new(),
            held_back: 0,
            pushed_out: 0,
        }
    }

    pub fn open(&mut self, contract: Contract) {
        self.legs.push(self.world.open(0, &FlowPlan { contract, ..FlowPlan::default() }));
        self.model.set(&contract);
        self.model.line().flows.push((contract, Participation::Active));
    }

    pub fn arrive(&mut self, flow: usize, len: u32, carry: i64) {
        self.bodies += 1;
        let mut packet = Packet::new(BodyId(self.bodies), len);
        packet.carry = carry;
        self.world.arrive_packet(&[self.legs[flow]], packet);
        let waiting = Waiting { body: self.bodies, flow, len, carry, arrived: self.world.now };
        self.model.line().packets.push(waiting);
        self.model.arrived(waiting);
        let Some(Limit::Packets(most)) = self.plan.buffer else { return };
        let mut expected = Vec::new();
        while self.model.line().packets.len() as u64 + u64::from(self.serving) > most {
            let line = self.model.line();
            let lasts: Vec<Waiting> =
                (0..line.flows.len()).filter_map(|flow| line.of(flow).last().copied()).collect();
            let rank = |last: &Waiting| (self.model.rank_to_lose(*last), last.body);
            let Some(gone) = lasts.into_iter().max_by_key(rank) else { break };
            self.model.line().remove(gone.body);
            self.model.removed(gone);
            expected.push(gone.body);
        }
        self.pushed_out += expected.len() as u64;
        self.wakes.extend(self.world.wakes());
        let dropped: Vec<u32> = self.world.dropped().into_iter().map(|(body, ..)| body).collect();
        assert_eq!(dropped, expected);
    }

    pub fn change(&mut self, flow: usize, contract: Contract) {
        let change = (self.legs[flow], FlowPlan { contract, ..FlowPlan::default() });
        self.world.reconfigure(&self.plan, &[change]);
        self.model.set(&contract);
        self.model.line().flows[flow].0 = contract;
    }

    pub fn take_part(&mut self, flow: usize, how: Participation) {
        self.world.take_part(self.legs[flow], how);
        let before = std::mem::replace(&mut self.model.line().flows[flow].1, how);
        if how != before {
            self.model.takes_part(self.world.now, flow, before);
        }
    }

    /// Ends the service, if there is one, or starts the next.
    pub fn turn(&mut self, what: &str) {
        if std::mem::take(&mut self.serving) {
            self.world.finish(0);
            return;
        }
        // A wake-up may have become due.
        self.world.timer(0);
        let sent = self.world.start(0).map(|packet| (packet.body.0, packet.carry));
        let expected = self.model.start(self.world.now).map(|sent| (sent.body, sent.carry));
        assert_eq!(sent, expected, "{what}");
        self.serving = sent.is_some();
        if let Some(next) = self.model.next().filter(|_| sent.is_none()) {
            self.held_back += 1;
            self.wakes.extend(self.world.wakes());
            self.wakes.retain(|at| *at > self.world.now);
            assert!(self.wakes.iter().any(|at| *at <= next), "{what}: {next:?} not in {:?}", self.wakes);
        }
    }

    /// Lets all flows take part, and sends everything.
    pub fn drain(&mut self, what: &str) {
        (0..self.legs.len()).for_each(|flow| self.take_part(flow, Participation::Active));
        while self.serving || !self.model.line().packets.is_empty() {
            self.turn(what);
            if let Some(next) = self.model.next().filter(|_| !self.serving) {
                self.world.now = self.world.now.max(next);
            }
        }
        assert_eq!(self.world.start(0), None, "{what}");
    }

    /// Carries out random operations on `flows` flows with random contracts; packets carry random
    /// values.
    pub fn storm(
        &mut self,
        rng: &mut Rng,
        flows: u64,
        gated: bool,
        mut contract: impl FnMut(&mut Rng) -> Contract,
        mut carry: impl FnMut(&mut Rng) -> i64,
    ) {
        (0..flows).for_each(|_| self.open(contract(rng)));
        for step in 0..700 {
            let what = format!("step {step}");
            let flow = rng.below(flows) as usize;
            match rng.below(100) {
                0..48 => self.arrive(flow, pick(rng, &[1, 40, 500, 1000, 1000, 1500, 9000]), carry(rng)),
                48..82 => self.turn(&what),
                82..90 => self.world.wait(Span::from_micros(500 * rng.below(6))),
                90..96 if gated => self.take_part(
                    flow,
                    pick(rng, &[Participation::Active, Participation::Held, Participation::Absent]),
                ),
                96..98 => {
                    let wanted = contract(rng);
                    self.change(flow, wanted);
                }
                98 => {
                    (0..rng.below(60)).for_each(|_| self.turn(&what));
                    self.world.wait(Span::from_millis(rng.below(2000)));
                }
                _ => {}
            }
        }
        self.drain("at the end");
    }
}
