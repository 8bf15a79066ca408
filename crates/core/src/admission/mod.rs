//! Is this flow admitted? Reservations, link by link (Zhang 1991, section 2.2; the Flow Network).
//!
//! [`Ledger`] is one link's book; [`signalling`] carries requests along a route so that they are
//! granted at every link or at none.

mod ledger;
pub mod signalling;

pub use ledger::{FlowId, Ledger, Policy, Refusal, Stamps};

use crate::units::{Rate, Span};

/// The request of a flow: (AR, AI).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
//= zhang1991 2.1
pub struct FlowSpec {
    /// Average rate AR, in bit/s, above zero.
    pub rate: u64,
    /// Average interval AI; `None` for a flow that is not monitored.
    pub interval: Option<Span>,
    /// The largest packet of the flow, in bytes.
    pub largest: u32,
}

impl FlowSpec {
    /// 1/AR, the shortest average interval: the time of one packet.
    pub fn shortest_interval(&self) -> Span {
        Rate::from_bits_per_second(self.rate).map_or(Span::ZERO, |rate| rate.time_for(self.largest))
    }
}
