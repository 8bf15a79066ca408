//! Transports, which make both ends of a connection.

use super::{Endpoint, EndpointSetup};
use crate::units::Rate;
use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

/// The packets of a finite transfer on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferPackets {
    /// Number of packets, at least one.
    pub count: u64,
    /// Length in bytes of each but the last.
    pub each: u32,
    /// Length in bytes of the last.
    pub last: u32,
    /// Length in bytes of the acknowledgement of the last.
    pub answer: u32,
}

/// A transport: makes both ends of a connection, the sender of its data and the receiver that
/// answers.
pub trait Transport: fmt::Debug {
    /// Makes the end that sends data, in packets of at most `size` bytes.
    fn sender(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint>;

    /// Returns true if the sender sends [`EndpointSetup::data`]; otherwise it sends endless data.
    fn takes_data(&self) -> bool {
        false
    }

    /// Makes the end that receives the data, in packets of at most `size` bytes, and answers on the
    /// flow in the other direction.
    fn receiver(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint>;

    /// The packets of a transfer of `bytes` bytes on its own, in packets of at most `size` bytes,
    /// when each is sent once. `None` for a transport whose data are not acknowledged.
    fn packets(&self, bytes: u64, size: u32) -> Option<TransferPackets> {
        let _ = (bytes, size);
        None
    }

    /// The largest packet that the receiver sends, in bytes.
    fn largest_answer(&self) -> u32;

    /// Returns true if the sender measures round-trip times ([`Endpoint::round_trip`]).
    fn measures_round_trips(&self) -> bool {
        false
    }

    /// Returns true if data are sent ECN-capable, so that a policy on the path may mark them
    /// instead of dropping them (RFC 3168).
    fn negotiates_ecn(&self) -> bool {
        false
    }

    /// Returns true if its packets are cells, which are not cut again.
    fn sends_cells(&self) -> bool {
        false
    }

    /// The terms that its connections agree on with stages on their way, with packets of `size`
    /// bytes and a first link of this rate. Only these stages know their type. `None` for a
    /// transport that agrees on none.
    fn stage_terms(&self, link: Rate, size: u32) -> Option<Box<dyn Any>> {
        let _ = (link, size);
        None
    }
}
