//! Steering: the choice of a packet's flow at a port. Rules are tried in order; the first that has
//! a flow for it decides.
//!
//! A rule has one flow, or opens flows at their first packets: one for each host, subscriber,
//! 5-tuple or circuit, or one for each 5-tuple in a class of its unit. Such a flow is closed once
//! it was idle for the rule's time *and* the scheduler would treat a new flow alike: a flow that
//! has sent ahead of its reservation cannot shed that by a pause. A circuit's counters outlive its
//! flows.

use super::circuits::{self, CircuitState, sum};
use super::control::is_control;
use super::leads::Leads;
use super::owners::{LONGEST_IDLE, Owners};
use super::rule::{Rule, Split};
use super::unit::Unit;
use crate::classifier::rules::{Direction, Key, inside};
use crate::contract::Refused;
use crate::headers::Headers;
use crate::packet::{FlowIx, Leg, PortIx};
use crate::switch::plan::FlowPlan;
use crate::switch::{FlowCounters, Switch};
use crate::units::{Span, Time};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The owner of a flow that was opened by a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Unit(Unit),
    /// A conversation in the class at this place.
    Conversation(usize, Option<Key>),
    /// All packets without a flow of their own.
    Shared,
}

/// A flow that was opened by a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) rule: usize,
    pub(super) owner: Owner,
    pub(super) leg: Leg,
    pub(super) last_packet: Time,
    /// True once its rule was removed and its flow closed; its slot is free at the next check.
    pub(super) closed: bool,
    /// Serial number among all flows that were opened; 0 once it is closed.
    pub(super) number: u64,
}

/// The flow of a packet, kept for the next one with the same headers.
#[derive(Clone, Copy, Debug)]
pub struct Cached {
    pub(super) leg: Leg,
    /// The member and its number, if a packet opened the flow.
    pub(super) member: Option<(usize, u64)>,
    /// The generation of the rules that gave the flow.
    pub(super) generation: u64,
}

/// The rule of a flow, one past the last rule for the rest, and its member if a packet opened it.
#[derive(Clone, Copy, Debug)]
struct Noted {
    rule: u32,
    member: u32,
}

/// The member of a flow that no packet opened.
const NO_MEMBER: u32 = u32::MAX;

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
    /// The flow of unmatched packets that keep the link working.
    pub(super) control: Leg,
    /// The plan of both.
    pub(super) rest_plan: FlowPlan,
    /// The rule and the member of every flow at the port, by the flow's index.
    noted: Vec<Noted>,
    pub(super) members: Vec<Member>,
    pub(super) by_key: BTreeMap<(usize, Key), usize>,
    /// The member of each rule that is the flow of all packets without one of their own.
    pub(super) shared: Vec<Option<usize>>,
    /// The classes of hosts, subscribers and circuits, and the flows in them.
    pub(super) owners: Owners,
    free: Vec<usize>,
    /// Check times for closing members: one entry for each.
    checks: BinaryHeap<Reverse<(Time, usize)>>,
    pub(super) most: usize,
    /// Number of members opened so far.
    opened: u64,
    /// Number of times that the rules were replaced.
    pub(super) generation: u64,
    /// Number of open members of each rule.
    pub(super) open_of: Vec<usize>,
    /// Leads of the members.
    pub(super) leads: Leads,
    /// The counters of the closed members of each rule.
    pub(super) closed: Vec<FlowCounters>,
    /// Number of packets for which no flow of their own could be opened.
    pub(super) overflowed: u64,
}

impl Steering {
    /// Opens the flows at a port: those of the rules that have one, and two for the rest with the
    /// plan `rest`. One of these is for packets that keep the link working (ARP, neighbour
    /// discovery), the other for all others. Packets open at most `most` flows, excluding those of
    /// circuits; beyond, the packets of a rule share a flow.
    ///
    /// # Errors
    /// When the switch refuses a flow.
    pub fn new(
        now: Time,
        switch: &mut Switch,
        port: PortIx,
        direction: Direction,
        rules: Vec<Rule>,
        rest: FlowPlan,
        most: usize,
    ) -> Result<Steering, Refused> {
        let mut fixed = Vec::with_capacity(rules.len());
        for rule in &rules {
            fixed.push(match rule.split {
                Split::Together => Some(switch.open(now, port, &rule.plan)?),
                Split::Each(_) | Split::Circuits(_) => None,
            });
        }
        let rest_plan = rest;
        let [rest, control] = [switch.open(now, port, &rest_plan)?, switch.open(now, port, &rest_plan)?];
        let mut steering = Steering {
            port,
            direction,
            closed: vec![FlowCounters::default(); rules.len()],
            shared: vec![None; rules.len()],
            circuits: rules.iter().map(circuits::of).collect(),
            rules,
            fixed,
            rest,
            control,
            rest_plan,
            noted: Vec::new(),
            members: Vec::new(),
            by_key: BTreeMap::new(),
            owners: Owners::new(direction),
            free: Vec::new(),
            checks: BinaryHeap::new(),
            most,
            opened: 0,
            generation: 0,
            open_of: Vec::new(),
            leads: Leads::default(),
            overflowed: 0,
        };
        steering.note_rules();
        Ok(steering)
    }

    /// Rebuilds the table that maps every flow to its rule and its member.
    pub(super) fn note_rules(&mut self) {
        self.noted.clear();
        self.note(self.rest, self.rules.len(), None);
        self.note(self.control, self.rules.len(), None);
        for rule in 0..self.rules.len() {
            if let Some(leg) = self.fixed[rule] {
                self.note(leg, rule, None);
            }
        }
        self.open_of.clear();
        for rule in 0..self.rules.len() {
            let members: Vec<usize> = self.open_members(rule).collect();
            self.open_of.push(members.len());
            members.into_iter().for_each(|at| self.note(self.members[at].leg, rule, Some(at)));
        }
    }

    pub(super) fn note(&mut self, leg: Leg, rule: usize, member: Option<usize>) {
        let (ix, rest) = (leg.flow.ix(), self.rules.len() as u32);
        if self.noted.len() <= ix {
            self.noted.resize(ix + 1, Noted { rule: rest, member: NO_MEMBER });
        }
        self.noted[ix] = Noted { rule: rule as u32, member: member.map_or(NO_MEMBER, |at| at as u32) };
    }

    /// Returns the rule of a flow at the port; `None` for the rest, and for flows whose rule was
    /// removed.
    pub fn rule_of(&self, flow: FlowIx) -> Option<usize> {
        let rule = self.noted.get(flow.ix())?.rule as usize;
        (rule < self.rules.len()).then_some(rule)
    }

    /// The member that a flow belongs to, if a packet opened it and its rule is still there.
    pub(super) fn member_of(&self, flow: FlowIx) -> Option<&Member> {
        self.members.get(self.noted.get(flow.ix())?.member as usize)
    }

    /// Returns the flow of a packet with these headers; opens it if necessary.
    pub fn steer(&mut self, now: Time, switch: &mut Switch, headers: &Headers) -> Leg {
        self.steer_again(now, switch, headers, &mut None)
    }

    /// Finds the flow of a packet.
    ///
    /// # Errors
    /// The rule that has no flow for it, when none could be opened now.
    pub(super) fn find(
        &mut self,
        now: Time,
        switch: &mut Switch,
        headers: &Headers,
    ) -> Result<Cached, usize> {
        let direction = self.direction;
        let fixed = |leg| Cached { leg, member: None, generation: self.generation };
        for (ix, rule) in self.rules.iter().enumerate() {
            if !rule.matching.matches(headers, direction) {
                continue;
            }
            let unit = match &rule.split {
                Split::Together => return self.fixed[ix].map(fixed).ok_or(ix),
                Split::Each(each) => Unit::Key(each.key(headers, direction)),
                Split::Circuits(circuits) => {
                    match inside(headers, direction).and_then(|inside| circuits.find(inside)) {
                        Some(circuit) => Unit::Circuit(circuit),
                        None => continue,
                    }
                }
            };
            if rule.within.is_some() {
                return self.find_conversation(now, switch, headers, (ix, unit));
            }
            let member = match unit {
                Unit::Key(key) => self.by_key.get(&(ix, key)).copied(),
                Unit::Circuit(circuit) => self.circuits[ix][circuit as usize].member(),
            };
            return match member {
                Some(at) => Ok(self.touch(now, at)),
                None => self.open(now, switch, ix, Owner::Unit(unit)).ok_or(ix),
            };
        }
        Ok(fixed(if is_control(headers) { self.control } else { self.rest }))
    }

    /// Records that a packet of a member came.
    pub(super) fn touch(&mut self, now: Time, at: usize) -> Cached {
        let member = &mut self.members[at];
        member.last_packet = now;
        Cached { leg: member.leg, member: Some((at, member.number)), generation: self.generation }
    }

    /// Returns true if packets have opened as many flows as they may.
    pub(super) fn is_at_limit(&self) -> bool {
        self.by_key.len() + self.owners.flows() >= self.most
    }

    /// Opens a flow for its first packet.
    pub(super) fn open(
        &mut self,
        now: Time,
        switch: &mut Switch,
        rule: usize,
        owner: Owner,
    ) -> Option<Cached> {
        self.close_idle(now, switch);
        let plan = match owner {
            Owner::Conversation(at, conversation) => {
                let class = self.owners.class(at);
                self.owners.conversation_plan(class, at, conversation, self.rules[rule].stated_hosts())
            }
            Owner::Unit(Unit::Key(_)) if self.is_at_limit() || self.is_full(rule) => return None,
            Owner::Unit(unit) => self.rules[rule].unit_plan(Some(unit), self.direction),
            Owner::Shared => self.rules[rule].beyond.plan,
        };
        let leg = switch.open(now, self.port, &FlowPlan { transient: true, ..plan }).ok()?;
        let at = self.enlist(now, rule, owner, leg);
        match owner {
            Owner::Unit(Unit::Key(key)) => _ = self.by_key.insert((rule, key), at),
            Owner::Unit(Unit::Circuit(circuit)) => self.circuits[rule][circuit as usize].open(at),
            Owner::Conversation(place, conversation) => {
                self.owners.opened(place, conversation, at, self.rules[rule].stated_hosts());
            }
            Owner::Shared => self.shared[rule] = Some(at),
        }
        Some(Cached { leg, member: Some((at, self.opened)), generation: self.generation })
    }

    /// Adds a flow that was opened for its first packet; returns the index of its member.
    fn enlist(&mut self, now: Time, rule: usize, owner: Owner, leg: Leg) -> usize {
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
        self.checks.push(Reverse((now + self.idle(&member), at)));
        self.open_of[rule] += 1;
        self.note(leg, rule, Some(at));
        at
    }

    /// Time for which a member stays open without packets.
    fn idle(&self, member: &Member) -> Span {
        let idle = self.rules[member.rule].idle;
        if matches!(member.owner, Owner::Conversation(..)) { idle.min(LONGEST_IDLE) } else { idle }
    }

    /// Returns true if a check for idle flows is due.
    #[inline]
    pub(super) fn check_is_due(&self, now: Time) -> bool {
        self.checks.peek().is_some_and(|Reverse((at, _))| *at <= now)
    }

    /// Closes flows that are idle and that the scheduler can forget. Every packet that is steered
    /// does the same first, so the flows that it finds open depend only on the packets before it. A
    /// driver may call this for a port at which nothing is queued, where it makes no difference to
    /// them.
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
            let idle = self.idle(&member);
            let due = match self.forgettable_at(now, switch, &member) {
                Some(forgettable) => forgettable.max(member.last_packet + idle),
                None => now + idle, // packets are queued
            };
            if due > now {
                self.checks.push(Reverse((due, ix)));
                continue;
            }
            let counters = switch.counters(member.leg);
            self.closed[member.rule] = sum(self.closed[member.rule], counters);
            self.open_of[member.rule] -= 1;
            _ = switch.close(now, member.leg);
            let unit = match member.owner {
                Owner::Unit(unit) => Some(unit),
                Owner::Conversation(at, conversation) => {
                    self.owners.closed(at, conversation);
                    self.owners.owner(at).1
                }
                Owner::Shared => {
                    self.shared[member.rule] = None;
                    None
                }
            };
            match (member.owner, unit) {
                (_, Some(Unit::Circuit(circuit))) => {
                    self.circuits[member.rule][circuit as usize].close(counters);
                }
                (Owner::Unit(_), Some(Unit::Key(key))) => _ = self.by_key.remove(&(member.rule, key)),
                _ => {}
            }
            self.members[ix].number = 0;
            self.free.push(ix);
        }
    }
}
