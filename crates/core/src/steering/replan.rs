//! Replacement of the rules of a port that has flows: a rule that continues keeps its flows and
//! their queues.

use super::circuits::{self, CircuitState, sum};
use super::flows::{Member, Owner, Steering};
use super::leads::Leads;
use super::rule::{Rule, Split};
use super::unit::{Continued, Unit};
use crate::packet::Leg;
use crate::switch::plan::{ClassPlan, FlowPlan};
use crate::switch::{FlowCounters, Switch};
use crate::units::Time;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

impl Steering {
    /// Returns the flows whose plans [`Switch::reconfigure`] has to change before
    /// [`replan`](Self::replan) with the same arguments, which takes all of them or none. `classes`
    /// are those of the port by its plan; the classes of owners that continue are added behind
    /// them.
    pub fn changes(
        &self,
        rules: &[Rule],
        from: &[Option<usize>],
        rest: FlowPlan,
        classes: &mut Vec<ClassPlan>,
    ) -> Vec<(Leg, FlowPlan)> {
        let mut changes = Vec::new();
        let continued = self.continued(rules, from);
        let planned = classes.len();
        let mut class_of = BTreeMap::new();
        for (at, rule, unit) in self.owners.continuing(&continued) {
            class_of.insert(at, classes.len() as u16);
            classes.extend(rules[rule].owner_class(unit, self.direction));
        }
        for member in self.members.iter().filter(|member| member.number > 0 && !member.closed) {
            let Owner::Conversation(at, conversation) = member.owner else { continue };
            let class = class_of.get(&at).copied();
            if class != Some(self.owners.class(at)) {
                // Without a class it will be closed; until its queue is empty it needs a place in
                // the tree.
                let hosts = self.rules[member.rule].stated_hosts();
                let plan = |class| self.owners.conversation_plan(class, at, conversation, hosts);
                changes.push((member.leg, class.map_or_else(FlowPlan::default, plan)));
            }
        }
        if rest != self.rest_plan {
            changes.extend([(self.rest, rest), (self.control, rest)]);
        }
        for (before, after) in continued.rules.iter().copied().enumerate() {
            let old = &self.rules[before];
            let next = after.map(|after| &rules[after]);
            let mut change = |leg: Leg, plan: FlowPlan, wanted: Option<FlowPlan>| {
                let wanted = match wanted {
                    Some(wanted) => wanted,
                    // It will be closed; until its queue is empty it needs a place in the tree.
                    None if plan.class.is_some_and(|class| usize::from(class) >= planned) => {
                        FlowPlan::default()
                    }
                    None => return,
                };
                if wanted != plan {
                    let transient = old.split != Split::Together;
                    changes.push((leg, FlowPlan { transient, ..wanted }));
                }
            };
            if let Some(leg) = self.shared_leg(before) {
                change(leg, old.beyond.plan, next.map(|next| next.beyond.plan));
            }
            if old.within.is_none() {
                for leg in self.own_legs(before).collect::<Vec<_>>() {
                    change(leg, old.plan, next.map(|next| next.plan));
                }
            }
            for (state, number) in self.circuits[before].iter().zip(0..) {
                let Some(at) = state.member() else { continue };
                let plan = old.unit_plan(Some(Unit::Circuit(number)), self.direction);
                let unit = continued.unit(before, Unit::Circuit(number));
                let wanted = next.zip(unit).map(|(next, unit)| next.unit_plan(Some(unit), self.direction));
                change(self.members[at].leg, plan, wanted);
            }
        }
        changes
    }

    /// Replaces the rules. `from[i]` is the old rule that the new rule `i` continues: its flows
    /// stay open. A rule whose [`Split`] is of another kind, or that has or has no flows for
    /// conversations unlike the old one, or by host, continues nothing. The flows of old
    /// rules without a continuation are closed; their queued packets are still sent. Circuits are
    /// continued by name, with their counters.
    pub fn replan(
        &mut self,
        now: Time,
        switch: &mut Switch,
        rules: Vec<Rule>,
        from: &[Option<usize>],
        rest: FlowPlan,
        most: usize,
    ) {
        let continued = self.continued(&rules, from);
        let parent = |class| switch.class_plan(self.port, class).and_then(|class: &ClassPlan| class.parent);
        let places = self.owners.follow(&continued, switch.classes(self.port), parent);
        let mut fixed = vec![None; rules.len()];
        let mut closed = vec![FlowCounters::default(); rules.len()];
        for (before, after) in continued.rules.iter().enumerate() {
            match *after {
                Some(after) => (fixed[after], closed[after]) = (self.fixed[before], self.closed[before]),
                None => self.fixed[before].into_iter().for_each(|leg| _ = switch.close(now, leg)),
            }
        }
        // Members keep their indexes: the checks for idle ones refer to them.
        let mut by_key = BTreeMap::new();
        for ((before, key), at) in core::mem::take(&mut self.by_key) {
            match continued.rules[before] {
                Some(after) => {
                    self.members[at].rule = after;
                    by_key.insert((after, key), at);
                }
                None => self.close_member(now, switch, at),
            }
        }
        for at in 0..self.members.len() {
            let Member { rule, owner, leg, closed: false, number: 1.., .. } = self.members[at] else {
                continue;
            };
            let Owner::Conversation(place, conversation) = owner else { continue };
            match places[place].map(|place| (place, self.owners.owner(place))) {
                Some((place, (after, Some(_)))) => {
                    self.members[at].rule = after;
                    self.members[at].owner = Owner::Conversation(place, conversation);
                }
                _ => {
                    if let Some(after) = continued.rules[rule] {
                        closed[after] = sum(closed[after], switch.counters(leg));
                    }
                    self.close_member(now, switch, at);
                }
            }
        }
        let mut shared = vec![None; rules.len()];
        for (before, at) in core::mem::take(&mut self.shared).into_iter().enumerate() {
            let Some(at) = at else { continue };
            match continued.rules[before] {
                Some(after) => {
                    self.members[at].rule = after;
                    shared[after] = Some(at);
                }
                None => self.close_member(now, switch, at),
            }
        }
        let mut circuits: Vec<Vec<CircuitState>> = rules.iter().map(circuits::of).collect();
        for (before, after) in continued.rules.iter().enumerate() {
            for (number, state) in core::mem::take(&mut self.circuits[before]).into_iter().enumerate() {
                match (*after, continued.circuits[before][number], state.member()) {
                    (Some(after), Some(number), member) => {
                        circuits[after][number as usize] = state;
                        if let Some(at) = member {
                            self.members[at].rule = after;
                            self.members[at].owner = Owner::Unit(Unit::Circuit(number));
                        }
                    }
                    (after, _, Some(at)) => {
                        if let Some(after) = after {
                            closed[after] = sum(closed[after], switch.counters(self.members[at].leg));
                        }
                        self.close_member(now, switch, at);
                    }
                    (_, _, None) => {}
                }
            }
        }
        (self.rules, self.fixed, self.closed, self.by_key, self.most) = (rules, fixed, closed, by_key, most);
        (self.circuits, self.shared, self.rest_plan) = (circuits, shared, rest);
        self.generation += 1;
        self.leads = Leads::default();
        self.note_rules();
        self.open_missing(now, switch);
    }

    /// Opens the missing flows of rules with [`Split::Together`]: those of new rules, and those
    /// that the scheduler had no room for before. Until then their packets go with the rest.
    pub(super) fn open_missing(&mut self, now: Time, switch: &mut Switch) {
        for rule in 0..self.rules.len() {
            if self.fixed[rule].is_none()
                && self.rules[rule].split == Split::Together
                && let Ok(leg) = switch.open(now, self.port, &self.rules[rule].plan)
            {
                self.fixed[rule] = Some(leg);
                self.note(leg, rule, None);
            }
        }
    }

    /// Returns what continues each old rule and each of its circuits.
    fn continued(&self, rules: &[Rule], from: &[Option<usize>]) -> Continued {
        let mut continued_by = vec![None; self.rules.len()];
        for (after, before) in from.iter().enumerate() {
            if let Some(before) = *before
                && continues(&self.rules[before], &rules[after])
            {
                continued_by[before] = Some(after);
            }
        }
        let renumbered = |(before, after): (&Rule, &Option<usize>)| match (
            &before.split,
            after.map(|after| &rules[after].split),
        ) {
            (Split::Circuits(before), Some(Split::Circuits(after))) => before.renumbered(after),
            (Split::Circuits(before), _) => vec![None; before.len()],
            _ => Vec::new(),
        };
        let circuits = self.rules.iter().zip(&continued_by).map(renumbered).collect();
        Continued { rules: continued_by, circuits }
    }

    /// Closes a member's flow; its slot is free at the next check.
    fn close_member(&mut self, now: Time, switch: &mut Switch, at: usize) {
        _ = switch.close(now, self.members[at].leg);
        self.members[at].closed = true;
    }

    /// The flow of a rule that has one, or those of its hosts, subscribers or 5-tuples.
    fn own_legs(&self, rule: usize) -> impl Iterator<Item = Leg> {
        self.fixed[rule].into_iter().chain(self.members(rule).map(|(_, leg)| leg))
    }
}

/// Returns true if the same units have flows, or classes; circuits are compared by name later.
fn continues(before: &Rule, after: &Rule) -> bool {
    let circuits = |rule: &Rule| matches!(rule.split, Split::Circuits(_));
    before.within.is_some() == after.within.is_some()
        && before.stated_hosts() == after.stated_hosts()
        && (before.split == after.split || circuits(before) && circuits(after))
}
