//! What a flow is promised, and what it may ask of a scheduler.

use crate::units::{Rate, Span};
use core::fmt;

/// What a flow states about itself to every port on its way. A scheduler reads what it
/// understands ([`PolicyRecord::reads`](crate::params::PolicyRecord)) and ignores the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Contract {
    /// Reserved average rate (AR in Zhang 1991); `None` for a datagram flow.
    pub reserve: Option<Rate>,
    /// Average interval (AI): over each, the flow sends at most AR × AI; `None` for a flow that
    /// is not monitored.
    pub interval: Option<Span>,
    /// Head start (P in Zhang 1991, section 3.2.2).
    pub priority: Span,
    /// Priority level, 0 the most urgent, at most 7.
    pub level: u8,
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
