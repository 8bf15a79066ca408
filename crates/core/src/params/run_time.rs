//! The facts about a policy whose record exists at run time only, such as one written in another
//! language.

use super::check::{Guarantee, Member, NodeContext};
use super::facts::PolicyFacts;
use super::fault::Fault;
use super::line::{FixedPort, Line, NoLine};
use super::policy::KeepsRates;
use super::record::{MarkResponse, Marking, PolicyRecord, ReceiverWindow};
use super::value::Value;
use alloc::vec::Vec;

/// A record, the values of its parameters, and how the policy marks or responds to marks. Such a
/// policy promises nothing.
#[derive(Clone, Debug)]
pub struct RunTimeFacts {
    /// Its record.
    pub record: &'static PolicyRecord,
    /// Its values, including the defaults of those that were not set.
    pub values: Vec<(&'static str, Value)>,
    /// As a dropper, its treatment of ECN-capable packets.
    pub marking: Marking,
    /// As a congestion control, its response to marks.
    pub mark_response: MarkResponse,
}

impl PolicyFacts for RunTimeFacts {
    fn record(&self) -> &'static PolicyRecord {
        self.record
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        self.values.clone()
    }

    fn marking(&self) -> Marking {
        self.marking
    }

    fn mark_response(&self) -> MarkResponse {
        self.mark_response
    }

    fn keeps_rates(&self) -> Option<KeepsRates> {
        None
    }

    fn follows_round_trips(&self) -> Option<&'static str> {
        None
    }

    fn reads_colours(&self) -> bool {
        false
    }

    fn receiver_window(&self, _: u32) -> Option<ReceiverWindow> {
        None
    }

    fn target_utilisation(&self) -> Option<f64> {
        None
    }

    fn waits_for_ties(&self) -> bool {
        false
    }

    fn returns_as_newcomers(&self) -> bool {
        false
    }

    fn guarantee(&self, _: Guarantee, _: &[Member], _: usize) -> Option<Guarantee> {
        None
    }

    fn line(&self, _: &FixedPort<'_>, _: usize) -> Result<Line, NoLine> {
        Err(NoLine::Because("a policy of the user's own promises nothing"))
    }

    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn check_at(&self, _: &NodeContext<'_>) -> Result<(), Fault> {
        Ok(())
    }
}
