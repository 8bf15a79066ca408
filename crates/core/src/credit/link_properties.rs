//! Properties of a link with credit, from which its plan follows.

use crate::units::{Rate, Span};
use alloc::vec::Vec;

/// Properties of a link with credit. A virtual link consists of several links, from the sender to
/// the receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkProperties {
    /// The rate of the slowest link there; with a trace, its mean.
    pub rate: Rate,
    /// The rates of the forward links after the first.
    pub further: Vec<Rate>,
    /// Rate of each link back, and the largest packet of the flows on it in bytes; 0 without flows.
    pub back: Vec<(Rate, u32)>,
    /// Propagation, there and back.
    pub propagation: Span,
    /// Flows over it.
    pub flows: u32,
    /// Their smallest packet, in bytes; 0 when it is not known.
    pub smallest: u32,
    /// Their largest packet, in bytes.
    pub largest: u32,
    /// True if the link loses packets, there or back: the switches of a virtual link drop some.
    pub loses: bool,
    /// True if a credit cell may be lost, or take longer than is computed from rates: a link back
    /// that loses packets, a trace in place of a rate, or switches between the ends.
    pub is_unsure: bool,
}

impl LinkProperties {
    /// Transmission time of `bytes` on the forward links after the first, at whose end the RTT
    /// begins.
    pub(super) fn further(&self, bytes: u32) -> Span {
        self.further.iter().fold(Span::ZERO, |sum, rate| sum + rate.time_for(bytes))
    }

    /// Additional waiting time on the links back of a credit cell of `bytes` behind another one,
    /// compared with waiting behind the largest packet.
    pub(super) fn behind_a_cell(&self, bytes: u32) -> Span {
        let longer = |(rate, largest): &(Rate, u32)| rate.time_for(bytes.saturating_sub(*largest));
        self.back.iter().map(longer).fold(Span::ZERO, |sum, time| sum + time)
    }

    /// Transmission time of `bytes` on all links back, on each behind a packet that has just
    /// started.
    pub(super) fn back(&self, bytes: u32) -> Span {
        let each = |(rate, largest): &(Rate, u32)| rate.time_for(*largest) + rate.time_for(bytes);
        self.back.iter().map(each).fold(Span::ZERO, |sum, time| sum + time)
    }
}
