//! Is this flow admitted? Reservations, link by link (Zhang 1991, section 2.2; the Flow Network).
//!
//! [`Ledger`] is one link's book; [`signalling`] carries requests along a route so that they are
//! granted at every link or at none.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::admission::{FlowId, FlowSpec, Ledger, Policy, Refusal, Stamps};
//!
//! let mut link = Ledger::new(Policy { reservable: 900_000, longest_interval: None });
//! let call = FlowSpec { rate: 600_000, interval: None, largest: 200 };
//! link.set_up(FlowId(1), call)?;
//! link.confirm(FlowId(1), Stamps::NONE);
//! let refused = link.set_up(FlowId(2), call).unwrap_err();
//! assert_eq!(refused, Refusal::TooMuch { asked: 600_000, left: 300_000, reservable: 900_000 });
//! # Ok::<(), Refusal>(())
//! ```

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
