//! Which flow of a port does a packet go to? By rules in their order, the first that has a flow for it.
//!
//! A rule has one flow, or opens one for each host, subscriber, 5-tuple or circuit when its first packet
//! comes. Such a flow is closed once it was idle for the rule's time *and* the scheduler would treat a new
//! flow alike: a flow that has sent ahead of its reservation cannot shed that by a pause. The counters of a
//! circuit outlive its flows.

use super::cache::Cached;
use super::circuits::{self, CircuitState};
use crate::classifier::FiveTuple;
use crate::classifier::circuits::Circuits;
use crate::classifier::rules::{Direction, Each, Key, Match, inside};
use crate::contract::Refused;
use crate::packet::{FlowIx, Leg, PortIx};
use crate::switch::plan::FlowPlan;
use crate::switch::{FlowCounters, Switch};
use crate::units::{Span, Time};
use crate::wire::Headers;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// Which packets match, and the flow that they get.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Which packets match.
    pub matching: Match,
    /// What has a flow of its own.
    pub split: Split,
    /// The plan of its flow, or of every one of its flows, at the port; a circuit's own terms come first.
    pub plan: FlowPlan,
    /// How long a flow that was opened by a packet stays open without packets.
    pub idle: Span,
}

/// What has a flow of its own, among the packets that match a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Split {
    /// All of them have one flow.
    Together,
    /// Each host, subscriber or 5-tuple has one.
    Each(Each),
    /// Each of these circuits has one. Packets of addresses that no circuit has go on to the next rule.
    Circuits(Arc<Circuits>),
}

/// The owner of a flow that was opened by a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Key(Key),
    Circuit(u32),
}

/// A flow that was opened by a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) rule: usize,
    pub(super) owner: Owner,
    pub(super) leg: Leg,
    pub(super) last_packet: Time,
    /// Its rule was removed and its flow closed; its slot is free at the next check.
    pub(super) closed: bool,
    /// Which flow this is, counted over all that were opened; 0 once it is closed.
    pub(super) number: u64,
}

/// The rules of one port and the flows that they have there.
pub struct Steering {
    pub(super) port: PortIx,
    pub(super) direction: Direction,
    pub(super) rules: Vec<Rule>,
    /// The flow of every rule that has one flow.
    pub(super) fixed: Vec<Option<Leg>>,
    /// The circuits of every rule, by their numbers.
    pub(super) circuits: Vec<Vec<CircuitState>>,
    /// The flow of packets that match no rule.
    pub(super) rest: Leg,
    /// The rule of every flow at the port, by the flow's index; one past the last rule for the rest.
    rule_of: Vec<u32>,
    pub(super) members: Vec<Member>,
    pub(super) by_key: BTreeMap<(usize, Key), usize>,
    free: Vec<usize>,
    /// When to check whether a member can be closed: one entry for each.
    checks: BinaryHeap<Reverse<(Time, usize)>>,
    pub(super) most: usize,
    /// Members that were opened so far.
    opened: u64,
    /// How often the rules were replaced.
    pub(super) generation: u64,
    /// The counters of the closed members of each rule.
    pub(super) closed: Vec<FlowCounters>,
    /// Packets for which no flow could be opened.
    overflowed: u64,
}

impl Steering {
    /// Opens the flows of the rules that have one, and one for the rest, at a port. At most `most` flows
    /// are opened by packets, those of circuits not counted; beyond, packets go with the rest.
    ///
    /// # Errors
    /// When the switch refuses a flow.
    pub fn new(
        now: Time,
        switch: &mut Switch,
        port: PortIx,
        direction: Direction,
        rules: Vec<Rule>,
        most: usize,
    ) -> Result<Steering, Refused> {
        let mut fixed = Vec::with_capacity(rules.len());
        for rule in &rules {
            fixed.push(match rule.split {
                Split::Together => Some(switch.open(now, port, &rule.plan)?),
                Split::Each(_) | Split::Circuits(_) => None,
            });
        }
        let rest = switch.open(now, port, &FlowPlan::default())?;
        let mut steering = Steering {
            port,
            direction,
            closed: vec![FlowCounters::default(); rules.len()],
            circuits: rules.iter().map(circuits::of).collect(),
            rules,
            fixed,
            rest,
            rule_of: Vec::new(),
            members: Vec::new(),
            by_key: BTreeMap::new(),
            free: Vec::new(),
            checks: BinaryHeap::new(),
            most,
            opened: 0,
            generation: 0,
            overflowed: 0,
        };
        steering.note_rules();
        Ok(steering)
    }

    /// Rebuilds the table of which rule every flow belongs to.
    pub(super) fn note_rules(&mut self) {
        self.rule_of.clear();
        self.note_rule(self.rest, self.rules.len());
        for rule in 0..self.rules.len() {
            if let Some(leg) = self.fixed[rule] {
                self.note_rule(leg, rule);
            }
        }
        for rule in 0..self.rules.len() {
            let members: Vec<Leg> = self.member_legs(rule).collect();
            members.into_iter().for_each(|leg| self.note_rule(leg, rule));
        }
    }

    pub(super) fn note_rule(&mut self, leg: Leg, rule: usize) {
        let (ix, rest) = (leg.flow.ix(), self.rules.len() as u32);
        if self.rule_of.len() <= ix {
            self.rule_of.resize(ix + 1, rest);
        }
        self.rule_of[ix] = rule as u32;
    }

    /// The rule that a flow at the port belongs to; `None` for the rest, and for flows whose rule was removed.
    pub fn rule_of(&self, flow: FlowIx) -> Option<usize> {
        let rule = *self.rule_of.get(flow.ix())? as usize;
        (rule < self.rules.len()).then_some(rule)
    }

    /// The flow of a packet with these headers, which is opened if need be.
    pub fn steer(&mut self, now: Time, switch: &mut Switch, headers: &Headers) -> Leg {
        self.steer_again(now, switch, headers, &mut None)
    }

    /// The flow of a packet; `None` when it could not be opened now.
    pub(super) fn find(&mut self, now: Time, switch: &mut Switch, headers: &Headers) -> Option<Cached> {
        let direction = self.direction;
        let fixed = |leg| Some(Cached { leg, member: None, generation: self.generation });
        for (ix, rule) in self.rules.iter().enumerate() {
            if !rule.matching.matches(headers, direction) {
                continue;
            }
            match &rule.split {
                Split::Together => return self.fixed[ix].and_then(fixed),
                Split::Each(each) => {
                    let key = each.key(headers, direction);
                    return match self.by_key.get(&(ix, key)) {
                        Some(at) => Some(self.touch(now, *at)),
                        None => self.open(now, switch, ix, Owner::Key(key)),
                    };
                }
                Split::Circuits(circuits) => {
                    let owner = inside(headers, direction).and_then(|inside| circuits.find(inside));
                    let Some(circuit) = owner else { continue };
                    return match self.circuits[ix][circuit as usize].member() {
                        Some(at) => Some(self.touch(now, at)),
                        None => self.open(now, switch, ix, Owner::Circuit(circuit)),
                    };
                }
            }
        }
        fixed(self.rest)
    }

    /// A packet of a member came.
    fn touch(&mut self, now: Time, at: usize) -> Cached {
        let member = &mut self.members[at];
        member.last_packet = now;
        Cached { leg: member.leg, member: Some((at, member.number)), generation: self.generation }
    }

    /// Opens a flow for its first packet.
    fn open(&mut self, now: Time, switch: &mut Switch, rule: usize, owner: Owner) -> Option<Cached> {
        self.close_idle(now, switch);
        let Rule { split, plan, idle, .. } = &self.rules[rule];
        let opened = match (owner, split) {
            (Owner::Circuit(circuit), Split::Circuits(circuits)) => {
                switch.open(now, self.port, &circuits.plan(circuit, self.direction, plan)).ok()
            }
            _ if self.by_key.len() < self.most => switch.open(now, self.port, plan).ok(),
            _ => None,
        };
        let Some(leg) = opened else {
            self.overflowed += 1;
            return None;
        };
        self.opened += 1;
        let member = Member { rule, owner, leg, last_packet: now, closed: false, number: self.opened };
        let at = match self.free.pop() {
            Some(at) => {
                self.members[at] = member;
                at
            }
            None => {
                self.members.push(member);
                self.members.len() - 1
            }
        };
        self.checks.push(Reverse((now + *idle, at)));
        match owner {
            Owner::Key(key) => _ = self.by_key.insert((rule, key), at),
            Owner::Circuit(circuit) => self.circuits[rule][circuit as usize].open(at),
        }
        self.note_rule(leg, rule);
        Some(Cached { leg, member: Some((at, self.opened)), generation: self.generation })
    }

    /// Closes flows that are idle and that the scheduler can forget. Opening a flow does the same first, so that
    /// a call every tenth of a second is enough.
    pub fn close_idle(&mut self, now: Time, switch: &mut Switch) {
        self.open_missing(now, switch);
        while let Some(Reverse((at, ix))) = self.checks.peek().copied() {
            if at > now {
                return;
            }
            self.checks.pop();
            let member = self.members[ix];
            if member.closed {
                self.free.push(ix);
                continue;
            }
            let idle = self.rules[member.rule].idle;
            let due = match switch.forgettable_at(member.leg) {
                Some(forgettable) => forgettable.max(member.last_packet + idle),
                None => now + idle, // packets are queued
            };
            if due > now {
                self.checks.push(Reverse((due, ix)));
                continue;
            }
            let counters = switch.counters(member.leg);
            self.closed[member.rule] = sum(self.closed[member.rule], counters);
            switch.close(now, member.leg);
            match member.owner {
                Owner::Key(key) => _ = self.by_key.remove(&(member.rule, key)),
                Owner::Circuit(circuit) => self.circuits[member.rule][circuit as usize].close(counters),
            }
            self.members[ix].number = 0;
            self.free.push(ix);
        }
    }

    /// The counters of a rule's flows at the port, those of closed flows included.
    pub fn counters(&self, switch: &Switch, rule: usize) -> FlowCounters {
        let before = self.closed.get(rule).copied().unwrap_or_default();
        let fixed = self.fixed.get(rule).copied().flatten();
        let legs = fixed.into_iter().chain(self.member_legs(rule));
        legs.fold(before, |total, leg| sum(total, switch.counters(leg)))
    }

    pub(super) fn member_legs(&self, rule: usize) -> impl Iterator<Item = Leg> {
        let of_keys = self.members(rule).map(|(_, leg)| leg);
        of_keys.chain(self.circuits(rule).map(|(_, leg)| leg))
    }

    /// The flows that a rule with [`Split::Each`] has at this moment, by their keys.
    pub fn members(&self, rule: usize) -> impl Iterator<Item = (Key, Leg)> {
        let members = self.by_key.range((rule, LEAST)..(rule + 1, LEAST));
        members.map(|((_, key), at)| (*key, self.members[*at].leg))
    }

    /// By how much the clock of a rule's flow is ahead of real time; of several flows, the largest lead.
    pub fn lead(&self, now: Time, switch: &Switch, rule: usize) -> Span {
        let fixed = self.fixed.get(rule).copied().flatten();
        let legs = fixed.into_iter().chain(self.member_legs(rule));
        legs.map(|leg| switch.lead(now, leg)).max().unwrap_or(Span::ZERO)
    }

    /// The flow of packets that match no rule.
    pub fn rest(&self) -> Leg {
        self.rest
    }

    /// Flows of a rule at this moment.
    pub fn flows(&self, rule: usize) -> usize {
        match self.fixed.get(rule) {
            Some(Some(_)) => 1,
            _ => self.member_legs(rule).count(),
        }
    }

    /// Packets that went with the rest since no flow could be opened for them.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }
}

/// Before every other key: the order is that of the variants, and of addresses within them.
const LEAST: Key = Key::Flow(FiveTuple::Ip {
    source: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    destination: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    ports: None,
    protocol: 0,
});

pub(super) fn sum(mut total: FlowCounters, more: FlowCounters) -> FlowCounters {
    for (total, more) in
        [(&mut total.arrived, more.arrived), (&mut total.sent, more.sent), (&mut total.dropped, more.dropped)]
    {
        total.packets += more.packets;
        total.bytes += more.bytes;
    }
    total
}
