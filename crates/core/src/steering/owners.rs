//! The classes of hosts and subscribers whose conversations have a flow each
//! ([`Split::Conversations`]).
//!
//! An owner gets a class at the port at its first packet. The class is given to another owner of
//! the same rule once the first has no flow and the scheduler above would treat a new class alike.
//! An owner that has sent ahead of its reservation does not shed that by a pause.

use super::rule::{Conversations, Rule, Split};
use crate::classifier::rules::Key;
use crate::packet::PortIx;
use crate::switch::Switch;
use crate::switch::plan::{ClassPlan, FlowPlan};
use crate::units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Greatest number of an owner's conversations with a flow each, as many as the queues of FQ-CoDel
/// (RFC 8290, section 5.2.4); conversations beyond it share one.
pub(super) const MAX_CONVERSATIONS: usize = 1024;

/// A class, and its owner.
struct OwnerClass {
    rule: usize,
    key: Key,
    /// Its index at the port.
    class: u16,
    /// Number of open flows in it.
    flows: usize,
    /// True if it is among the vacant ones.
    listed: bool,
}

/// The classes of all owners at a port.
#[derive(Default)]
pub(super) struct Owners {
    classes: Vec<OwnerClass>,
    by_key: BTreeMap<(usize, Key), usize>,
    /// Number of classes of each rule.
    count: BTreeMap<usize, usize>,
    /// The classes of each rule whose last flow was closed, in that order; a flow may have been
    /// opened in some since.
    vacant: BTreeMap<usize, VecDeque<usize>>,
}

impl Owners {
    /// Returns the place of an owner's class. An owner without one gets a vacant class now, or a
    /// new one if `may_open`. `None` if it gets none, or if the switch refuses it.
    pub(super) fn place(
        &mut self,
        now: Time,
        switch: &mut Switch,
        port: PortIx,
        (rule, key): (usize, Key),
        plan: &ClassPlan,
        may_open: bool,
    ) -> Option<usize> {
        if let Some(at) = self.by_key.get(&(rule, key)) {
            return Some(*at);
        }
        let at = match self.take_vacant(now, switch, port, rule) {
            Some(at) => {
                let before = &mut self.classes[at];
                self.by_key.remove(&(rule, before.key));
                before.key = key;
                at
            }
            None if !may_open => return None,
            None => {
                let class = switch.open_class(now, port, plan).ok()?;
                *self.count.entry(rule).or_default() += 1;
                self.classes.push(OwnerClass { rule, key, class, flows: 0, listed: false });
                self.classes.len() - 1
            }
        };
        self.by_key.insert((rule, key), at);
        Some(at)
    }

    /// Number of classes of a rule, including those of owners without a flow.
    pub(super) fn of(&self, rule: usize) -> usize {
        self.count.get(&rule).copied().unwrap_or(0)
    }

    /// Takes a class of the rule that has no flow and is like a new one. Looks at one vacant class.
    fn take_vacant(&mut self, now: Time, switch: &Switch, port: PortIx, rule: usize) -> Option<usize> {
        let vacant = self.vacant.get_mut(&rule)?;
        let at = vacant.pop_front()?;
        let first = &mut self.classes[at];
        first.listed = false;
        if first.flows > 0 {
            return None;
        }
        if switch.class_forgettable_at(now, port, first.class).is_some_and(|at| at <= now) {
            return Some(at);
        }
        first.listed = true;
        vacant.push_back(at);
        None
    }

    /// Returns the class at a place, and the number of open flows in it.
    pub(super) fn at(&self, at: usize) -> (u16, usize) {
        let OwnerClass { class, flows, .. } = self.classes[at];
        (class, flows)
    }

    /// Counts a flow that was opened in the class at a place.
    pub(super) fn opened(&mut self, at: usize) {
        self.classes[at].flows += 1;
    }

    /// Counts a flow that was closed in the class at a place.
    pub(super) fn closed(&mut self, at: usize) {
        self.classes[at].flows -= 1;
        self.leave_if_empty(at);
    }

    /// Marks the class at a place vacant if no flow is open in it.
    pub(super) fn leave_if_empty(&mut self, at: usize) {
        let OwnerClass { rule, flows, listed, .. } = &mut self.classes[at];
        if *flows == 0 && !*listed {
            *listed = true;
            self.vacant.entry(*rule).or_default().push_back(at);
        }
    }

    /// Lists the classes that continue under new rules, in their order: the place of each, and its
    /// new rule. `continued_by` maps each old rule to the new one that continues it.
    pub(super) fn continuing(&self, continued_by: &[Option<usize>]) -> impl Iterator<Item = (usize, usize)> {
        let classes = self.classes.iter().enumerate();
        classes.filter_map(|(at, class)| Some((at, continued_by[class.rule]?)))
    }

    /// Renumbers the classes after a reload: the port has `count` classes, and those that continue
    /// are the last. Returns each class's new place.
    pub(super) fn follow(&mut self, continued_by: &[Option<usize>], count: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; self.classes.len()];
        let continuing: Vec<_> = self.continuing(continued_by).collect();
        let planned = count.saturating_sub(continuing.len());
        let mut classes = Vec::with_capacity(continuing.len());
        for (before, rule) in continuing {
            places[before] = Some(classes.len());
            let OwnerClass { key, flows, .. } = self.classes[before];
            let class = (planned + classes.len()) as u16;
            classes.push(OwnerClass { rule, key, class, flows, listed: false });
        }
        self.by_key = classes.iter().enumerate().map(|(at, class)| ((class.rule, class.key), at)).collect();
        self.count.clear();
        classes.iter().for_each(|class| *self.count.entry(class.rule).or_default() += 1);
        self.classes = classes;
        let vacant = core::mem::take(&mut self.vacant);
        vacant.into_values().flatten().filter_map(|at| places[at]).for_each(|at| self.leave_if_empty(at));
        places
    }
}

impl Conversations {
    /// Plans the class of an owner under a rule whose flows have this plan.
    pub(super) fn class(&self, plan: &FlowPlan) -> ClassPlan {
        ClassPlan {
            parent: plan.class,
            contract: plan.contract,
            ceiling: plan.ceiling,
            dropper: self.dropper.clone(),
            ..ClassPlan::new(self.scheduler.clone())
        }
    }

    /// Plans the flow of a conversation in a class.
    pub(super) fn flow(class: u16) -> FlowPlan {
        FlowPlan { class: Some(class), transient: true, ..FlowPlan::default() }
    }
}

impl Rule {
    /// Returns the plan of each owner's class, if conversations have flows of their own.
    pub(super) fn owner_class(&self) -> Option<ClassPlan> {
        match &self.split {
            Split::Conversations(_, conversations) => Some(conversations.class(&self.plan)),
            Split::Together | Split::Each(_) | Split::Circuits(_) => None,
        }
    }
}
