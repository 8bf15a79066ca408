//! The shared flow of packets for which no flow of their own is opened.
//!
//! A rule opens flows up to its own limit ([`Beyond`](super::Beyond)) and up to that of the port.
//! Packets of all further hosts, subscribers and 5-tuples share one flow, in the class of the
//! rule's flows and with the claim of one of them. No flow is closed to make room. Each packet of
//! the shared flow is steered anew, so that it gets a flow of its own as soon as there is room.

use super::flows::{Owner, Steering};
use super::rule::Split;
use crate::packet::Leg;
use crate::switch::Switch;
use crate::units::Time;

impl Steering {
    /// Returns true if a rule has as many hosts, subscribers or 5-tuples with flows of their own as
    /// it may have.
    pub(super) fn is_full(&self, rule: usize) -> bool {
        let own = match self.rules[rule].within {
            Some(_) => self.owners.of(rule),
            None => self.open_of[rule] - usize::from(self.shared[rule].is_some()),
        };
        own >= self.rules[rule].beyond.most
    }

    /// Returns the shared flow for a packet for which a rule has no flow and cannot open one.
    /// Returns the flow of unmatched packets if the switch refuses the shared flow, or if the rule
    /// opens none by itself.
    pub(super) fn share(&mut self, now: Time, switch: &mut Switch, rule: usize) -> Leg {
        self.overflowed += 1;
        if let Some(at) = self.shared[rule] {
            self.members[at].last_packet = now;
            return self.members[at].leg;
        }
        match &self.rules[rule].split {
            Split::Each(_) => {}
            Split::Together | Split::Circuits(_) => return self.rest,
        }
        self.open(now, switch, rule, Owner::Shared).map_or(self.rest, |opened| opened.leg)
    }

    /// The flow that packets of a rule share now.
    pub(super) fn shared_leg(&self, rule: usize) -> Option<Leg> {
        Some(self.members[self.shared.get(rule).copied().flatten()?].leg)
    }
}
