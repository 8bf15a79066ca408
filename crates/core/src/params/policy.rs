//! The parameters of a policy, from which it is made.

use super::check::{Guarantee, Member, NodeContext};
use super::contract::Refused;
use super::fault::Fault;
use super::line::{FixedPort, Line, NoLine};
use super::record::{MarkResponse, Marking, PolicyRecord, ReceiverWindow};
use super::role::{Role, Service};
use super::table::Parameters;
use super::value::Value;
use crate::units::Span;

/// Conditions under which a scheduler keeps the rates that flows reserve, as long as they are no
/// more than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepsRates {
    /// True if it also keeps them in a class, and towards classes for the flows in them: it charges a
    /// class for the packet that this sends. If false, only towards the flows of a link's own
    /// scheduler, and a class beside them may send a longer packet than it was charged for.
    pub in_classes: bool,
    /// The longest time that a packet of any flow may take at the flow's reserved rate; `None` for
    /// any.
    pub longest_packet: Option<Span>,
}

/// The parameters of a policy, from which it is made.
pub trait PolicyParams: Parameters {
    /// The type of the policy that is made.
    type Policy;

    /// Its record.
    const RECORD: PolicyRecord;

    /// Makes the policy with these parameters, without flows.
    ///
    /// # Errors
    /// When a value is beyond the range of the policy.
    fn make(&self) -> Result<Self::Policy, Refused>;

    /// Values that are allowed together, for tests over all policies. At a link of 1 Mbit/s they
    /// suit flows that reserve 300 kbit/s in all and send packets of up to 1500 bytes.
    fn example() -> Self;

    /// Returns the parameters with the defaults of those that were not given and whose default depends
    /// on others.
    fn with_defaults(self, is_given: &dyn Fn(&str) -> bool) -> Self {
        let _ = is_given;
        self
    }

    /// The policy with these values, each of its parameter's kind and in its range; a missing value
    /// has its default.
    ///
    /// # Errors
    /// When a required value is missing, is of another kind or cannot be held.
    fn of_values(values: &[(&'static str, Value)]) -> Result<Self, Fault> {
        let is_given = |key: &str| values.iter().any(|(name, _)| *name == key);
        Self::read(values).map(|params| params.with_defaults(&is_given))
    }

    /// Checks constraints across parameters.
    ///
    /// # Errors
    /// When two of them contradict each other.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns how a dropper treats ECN-capable packets that it would drop.
    fn marking(&self) -> Marking {
        Marking::Never
    }

    /// Returns how a congestion control responds to congestion marks.
    fn mark_response(&self) -> MarkResponse {
        MarkResponse::Loss
    }

    /// Returns the conditions under which a scheduler keeps the rates that flows reserve, so that
    /// its packets leave in the time of
    /// [`bounds::behind_own_line`](crate::bounds::behind_own_line); `None` for one without such a
    /// promise.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        None
    }

    /// Returns the parameter that makes a meter's window follow the round-trip times that
    /// transports measure; `None` without such a window.
    fn follows_round_trips(&self) -> Option<&'static str> {
        None
    }

    /// Returns true if a dropper or a detector distinguishes packets by their colours, so that it
    /// needs packets that a meter has coloured.
    fn reads_colours(&self) -> bool {
        false
    }

    /// Returns the receiver's window of a transport that sends packets of `size` bytes; `None` for
    /// one without such a window.
    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow> {
        let _ = size;
        None
    }

    /// Returns the target utilisation of a switch algorithm, as a share of a link; `None` for one
    /// that states no share.
    fn target_utilisation(&self) -> Option<f64> {
        None
    }

    /// Returns true if a scheduler's order is one of urgency, so that an idle port waits for all
    /// packets of an instant before it sends one of them.
    fn waits_for_ties(&self) -> bool {
        false
    }

    /// Returns true if a scheduler serves what a ceiling has held as if it arrived at its release: the
    /// ceiling is then a shaper in front of it, and its lines and guarantees hold for all others.
    fn returns_as_newcomers(&self) -> bool {
        false
    }

    /// Returns the scheduler's guarantee to the member with this index, which is a class, given the
    /// guarantee of the server; `None` for none.
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee> {
        let _ = (server, members, index);
        None
    }

    /// Returns the line in which the flow with this index waits at a port, with a service curve of
    /// the scheduler that holds whatever the flows do within the bounds on their traffic. Without a
    /// published one, a scheduler that is never idle while a packet waits has that of any order.
    ///
    /// # Errors
    /// The reason for which there is none.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        match Self::RECORD.role {
            Role::Scheduler { service: Service::WorkConserving } => port.arbitrary(index),
            _ => Err(NoLine::Because("no service curve is published for it, and it may idle")),
        }
    }

    /// Checks the parameters against the link and the flows of a node. A scheduler receives flows
    /// if its record says that it [divides](PolicyRecord::divides).
    ///
    /// # Errors
    /// When the requested values do not fit.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let _ = node;
        Ok(())
    }
}
