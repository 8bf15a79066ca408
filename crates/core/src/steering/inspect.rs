//! The current flows of rules and circuits, and their sent and lost packets.

use super::circuits::{CircuitState, sum};
use super::flows::{Owner, Steering};
use super::unit::{LEAST, Unit};
use crate::classifier::rules::Key;
use crate::packet::{FlowIx, Leg};
use crate::switch::{FlowCounters, Switch};
use crate::units::{Span, Time};
use alloc::vec;
use alloc::vec::Vec;

/// The packets of a rule that have a flow of their own at a port, or share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowOwner {
    /// All packets of the rule.
    Rule,
    /// Those of a host, a subscriber or a 5-tuple; also if each of its conversations has a flow.
    Key(Key),
    /// Those of the circuit with this number; also if each of its conversations has a flow.
    Circuit(u32),
    /// Those for which no flow of their own could be opened.
    Shared,
}

impl Steering {
    /// The counters of a rule's flows at the port, including closed flows.
    pub fn counters(&self, switch: &Switch, rule: usize) -> FlowCounters {
        let before = self.closed.get(rule).copied().unwrap_or_default();
        let fixed = self.fixed.get(rule).copied().flatten();
        let legs = fixed.into_iter().chain(self.member_legs(rule));
        legs.fold(before, |total, leg| sum(total, switch.counters(leg)))
    }

    fn member_legs(&self, rule: usize) -> impl Iterator<Item = Leg> {
        self.open_members(rule).map(|at| self.members[at].leg)
    }

    /// The members of a rule.
    pub(super) fn open_members(&self, rule: usize) -> impl Iterator<Item = usize> {
        self.all_members(rule).chain(self.shared.get(rule).copied().flatten())
    }

    /// The members of a rule, except the one that packets without a flow of their own share.
    fn all_members(&self, rule: usize) -> impl Iterator<Item = usize> {
        let of_keys = self.by_key.range((rule, LEAST)..(rule + 1, LEAST)).map(|(_, at)| *at);
        let circuits = self.circuits.get(rule).map(Vec::as_slice).unwrap_or_default();
        let of_circuits = circuits.iter().filter_map(CircuitState::member);
        of_keys.chain(of_circuits).chain(self.owners.all_of(rule).map(|(_, _, at)| at))
    }

    /// The current flows of a rule with [`Split::Each`](super::Split::Each), by their keys; of
    /// conversations beyond the greatest number, by that of their unit.
    pub fn members(&self, rule: usize) -> impl Iterator<Item = (Key, Leg)> {
        let members = self.by_key.range((rule, LEAST)..(rule + 1, LEAST));
        let members = members.map(|((_, key), at)| (*key, *at));
        let conversations = self.owners.all_of(rule).filter_map(|(unit, key, at)| match unit {
            Unit::Key(own) => Some((key.unwrap_or(own), at)),
            Unit::Circuit(_) => None,
        });
        members.chain(conversations).map(|(key, at)| (key, self.members[at].leg))
    }

    /// Returns the rule of a flow at the port, and whose packets it has; `None` for the rest, and for
    /// flows whose rule or whose circuit was removed.
    pub fn owner_of(&self, flow: FlowIx) -> Option<(usize, FlowOwner)> {
        let rule = self.rule_of(flow)?;
        let of_unit = |unit| match unit {
            Unit::Key(key) => FlowOwner::Key(key),
            Unit::Circuit(circuit) => FlowOwner::Circuit(circuit),
        };
        let owner = match self.member_of(flow).map(|member| member.owner) {
            None => FlowOwner::Rule,
            Some(Owner::Unit(unit)) => of_unit(unit),
            Some(Owner::Conversation(at, _)) => of_unit(self.owners.owner(at).1?),
            Some(Owner::Shared) => FlowOwner::Shared,
        };
        Some((rule, owner))
    }

    /// Lead of the clock of a rule's flow over real time. For flows that packets have opened, the
    /// largest lead seen in the latest round of [`look_at_leads`](Self::look_at_leads).
    pub fn lead(&self, now: Time, switch: &Switch, rule: usize) -> Span {
        match self.fixed.get(rule).copied().flatten() {
            Some(leg) => switch.lead(now, leg),
            None => self.leads.of(rule),
        }
    }

    /// Looks at the leads of `most` flows that packets have opened, in turn: a report does not look
    /// at all of them.
    pub fn look_at_leads(&mut self, now: Time, switch: &Switch, most: usize) {
        let rules = self.rules.len();
        self.leads.growing.resize(rules, Span::ZERO);
        for _ in 0..most.min(self.members.len()) {
            let member = &self.members[self.leads.next];
            if member.number > 0 && !member.closed {
                let seen = &mut self.leads.growing[member.rule];
                let lead = match member.owner {
                    Owner::Conversation(at, _) => switch.class_lead(now, self.port, self.owners.class(at)),
                    Owner::Unit(_) | Owner::Shared => switch.lead(now, member.leg),
                };
                *seen = lead.max(*seen);
            }
            self.leads.next += 1;
            if self.leads.next == self.members.len() {
                self.leads.next = 0;
                self.leads.latest = core::mem::replace(&mut self.leads.growing, vec![Span::ZERO; rules]);
            }
        }
    }

    /// The flow of packets that match no rule, except those that keep the link working.
    pub fn rest(&self) -> Leg {
        self.rest
    }

    /// The flow of packets that match no rule and keep the link working.
    pub fn control(&self) -> Leg {
        self.control
    }

    /// The counters of all packets that match no rule.
    pub fn unmatched(&self, switch: &Switch) -> FlowCounters {
        sum(switch.counters(self.rest), switch.counters(self.control))
    }

    /// Number of current flows of a rule.
    pub fn flows(&self, rule: usize) -> usize {
        match self.fixed.get(rule) {
            Some(Some(_)) => 1,
            _ => self.open_of.get(rule).copied().unwrap_or(0),
        }
    }

    /// Packets that went with others of their rule, or with the rest, because no flow could be
    /// opened for them.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// The counters of a circuit of a rule at the port, including its closed flows; zeros for a
    /// number that no circuit has.
    pub fn circuit_counters(&self, switch: &Switch, rule: usize, circuit: u32) -> FlowCounters {
        let state = self.circuits.get(rule).and_then(|circuits| circuits.get(circuit as usize));
        let closed = state.map(|state| state.closed).unwrap_or_default();
        self.circuit_legs(rule, circuit).fold(closed, |total, leg| sum(total, switch.counters(leg)))
    }

    /// The current flow of a circuit of a rule, or those of its conversations.
    pub fn circuit_legs(&self, rule: usize, circuit: u32) -> impl Iterator<Item = Leg> {
        let state = self.circuits.get(rule).and_then(|circuits| circuits.get(circuit as usize));
        let conversations = self.owners.flows_of(rule, Unit::Circuit(circuit)).map(|(_, at)| at);
        let members = state.and_then(CircuitState::member).into_iter().chain(conversations);
        members.map(|at| self.members[at].leg)
    }
}
