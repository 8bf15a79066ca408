//! New rules for a port that has flows: what stays what it was keeps its flow, and its queue.

use super::{Rule, Steering};
use crate::packet::Leg;
use crate::switch::plan::FlowPlan;
use crate::switch::{FlowCounters, Switch};
use crate::units::Time;
use std::collections::BTreeMap;

impl Steering {
    /// The flows whose plans have to change before [`replan`](Self::replan) with the same arguments: to be
    /// given to [`Switch::reconfigure`], which takes all of them or none. `classes` is how many classes the
    /// port will have.
    pub fn changes(&self, rules: &[Rule], from: &[Option<usize>], classes: usize) -> Vec<(Leg, FlowPlan)> {
        let mut changes = Vec::new();
        for (before, after) in self.now_at(rules, from).into_iter().enumerate() {
            let plan = self.rules[before].plan;
            let wanted = match after {
                Some(after) => rules[after].plan,
                // It is closed then; until its queue is empty it has to stand somewhere.
                None if plan.class.is_some_and(|class| usize::from(class) >= classes) => FlowPlan::default(),
                None => continue,
            };
            if wanted != plan {
                changes.extend(self.legs(before).map(|leg| (leg, wanted)));
            }
        }
        changes
    }

    /// Puts new rules in the place of the old ones. `from[i]` is the old rule that the new rule `i` goes on;
    /// its flows stay as they are, to whomever its packets belong from now on. It is a new rule all the
    /// same when it has `each` and had none, or another one. Flows of rules that are not gone on with are
    /// closed: what they have queued is still sent.
    pub fn replan(
        &mut self,
        now: Time,
        switch: &mut Switch,
        rules: Vec<Rule>,
        from: &[Option<usize>],
        most: usize,
    ) {
        let now_at = self.now_at(&rules, from);
        let mut fixed = vec![None; rules.len()];
        let mut gone = vec![FlowCounters::default(); rules.len()];
        for (before, after) in now_at.iter().enumerate() {
            match *after {
                Some(after) => (fixed[after], gone[after]) = (self.fixed[before], self.gone[before]),
                None => self.legs(before).for_each(|leg| switch.close(now, leg)),
            }
        }
        // Members keep their places, so that the checks for the idle ones still find them.
        let mut by_key = BTreeMap::new();
        for ((before, key), at) in std::mem::take(&mut self.by_key) {
            match now_at[before] {
                Some(after) => {
                    self.members[at].rule = after;
                    by_key.insert((after, key), at);
                }
                None => self.members[at].closed = true,
            }
        }
        (self.rules, self.fixed, self.gone, self.by_key, self.most) = (rules, fixed, gone, by_key, most);
        self.plans += 1;
        self.note_rules();
        self.open_missing(now, switch);
    }

    /// Opens the flows that rules without `each` lack: those of new rules, and any that the scheduler had no
    /// room for before. Until it has, their packets go with the rest.
    pub(super) fn open_missing(&mut self, now: Time, switch: &mut Switch) {
        for rule in 0..self.rules.len() {
            if self.fixed[rule].is_none()
                && self.rules[rule].each.is_none()
                && let Ok(leg) = switch.open(now, self.port, &self.rules[rule].plan)
            {
                self.fixed[rule] = Some(leg);
                self.note_rule(leg, rule);
            }
        }
    }

    /// Where each old rule goes on, if it does.
    fn now_at(&self, rules: &[Rule], from: &[Option<usize>]) -> Vec<Option<usize>> {
        let mut now_at = vec![None; self.rules.len()];
        for (after, before) in from.iter().enumerate() {
            if let Some(before) = *before
                && self.rules[before].each == rules[after].each
            {
                now_at[before] = Some(after);
            }
        }
        now_at
    }

    /// The flows that a rule has at this moment.
    fn legs(&self, rule: usize) -> impl Iterator<Item = Leg> {
        self.fixed[rule].into_iter().chain(self.member_legs(rule))
    }
}
