//! The facts about a policy with its parameters, whichever policy it is.

use super::check::{Guarantee, Member, NodeContext};
use super::fault::Fault;
use super::line::{FixedPort, Line, NoLine};
use super::policy::{KeepsRates, PolicyParams};
use super::record::{MarkResponse, Marking, PolicyRecord, ReceiverWindow};
use super::table::Parameters;
use super::value::Value;
use alloc::vec::Vec;
use core::fmt;

/// Answers of a policy's parameters ([`PolicyParams`]), which others ask without knowing the
/// policy.
pub trait PolicyFacts: fmt::Debug + Send + Sync {
    /// Returns its record.
    fn record(&self) -> &'static PolicyRecord;

    /// Returns its values, including the defaults of those that were not set.
    fn values(&self) -> Vec<(&'static str, Value)>;

    /// [`PolicyParams::marking`].
    fn marking(&self) -> Marking;

    /// [`PolicyParams::mark_response`].
    fn mark_response(&self) -> MarkResponse;

    /// [`PolicyParams::keeps_rates`].
    fn keeps_rates(&self) -> Option<KeepsRates>;

    /// [`PolicyParams::follows_round_trips`].
    fn follows_round_trips(&self) -> Option<&'static str>;

    /// [`PolicyParams::reads_colours`].
    fn reads_colours(&self) -> bool;

    /// [`PolicyParams::receiver_window`].
    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow>;

    /// [`PolicyParams::target_utilisation`].
    fn target_utilisation(&self) -> Option<f64>;

    /// [`PolicyParams::waits_for_ties`].
    fn waits_for_ties(&self) -> bool;

    /// [`PolicyParams::returns_as_newcomers`].
    fn returns_as_newcomers(&self) -> bool;

    /// [`PolicyParams::guarantee`].
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee>;

    /// [`PolicyParams::line`].
    ///
    /// # Errors
    /// The reason for which there is none.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine>;

    /// [`PolicyParams::check`].
    ///
    /// # Errors
    /// When parameters contradict each other.
    fn check(&self) -> Result<(), Fault>;

    /// [`PolicyParams::check_at`].
    ///
    /// # Errors
    /// When the requested values do not fit.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault>;
}

impl<T: PolicyParams> PolicyFacts for T {
    fn record(&self) -> &'static PolicyRecord {
        const { &T::RECORD }
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        Parameters::values(self)
    }

    fn marking(&self) -> Marking {
        PolicyParams::marking(self)
    }

    fn mark_response(&self) -> MarkResponse {
        PolicyParams::mark_response(self)
    }

    fn keeps_rates(&self) -> Option<KeepsRates> {
        PolicyParams::keeps_rates(self)
    }

    fn follows_round_trips(&self) -> Option<&'static str> {
        PolicyParams::follows_round_trips(self)
    }

    fn reads_colours(&self) -> bool {
        PolicyParams::reads_colours(self)
    }

    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow> {
        PolicyParams::receiver_window(self, size)
    }

    fn target_utilisation(&self) -> Option<f64> {
        PolicyParams::target_utilisation(self)
    }

    fn waits_for_ties(&self) -> bool {
        PolicyParams::waits_for_ties(self)
    }

    fn returns_as_newcomers(&self) -> bool {
        PolicyParams::returns_as_newcomers(self)
    }

    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee> {
        PolicyParams::guarantee(self, server, members, index)
    }

    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        PolicyParams::line(self, port, index)
    }

    fn check(&self) -> Result<(), Fault> {
        PolicyParams::check(self)
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        PolicyParams::check_at(self, node)
    }
}
