//! The current flows of rules and circuits, and their sent and lost packets.

use super::circuits::sum;
use super::flows::Steering;
use crate::classifier::FiveTuple;
use crate::classifier::rules::Key;
use crate::packet::Leg;
use crate::switch::{FlowCounters, Switch};
use crate::units::{Span, Time};

impl Steering {
    /// The counters of a rule's flows at the port, including closed flows.
    pub fn counters(&self, switch: &Switch, rule: usize) -> FlowCounters {
        let before = self.closed.get(rule).copied().unwrap_or_default();
        let fixed = self.fixed.get(rule).copied().flatten();
        let legs = fixed.into_iter().chain(self.member_legs(rule));
        legs.fold(before, |total, leg| sum(total, switch.counters(leg)))
    }

    pub(super) fn member_legs(&self, rule: usize) -> impl Iterator<Item = Leg> {
        let of_keys = self.members(rule).map(|(_, leg)| leg);
        of_keys.chain(self.circuits(rule).map(|(_, leg)| leg)).chain(self.shared_leg(rule))
    }

    /// The current flows of a rule with [`Split::Each`](super::Split::Each), by their keys.
    pub fn members(&self, rule: usize) -> impl Iterator<Item = (Key, Leg)> {
        let members = self.by_key.range((rule, LEAST)..(rule + 1, LEAST));
        members.map(|((_, key), at)| (*key, self.members[*at].leg))
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
                *seen = switch.lead(now, member.leg).max(*seen);
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

    /// The circuits of a rule that have a flow now, by their numbers.
    pub fn circuits(&self, rule: usize) -> impl Iterator<Item = (u32, Leg)> {
        let circuits = self.circuits.get(rule).map(Vec::as_slice).unwrap_or_default();
        circuits
            .iter()
            .zip(0..)
            .filter_map(|(state, circuit)| Some((circuit, self.members[state.member()?].leg)))
    }

    /// The counters of a circuit of a rule at the port, including its closed flows; zeros for a
    /// number that no circuit has.
    pub fn circuit_counters(&self, switch: &Switch, rule: usize, circuit: u32) -> FlowCounters {
        let state = self.circuits.get(rule).and_then(|circuits| circuits.get(circuit as usize));
        let closed = state.map(|state| state.closed).unwrap_or_default();
        self.circuit_leg(rule, circuit).map_or(closed, |leg| sum(closed, switch.counters(leg)))
    }

    /// The current flow of a circuit of a rule.
    pub fn circuit_leg(&self, rule: usize, circuit: u32) -> Option<Leg> {
        let at = self.circuits.get(rule)?.get(circuit as usize)?.member()?;
        Some(self.members[at].leg)
    }
}

/// Less than every other key: the order is that of the variants, and of addresses within them.
const LEAST: Key = Key::Flow(FiveTuple::Ip {
    source: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    destination: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    ports: None,
    protocol: 0,
});
