//! A rule: the packets that match it, and their flows.

use crate::classifier::circuits::Circuits;
use crate::classifier::matching::Match;
use crate::classifier::rules::{Direction, Each};
use crate::params::Limit;
use crate::scheduler::SchedulerKind;
use crate::switch::plan::{DropperPlan, FlowPlan};
use crate::units::{Rate, Span};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The packets that match, and their flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The packets that match.
    pub matching: Match,
    /// The unit that has a flow of its own.
    pub split: Split,
    /// The policies in the class of each unit, where a unit is a class in which each of its
    /// conversations (5-tuples) has a flow; `None` where a unit has one flow. Has no effect if all
    /// packets have one flow.
    pub within: Option<Arc<Conversations>>,
    /// The plan of its flow or class, or of every one of them, at the port; a circuit's own terms
    /// come first.
    pub plan: FlowPlan,
    /// Time for which a flow that was opened by a packet stays open without packets.
    pub idle: Span,
    /// The flows that packets may open by this rule, and the flow of all others.
    pub beyond: Beyond,
    /// The class of circuits that reserve nothing, by the class in which they are listed. Where a
    /// class has none, they are members of the class itself.
    pub unreserved: Vec<(Option<u16>, u16)>,
    /// Memory that push-out leaves to circuits with a reservation; `None` if it takes their packets
    /// in the scheduler's order.
    pub aside: Option<Aside>,
}

/// The memory that push-out leaves to flows with reservations: half of a buffer, in proportion to
/// them (nominal shares: Suter, Lakshman, Stiliadis, Choudhury, INFOCOM 1998).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aside {
    /// The limit of the port's memory.
    pub buffer: Limit,
    /// The rate of its link.
    pub rate: Rate,
}

impl Aside {
    /// Fewest packets that are left to a flow: the first of its queue, and one behind it.
    const FEWEST: u64 = 2;
    /// Their bytes, if the buffer is limited in bytes.
    const FEWEST_BYTES: u64 = 3028;

    /// Memory that is left to a flow that reserves this rate.
    pub fn of(&self, reserve: Rate) -> Limit {
        let part = reserve.bits_per_second() / self.rate.bits_per_second();
        let of = |whole: u64| (whole as f64 / 2.0 * part.min(1.0)) as u64;
        match self.buffer {
            Limit::Packets(packets) => Limit::Packets(of(packets).max(Self::FEWEST)),
            Limit::Bytes(bytes) => Limit::Bytes(of(bytes).max(Self::FEWEST_BYTES)),
        }
    }
}

/// The limit of the flows that packets open by a rule, and the flow that packets beyond it share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beyond {
    /// Greatest number of hosts, subscribers or 5-tuples with a flow or a class of their own.
    pub most: usize,
    /// The plan of the shared flow, which is opened by the first packet for which no flow can be
    /// opened.
    pub plan: FlowPlan,
}

impl Beyond {
    /// No limit for the rule alone; the shared flow has this plan.
    pub fn unlimited(plan: FlowPlan) -> Beyond {
        Beyond { most: usize::MAX, plan }
    }
}

impl Rule {
    /// Creates a rule without a limit of its own, in which a unit has one flow, and without a class
    /// for circuits that reserve nothing.
    pub fn new(matching: Match, split: Split, plan: FlowPlan, idle: Span) -> Rule {
        Rule {
            matching,
            split,
            within: None,
            plan,
            idle,
            beyond: Beyond::unlimited(plan),
            unreserved: Vec::new(),
            aside: None,
        }
    }

    /// The plan of the flow or class of a circuit of this rule.
    pub fn circuit_plan(&self, circuits: &Circuits, circuit: u32, direction: Direction) -> FlowPlan {
        let mut plan = circuits.plan(circuit, direction, &self.plan);
        plan.spared = self.aside.zip(plan.contract.reserve).map(|(aside, reserve)| aside.of(reserve));
        let shared = self.unreserved.iter().find(|(listed, _)| *listed == plan.class);
        match shared {
            Some((_, class)) if plan.contract.reserve.is_none() => FlowPlan { class: Some(*class), ..plan },
            _ => plan,
        }
    }
}

/// The unit that has a flow of its own, among the packets that match a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Split {
    /// All packets have one flow.
    Together,
    /// Each host, subscriber or 5-tuple has a flow.
    Each(Each),
    /// Each of these circuits has a flow. Packets of addresses that no circuit has are passed to
    /// the next rule.
    Circuits(Arc<Circuits>),
}

/// The policies at the class of a host, subscriber or circuit, in which its conversations have
/// flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversations {
    /// Orders the conversations.
    pub scheduler: SchedulerKind,
    /// The dropper that guards them besides the droppers of the nodes above; `None` for none.
    pub dropper: Option<DropperPlan>,
    /// The hosts that the contract of each conversation states, for a scheduler that is fair among
    /// them.
    pub hosts: StatedHosts,
}

/// The hosts of a conversation that its contract states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatedHosts {
    /// None.
    #[default]
    None,
    /// The address inside, as its `host`.
    Inside,
    /// The address inside as its `host`, and the one outside as its `peer`.
    Both,
}
