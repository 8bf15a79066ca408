//! Which flow of a port does a packet go to? By rules in their order, the first that has a flow for it.
//!
//! A rule has one flow, or makes one for each host, subscriber, 5-tuple or circuit when its first packet
//! comes. Such a flow is forgotten once it was idle for the rule's time *and* nothing would tell it from
//! a newcomer: whoever has sent ahead of what it reserved cannot shed that by a pause. What a circuit has
//! sent and lost is remembered for it.

use super::circuits::Circuits;
use super::rules::{self, Direction, Each, Key, Match};
use crate::contract::Refused;
use crate::packet::{Leg, PortIx};
use crate::switch::plan::FlowPlan;
use crate::switch::{FlowCounters, Switch};
use crate::units::{Span, Time};
use crate::wire::Headers;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// Packets that are meant, and the flows that they get.
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
}

/// What is kept of a circuit, whether it has a flow or not.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its flow, as an index into the members; [`NONE`] for none.
    member: u32,
    /// What its forgotten flows have sent and lost.
    gone: FlowCounters,
}

const NONE: u32 = u32::MAX;

/// The rules of one port and the flows that they have there.
pub struct Steering {
    port: PortIx,
    direction: Direction,
    rules: Vec<Rule>,
    /// The flow of every rule that has one.
    fixed: Vec<Option<Leg>>,
    /// The circuits of every rule, by number.
    lines: Vec<Vec<Line>>,
    /// For what no rule means.
    rest: Leg,
    members: Vec<Member>,
    by_key: BTreeMap<(usize, Key), usize>,
    free: Vec<usize>,
    /// When to see whether a member can be forgotten: one entry for each.
    checks: BinaryHeap<Reverse<(Time, usize)>>,
    most: usize,
    /// Members of each rule.
    present: Vec<usize>,
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
        let idle = Line { member: NONE, gone: FlowCounters::default() };
        let lines = rules.iter().map(|rule| match &rule.split {
            Split::Circuits(circuits) => vec![idle; circuits.len()],
            Split::Together | Split::Each(_) => Vec::new(),
        });
        Ok(Steering {
            port,
            direction,
            lines: lines.collect(),
            present: vec![0; rules.len()],
            gone: vec![FlowCounters::default(); rules.len()],
            rules,
            fixed,
            rest,
            members: Vec::new(),
            by_key: BTreeMap::new(),
            free: Vec::new(),
            checks: BinaryHeap::new(),
            most,
            overflowed: 0,
        })
    }

    /// Where a packet with these headers goes; its flow is made if need be.
    pub fn steer(&mut self, now: Time, switch: &mut Switch, headers: &Headers) -> Leg {
        let direction = self.direction;
        for (ix, rule) in self.rules.iter().enumerate() {
            if !rule.matching.matches(headers, direction) {
                continue;
            }
            match &rule.split {
                Split::Together => return self.fixed[ix].unwrap_or(self.rest),
                Split::Each(each) => {
                    let key = each.key(headers, direction);
                    return match self.by_key.get(&(ix, key)) {
                        Some(at) => self.seen(now, *at),
                        None => self.begin(now, switch, ix, Whose::Key(key)),
                    };
                }
                Split::Circuits(circuits) => {
                    let inside = rules::inside(headers, direction);
                    let Some(circuit) = inside.and_then(|inside| circuits.find(inside)) else { continue };
                    return match self.lines[ix][circuit as usize].member {
                        NONE => self.begin(now, switch, ix, Whose::Circuit(circuit)),
                        at => self.seen(now, at as usize),
                    };
                }
            }
        }
        self.rest
    }

    fn seen(&mut self, now: Time, at: usize) -> Leg {
        let member = &mut self.members[at];
        member.seen = now;
        member.leg
    }

    /// Makes a flow at its first packet.
    fn begin(&mut self, now: Time, switch: &mut Switch, ix: usize, whose: Whose) -> Leg {
        self.forget_idle(now, switch);
        let Rule { split, plan, idle, .. } = &self.rules[ix];
        let opened = match (whose, split) {
            (Whose::Circuit(circuit), Split::Circuits(circuits)) => {
                switch.open(now, self.port, &circuits.plan(circuit, self.direction, plan)).ok()
            }
            _ if self.by_key.len() < self.most => switch.open(now, self.port, plan).ok(),
            _ => None,
        };
        let Some(leg) = opened else {
            self.overflowed += 1;
            return self.rest;
        };
        let member = Member { rule: ix, whose, leg, seen: now };
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
        self.present[ix] += 1;
        match whose {
            Whose::Key(key) => _ = self.by_key.insert((ix, key), at),
            Whose::Circuit(circuit) => self.lines[ix][circuit as usize].member = at as u32,
        }
        leg
    }

    /// Forgets members that are idle and like newcomers. Also done when a flow is made, so that
    /// calling it now and then is enough.
    pub fn forget_idle(&mut self, now: Time, switch: &mut Switch) {
        while let Some(Reverse((at, ix))) = self.checks.peek().copied() {
            if at > now {
                return;
            }
            self.checks.pop();
            let Member { rule, whose, leg, seen } = self.members[ix];
            let idle = self.rules[rule].idle;
            let due = match switch.forgettable_at(leg) {
                Some(forgettable) => forgettable.max(seen + idle),
                None => now + idle, // it still has packets there
            };
            if due > now {
                self.checks.push(Reverse((due, ix)));
                continue;
            }
            let counters = switch.counters(leg);
            switch.close(now, leg);
            self.gone[rule] = sum(self.gone[rule], counters);
            self.present[rule] -= 1;
            self.free.push(ix);
            match whose {
                Whose::Key(key) => _ = self.by_key.remove(&(rule, key)),
                Whose::Circuit(circuit) => {
                    let line = &mut self.lines[rule][circuit as usize];
                    *line = Line { member: NONE, gone: sum(line.gone, counters) };
                }
            }
        }
    }

    /// What the flows of a rule have sent and lost at the port, those that are forgotten included.
    pub fn counters(&self, switch: &Switch, rule: usize) -> FlowCounters {
        let before = self.gone.get(rule).copied().unwrap_or_default();
        let fixed = self.fixed.get(rule).copied().flatten();
        let of_keys = self.by_key.range((rule, LEAST)..(rule + 1, LEAST)).map(|(_, at)| *at);
        let lines = self.lines.get(rule).map(Vec::as_slice).unwrap_or_default();
        let of_lines = lines.iter().filter(|line| line.member != NONE).map(|line| line.member as usize);
        let members = of_keys.chain(of_lines).map(|at| self.members[at].leg);
        fixed.into_iter().chain(members).fold(before, |total, leg| sum(total, switch.counters(leg)))
    }

    /// What a circuit of a rule has sent and lost at the port; zeros for one that is not there.
    pub fn circuit_counters(&self, switch: &Switch, rule: usize, circuit: u32) -> FlowCounters {
        let Some(line) = self.lines.get(rule).and_then(|lines| lines.get(circuit as usize)) else {
            return FlowCounters::default();
        };
        match self.circuit_leg(rule, circuit) {
            Some(leg) => sum(line.gone, switch.counters(leg)),
            None => line.gone,
        }
    }

    /// The flow that a circuit of a rule has at this moment.
    pub fn circuit_leg(&self, rule: usize, circuit: u32) -> Option<Leg> {
        let line = self.lines.get(rule)?.get(circuit as usize)?;
        self.members.get(line.member as usize).map(|member| member.leg)
    }

    /// What no rule means.
    pub fn rest(&self) -> Leg {
        self.rest
    }

    /// Flows of a rule at this moment.
    pub fn flows(&self, rule: usize) -> usize {
        match self.fixed.get(rule) {
            Some(Some(_)) => 1,
            _ => self.present.get(rule).copied().unwrap_or_default(),
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
        total.packets += more.packets;
        total.bytes += more.bytes;
    }
    total
}
