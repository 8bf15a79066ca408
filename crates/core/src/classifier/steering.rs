//! Which flow of a port does a packet go to? By rules in their order, the first that has a flow for it.
//!
//! A rule has one flow, or makes one for each host, subscriber, 5-tuple or circuit when its first packet
//! comes. Such a flow is forgotten once it was idle for the rule's time *and* nothing would tell it from
//! a newcomer: whoever has sent ahead of what it reserved cannot shed that by a pause. What a circuit has
//! sent and lost is remembered for it.

mod again;
mod lines;
mod replan;

pub use again::Steered;

use super::circuits::Circuits;
use super::rules::{Direction, Each, Key, Match, inside};
use crate::contract::Refused;
use crate::packet::{FlowIx, Leg, PortIx};
use crate::switch::plan::FlowPlan;
use crate::switch::{FlowCounters, Switch};
use crate::units::{Span, Time};
use crate::wire::Headers;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use lines::Line;

/// Packets that are meant, and the flow that they get.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Which packets.
    pub matching: Match,
    /// What has a flow of its own.
    pub split: Split,
    /// What its flow, or every one of its flows, is at the port; circuits may say otherwise.
    pub plan: FlowPlan,
    /// How long a flow that is made at its first packet stays without packets.
    pub idle: Span,
}

/// What has a flow of its own, among the packets that a rule means.
#[derive(Clone, Debug, PartialEq)]
pub enum Split {
    /// All together have one.
    Together,
    /// Each of these.
    Each(Each),
    /// Each of these circuits. Packets of addresses that no circuit has go on to the next rule.
    Circuits(Arc<Circuits>),
}

/// Whose a flow is that was made at its first packet.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Key(Key),
    Circuit(u32),
}

/// A flow that was made at its first packet.
#[derive(Clone, Copy, Debug)]
struct Member {
    rule: usize,
    whose: Whose,
    leg: Leg,
    seen: Time,
    /// Its rule is gone, and its flow closed; its place is free at the next check.
    closed: bool,
    /// Which flow this is, counted over all that were made; 0 once it is forgotten.
    number: u64,
}

/// The rules of one port and the flows that they have there.
pub struct Steering {
    port: PortIx,
    direction: Direction,
    rules: Vec<Rule>,
    /// The flow of every rule that has one.
    fixed: Vec<Option<Leg>>,
    /// The circuits of every rule, by their numbers.
    lines: Vec<Vec<Line>>,
    /// For what no rule means.
    rest: Leg,
    /// The rule of every flow at the port, by the flow's index; one past the last rule for the rest.
    rule_of: Vec<u32>,
    members: Vec<Member>,
    by_key: BTreeMap<(usize, Key), usize>,
    free: Vec<usize>,
    /// When to see whether a member can be forgotten: one entry for each.
    checks: BinaryHeap<Reverse<(Time, usize)>>,
    most: usize,
    /// Members that were made so far.
    made: u64,
    /// How often the rules were replaced.
    plans: u64,
    /// What the forgotten members of each rule have sent and lost.
    gone: Vec<FlowCounters>,
    /// Packets for which no flow could be made.
    overflowed: u64,
}

impl Steering {
    /// Opens the flows of the rules that have one, and one for the rest, at a port. At most `most` flows
    /// are made for each of something other than circuits; beyond, their packets go with the rest.
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
            gone: vec![FlowCounters::default(); rules.len()],
            lines: rules.iter().map(lines::of).collect(),
            rules,
            fixed,
            rest,
            rule_of: Vec::new(),
            members: Vec::new(),
            by_key: BTreeMap::new(),
            free: Vec::new(),
            checks: BinaryHeap::new(),
            most,
            made: 0,
            plans: 0,
            overflowed: 0,
        };
        steering.note_rules();
        Ok(steering)
    }

    /// Writes down anew which rule every flow belongs to.
    fn note_rules(&mut self) {
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

    fn note_rule(&mut self, leg: Leg, rule: usize) {
        let (ix, rest) = (leg.flow.ix(), self.rules.len() as u32);
        if self.rule_of.len() <= ix {
            self.rule_of.resize(ix + 1, rest);
        }
        self.rule_of[ix] = rule as u32;
    }

    /// The rule that a flow at the port belongs to; `None` for the rest, and for what rules were dropped.
    pub fn rule_of(&self, flow: FlowIx) -> Option<usize> {
        let rule = *self.rule_of.get(flow.ix())? as usize;
        (rule < self.rules.len()).then_some(rule)
    }

    /// Where a packet with these headers goes; its flow is made if need be.
    pub fn steer(&mut self, now: Time, switch: &mut Switch, headers: &Headers) -> Leg {
        self.steer_again(now, switch, headers, &mut None)
    }

    /// The flow of a packet; `None` when it could not be made, and the next packet may have more luck.
    fn find(&mut self, now: Time, switch: &mut Switch, headers: &Headers) -> Option<Steered> {
        let direction = self.direction;
        let fixed = |leg| Some(Steered { leg, member: None, plans: self.plans });
        for (ix, rule) in self.rules.iter().enumerate() {
            if !rule.matching.matches(headers, direction) {
                continue;
            }
            match &rule.split {
                Split::Together => return self.fixed[ix].and_then(fixed),
                Split::Each(each) => {
                    let key = each.key(headers, direction);
                    return match self.by_key.get(&(ix, key)) {
                        Some(at) => Some(self.seen(now, *at)),
                        None => self.begin(now, switch, ix, Whose::Key(key)),
                    };
                }
                Split::Circuits(circuits) => {
                    let owner = inside(headers, direction).and_then(|inside| circuits.find(inside));
                    let Some(circuit) = owner else { continue };
                    return match self.lines[ix][circuit as usize].member() {
                        Some(at) => Some(self.seen(now, at)),
                        None => self.begin(now, switch, ix, Whose::Circuit(circuit)),
                    };
                }
            }
        }
        fixed(self.rest)
    }

    /// A packet of a member.
    fn seen(&mut self, now: Time, at: usize) -> Steered {
        let member = &mut self.members[at];
        member.seen = now;
        Steered { leg: member.leg, member: Some((at, member.number)), plans: self.plans }
    }

    /// The first packet of a member.
    fn begin(&mut self, now: Time, switch: &mut Switch, rule: usize, whose: Whose) -> Option<Steered> {
        self.forget_idle(now, switch);
        let Rule { split, plan, idle, .. } = &self.rules[rule];
        let opened = match (whose, split) {
            (Whose::Circuit(circuit), Split::Circuits(circuits)) => {
                switch.open(now, self.port, &circuits.plan(circuit, self.direction, plan)).ok()
            }
            _ if self.by_key.len() < self.most => switch.open(now, self.port, plan).ok(),
            _ => None,
        };
        let Some(leg) = opened else {
            self.overflowed += 1;
            return None;
        };
        self.made += 1;
        let member = Member { rule, whose, leg, seen: now, closed: false, number: self.made };
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
        match whose {
            Whose::Key(key) => _ = self.by_key.insert((rule, key), at),
            Whose::Circuit(circuit) => self.lines[rule][circuit as usize].begin(at),
        }
        self.note_rule(leg, rule);
        Some(Steered { leg, member: Some((at, self.made)), plans: self.plans })
    }

    /// Forgets members that are idle and like newcomers. Also done when a flow is made, so that
    /// calling it now and then is enough.
    pub fn forget_idle(&mut self, now: Time, switch: &mut Switch) {
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
                Some(forgettable) => forgettable.max(member.seen + idle),
                None => now + idle, // it still has packets there
            };
            if due > now {
                self.checks.push(Reverse((due, ix)));
                continue;
            }
            let counters = switch.counters(member.leg);
            self.gone[member.rule] = sum(self.gone[member.rule], counters);
            // It has nothing waiting: no port becomes ready.
            _ = switch.close(now, member.leg);
            match member.whose {
                Whose::Key(key) => _ = self.by_key.remove(&(member.rule, key)),
                Whose::Circuit(circuit) => self.lines[member.rule][circuit as usize].end(counters),
            }
            self.members[ix].number = 0;
            self.free.push(ix);
        }
    }

    /// What the flows of a rule have sent and lost at the port, those that are forgotten included.
    pub fn counters(&self, switch: &Switch, rule: usize) -> FlowCounters {
        let before = self.gone.get(rule).copied().unwrap_or_default();
        let fixed = self.fixed.get(rule).copied().flatten();
        let legs = fixed.into_iter().chain(self.member_legs(rule));
        legs.fold(before, |total, leg| sum(total, switch.counters(leg)))
    }

    fn member_legs(&self, rule: usize) -> impl Iterator<Item = Leg> {
        let of_keys = self.members(rule).map(|(_, leg)| leg);
        of_keys.chain(self.circuits(rule).map(|(_, leg)| leg))
    }

    /// The flows that a rule with `each` has at this moment, and whose they are.
    pub fn members(&self, rule: usize) -> impl Iterator<Item = (Key, Leg)> {
        let members = self.by_key.range((rule, LEAST)..(rule + 1, LEAST));
        members.map(|((_, key), at)| (*key, self.members[*at].leg))
    }

    /// By how much the clock of a rule's flow is ahead of real time, of several that of the one which is
    /// furthest ahead.
    pub fn lead(&self, now: Time, switch: &Switch, rule: usize) -> Span {
        let fixed = self.fixed.get(rule).copied().flatten();
        let legs = fixed.into_iter().chain(self.member_legs(rule));
        legs.map(|leg| switch.lead(now, leg)).max().unwrap_or(Span::ZERO)
    }

    /// What no rule means.
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

    /// Packets that went with the rest since no flow could be made for them.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }
}

/// Before every other key: the order is that of the variants, and of addresses within them.
const LEAST: Key = Key::Flow(super::FiveTuple::Ip {
    source: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    destination: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    ports: None,
    protocol: 0,
});

fn sum(mut total: FlowCounters, more: FlowCounters) -> FlowCounters {
    for (total, more) in
        [(&mut total.arrived, more.arrived), (&mut total.sent, more.sent), (&mut total.dropped, more.dropped)]
    {
        total.merge(more);
    }
    total.marked += more.marked;
    total
}
