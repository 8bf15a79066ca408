//! A rule: which packets match, and which flow they get.

use crate::classifier::circuits::Circuits;
use crate::classifier::matching::Match;
use crate::classifier::rules::Each;
use crate::scheduler::SchedulerKind;
use crate::switch::plan::{DropperPlan, FlowPlan};
use crate::units::Span;
use std::sync::Arc;

/// Which packets match, and the flow that they get.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Which packets match.
    pub matching: Match,
    /// What has a flow of its own.
    pub split: Split,
    /// The plan of its flow, or of every one of its flows, at the port; a circuit's own terms come first.
    pub plan: FlowPlan,
    /// How long a flow that was opened by a packet stays open without packets.
    pub idle: Span,
}

/// The unit that has a flow of its own, among the packets that match a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Split {
    /// All of them have one flow.
    Together,
    /// Each host, subscriber or 5-tuple has one.
    Each(Each),
    /// Each host or subscriber has a class with the plan's terms, in which each 5-tuple has a flow.
    Conversations(Each, Arc<Conversations>),
    /// Each of these circuits has one. Packets of addresses that no circuit has are passed to the next rule.
    Circuits(Arc<Circuits>),
}

/// The policies at the class of a host or subscriber, in which its conversations have flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversations {
    /// Orders the conversations.
    pub scheduler: SchedulerKind,
    /// The dropper that guards them besides the droppers of the nodes above; `None` for none.
    pub dropper: Option<DropperPlan>,
}
