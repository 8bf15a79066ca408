//! The classes of hosts, subscribers and circuits whose conversations have a flow each
//! ([`Rule::within`]).
//!
//! An owner gets a class at the port at its first packet. The class is given to another owner of
//! the same rule, in the same class of the port, once the first has no flow and the scheduler above
//! would treat a new class alike. An owner that has sent ahead of its reservation does not shed
//! that by a pause.

use super::hosts::Hosts;
use super::rule::{Conversations, Rule, Split, StatedHosts};
use super::unit::{Continued, LEAST, Unit};
use crate::classifier::rules::{Direction, Key};
use crate::contract::Contract;
use crate::packet::PortIx;
use crate::switch::Switch;
use crate::switch::plan::{ClassPlan, FlowPlan};
use crate::units::{Span, Time};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// Longest time for which a conversation stays open without packets. CoDel has forgotten its drops
/// by then: it looks back for 16 intervals of 100 ms.
pub(super) const LONGEST_IDLE: Span = Span::from_secs(2);

/// A class, its owner, and the owner's conversations.
struct OwnerClass {
    rule: usize,
    /// `None` for a circuit that is no longer listed.
    unit: Option<Unit>,
    /// Its index at the port.
    class: u16,
    /// The class of the port that it is in.
    parent: Option<u16>,
    /// The member of each conversation; `None` stands for all that have no flow of their own.
    flows: BTreeMap<Option<Key>, usize>,
    /// True if it is among the vacant ones.
    listed: bool,
}

/// The classes of all owners at a port.
pub(super) struct Owners {
    classes: Vec<OwnerClass>,
    by_unit: BTreeMap<(usize, Unit), usize>,
    /// Number of classes of each rule.
    count: BTreeMap<usize, usize>,
    /// Number of open flows in all classes.
    flows: usize,
    /// The classes of each rule in each class of the port whose last flow was closed, in that
    /// order; a flow may have been opened in some since.
    vacant: BTreeMap<(usize, Option<u16>), VecDeque<usize>>,
    /// The hosts inside and outside in the classes of rules that tell them apart.
    hosts: Hosts,
    peers: Hosts,
}

impl Owners {
    pub(super) fn new(direction: Direction) -> Owners {
        Owners {
            classes: Vec::new(),
            by_unit: BTreeMap::new(),
            count: BTreeMap::new(),
            flows: 0,
            vacant: BTreeMap::new(),
            hosts: Hosts::new(direction),
            peers: Hosts::new(direction.opposite()),
        }
    }

    /// Returns the place of a unit's class, if it has one.
    #[inline]
    pub(super) fn find(&self, rule: usize, unit: Unit) -> Option<usize> {
        self.by_unit.get(&(rule, unit)).copied()
    }

    /// Returns the place of a class with this plan for a unit without one: a vacant class, or a new
    /// one if `may_open`. `None` if it gets none, or if the switch refuses it.
    pub(super) fn place(
        &mut self,
        now: Time,
        switch: &mut Switch,
        port: PortIx,
        (rule, unit): (usize, Unit),
        plan: &ClassPlan,
        may_open: bool,
    ) -> Option<usize> {
        let at = match self.take_vacant(now, switch, port, (rule, plan.parent)) {
            Some(at) => {
                if switch.change_class(now, port, self.classes[at].class, plan).is_err() {
                    self.leave_if_empty(at);
                    return None;
                }
                if let Some(before) = self.classes[at].unit.replace(unit) {
                    self.by_unit.remove(&(rule, before));
                }
                at
            }
            None if !may_open => return None,
            None => {
                let class = switch.open_class(now, port, plan).ok()?;
                *self.count.entry(rule).or_default() += 1;
                let (unit, flows) = (Some(unit), BTreeMap::new());
                self.classes.push(OwnerClass {
                    rule,
                    unit,
                    class,
                    parent: plan.parent,
                    flows,
                    listed: false,
                });
                self.classes.len() - 1
            }
        };
        self.by_unit.insert((rule, unit), at);
        Some(at)
    }

    /// Number of classes of a rule, including those of owners without a flow.
    pub(super) fn of(&self, rule: usize) -> usize {
        self.count.get(&rule).copied().unwrap_or(0)
    }

    /// Takes a class of the rule, in a class of the port, that has no flow and is like a new one.
    /// Looks at one vacant class.
    fn take_vacant(
        &mut self,
        now: Time,
        switch: &Switch,
        port: PortIx,
        of: (usize, Option<u16>),
    ) -> Option<usize> {
        let vacant = self.vacant.get_mut(&of)?;
        let at = vacant.pop_front()?;
        let first = &mut self.classes[at];
        first.listed = false;
        if !first.flows.is_empty() {
            return None;
        }
        if switch.class_forgettable_at(now, port, first.class).is_some_and(|at| at <= now) {
            return Some(at);
        }
        first.listed = true;
        vacant.push_back(at);
        None
    }

    /// The index at the port of the class at a place.
    pub(super) fn class(&self, at: usize) -> u16 {
        self.classes[at].class
    }

    /// The rule and the owner of the class at a place.
    pub(super) fn owner(&self, at: usize) -> (usize, Option<Unit>) {
        (self.classes[at].rule, self.classes[at].unit)
    }

    /// Number of open flows in the class at a place.
    pub(super) fn flows_at(&self, at: usize) -> usize {
        self.classes[at].flows.len()
    }

    /// Number of open flows in all classes.
    pub(super) fn flows(&self) -> usize {
        self.flows
    }

    /// The member that is the flow of a conversation in the class at a place.
    #[inline]
    pub(super) fn flow(&self, at: usize, conversation: Option<Key>) -> Option<usize> {
        self.classes[at].flows.get(&conversation).copied()
    }

    /// The conversations of a unit with a flow each, and their members.
    pub(super) fn flows_of(&self, rule: usize, unit: Unit) -> impl Iterator<Item = (Option<Key>, usize)> {
        let class = self.find(rule, unit).map(|at| &self.classes[at]);
        class.into_iter().flat_map(|class| class.flows.iter().map(|(key, member)| (*key, *member)))
    }

    /// The conversations of all units of a rule, with their owners and members.
    pub(super) fn all_of(&self, rule: usize) -> impl Iterator<Item = (Unit, Option<Key>, usize)> {
        let units = self.by_unit.range((rule, Unit::Key(LEAST))..(rule + 1, Unit::Key(LEAST)));
        units.flat_map(|((_, unit), at)| {
            self.classes[*at].flows.iter().map(|(key, member)| (*unit, *key, *member))
        })
    }

    /// Plans the flow of a conversation, in the class with this index at the port, for an owner
    /// whose class is at a place.
    pub(super) fn conversation_plan(
        &self,
        class: u16,
        at: usize,
        conversation: Option<Key>,
        stated: StatedHosts,
    ) -> FlowPlan {
        let host = (stated != StatedHosts::None).then(|| self.hosts.number(at, conversation));
        let peer = (stated == StatedHosts::Both).then(|| self.peers.number(at, conversation));
        let contract = Contract { host, peer, ..Contract::default() };
        FlowPlan { class: Some(class), contract, transient: true, ..FlowPlan::default() }
    }

    /// Records the flow of a conversation that was opened in the class at a place.
    pub(super) fn opened(
        &mut self,
        at: usize,
        conversation: Option<Key>,
        member: usize,
        stated: StatedHosts,
    ) {
        self.classes[at].flows.insert(conversation, member);
        self.flows += 1;
        if stated != StatedHosts::None {
            self.hosts.opened(at, conversation);
        }
        if stated == StatedHosts::Both {
            self.peers.opened(at, conversation);
        }
    }

    /// Records that the flow of a conversation in the class at a place is closed.
    pub(super) fn closed(&mut self, at: usize, conversation: Option<Key>) {
        self.classes[at].flows.remove(&conversation);
        self.flows -= 1;
        self.hosts.closed(at, conversation);
        self.peers.closed(at, conversation);
        self.leave_if_empty(at);
    }

    /// Marks the class at a place vacant if no flow is open in it.
    pub(super) fn leave_if_empty(&mut self, at: usize) {
        let OwnerClass { rule, parent, flows, listed, .. } = &mut self.classes[at];
        if flows.is_empty() && !*listed {
            *listed = true;
            self.vacant.entry((*rule, *parent)).or_default().push_back(at);
        }
    }

    /// Lists the classes that continue under new rules, in their order: the place of each, its new
    /// rule, and its owner there.
    pub(super) fn continuing(
        &self,
        continued: &Continued,
    ) -> impl Iterator<Item = (usize, usize, Option<Unit>)> {
        let classes = self.classes.iter().enumerate();
        classes.filter_map(|(at, class)| {
            let unit = class.unit.and_then(|unit| continued.unit(class.rule, unit));
            Some((at, continued.rules[class.rule]?, unit))
        })
    }

    /// Renumbers the classes after a reload: the port has `count` classes, and those that continue
    /// are the last; `parent` returns the class in which one is. Returns each class's new place.
    /// The flows of owners that do not continue are forgotten.
    pub(super) fn follow(
        &mut self,
        continued: &Continued,
        count: usize,
        parent: impl Fn(u16) -> Option<u16>,
    ) -> Vec<Option<usize>> {
        let mut places = vec![None; self.classes.len()];
        let continuing: Vec<_> = self.continuing(continued).collect();
        let planned = count.saturating_sub(continuing.len());
        let mut classes = Vec::with_capacity(continuing.len());
        for (before, rule, unit) in continuing {
            places[before] = Some(classes.len());
            let class = (planned + classes.len()) as u16;
            let flows = core::mem::take(&mut self.classes[before].flows);
            let flows = if unit.is_some() { flows } else { BTreeMap::new() };
            classes.push(OwnerClass { rule, unit, class, parent: parent(class), flows, listed: false });
        }
        let owned = classes.iter().enumerate();
        self.by_unit = owned.filter_map(|(at, class)| Some(((class.rule, class.unit?), at))).collect();
        self.count.clear();
        classes.iter().for_each(|class| *self.count.entry(class.rule).or_default() += 1);
        self.flows = classes.iter().map(|class| class.flows.len()).sum();
        self.classes = classes;
        let place = |at: usize| places[at].filter(|at| self.classes[*at].unit.is_some());
        self.hosts.follow(place);
        self.peers.follow(place);
        let vacant = core::mem::take(&mut self.vacant);
        let vacant = vacant.into_values().flatten().filter_map(|at| places[at]);
        vacant.chain(0..self.classes.len()).for_each(|at| self.leave_if_empty(at));
        places
    }
}

impl Conversations {
    /// Plans the class of a unit whose single flow would have this plan.
    fn class(&self, plan: &FlowPlan) -> ClassPlan {
        ClassPlan {
            parent: plan.class,
            contract: plan.contract,
            ceiling: plan.ceiling,
            dropper: self.dropper.clone(),
            spared: plan.spared,
            ..ClassPlan::new(self.scheduler.clone())
        }
    }
}

impl Rule {
    /// The hosts that the contracts of conversations state.
    pub(super) fn stated_hosts(&self) -> StatedHosts {
        self.within.as_ref().map_or(StatedHosts::None, |conversations| conversations.hosts)
    }

    /// Plans the flow of a unit in a direction; that of no unit in particular for `None`.
    pub(super) fn unit_plan(&self, unit: Option<Unit>, direction: Direction) -> FlowPlan {
        match (&self.split, unit) {
            (Split::Circuits(circuits), Some(Unit::Circuit(circuit))) => {
                self.circuit_plan(circuits, circuit, direction)
            }
            _ => self.plan,
        }
    }

    /// Plans the class of a unit, if its conversations have flows of their own.
    pub(super) fn owner_class(&self, unit: Option<Unit>, direction: Direction) -> Option<ClassPlan> {
        let conversations = self.within.as_ref()?;
        Some(conversations.class(&self.unit_plan(unit, direction)))
    }
}
