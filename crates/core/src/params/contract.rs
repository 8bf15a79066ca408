//! What a flow is promised, and what it may ask of a scheduler.

use super::parameters;
use crate::units::{Rate, Span};
use core::fmt;

parameters! {
    /// What a flow states about itself to every port on its way. A scheduler reads what it
    /// understands ([`PolicyRecord::reads`](crate::params::PolicyRecord)) and ignores the rest.
    #[derive(Eq, Default)]
    pub struct Contract {
        /// Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow
        reserve: Option<Rate>,
        /// Average interval (AI), over which the flow sends what it reserved; without it the flow is not monitored
        interval: Option<Span>,
        /// Head start (P) over flows without one: its packets are stamped as if they had come so much earlier
        head_start: Span = Span::ZERO,
        /// Priority level, 0 the most urgent
        priority: u8 as Integer(0, 7) = 0,
    }
}

/// Why a request to a switch or a scheduler was not granted; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Refused {}
