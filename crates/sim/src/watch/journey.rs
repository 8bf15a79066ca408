//! The record of a packet that was followed to its destination, hop by hop.

use super::notes::WaitNotes;
use tidegate_core::units::{Span, Time};

/// A watched packet at one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedHop {
    /// Index of the link.
    pub link: u32,
    /// Arrival of its last bit; once it has started, its release by its flow's shaper or envelope.
    pub arrived: Time,
    /// Time for which the shaper or envelope held it before.
    pub held: Span,
    /// Queue length on arrival in packets, the one in service included; `None` for one that an
    /// envelope held.
    pub queue: Option<u64>,
    /// First bit out; `None` while it waits.
    pub started: Option<Time>,
    /// Last bit out; `None` until then.
    pub departed: Option<Time>,
    /// Last bit in at the other end; `None` until then.
    pub landed: Option<Time>,
    /// Its own stamp, known once it starts.
    pub stamp: u64,
    pub(super) before: WaitNotes,
}

/// A packet that was followed from its source to its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// Time from leaving the source, of a retransmission from the first transmission, to last bit
    /// in at the destination.
    pub delay: Span,
    /// Part of the delay before this packet left its source: earlier transmissions of its data.
    pub earlier: Span,
    /// Its number within its flow, from 0.
    pub sequence: u64,
    /// Length in bytes.
    pub len: u32,
    /// Lead of its flow, with this packet, over its reservation: the delay at an ideal server of
    /// that rate. `None` for a datagram flow.
    pub ahead: Option<Span>,
    /// Arrival of its last bit at the destination.
    pub arrived: Time,
    /// Its hops, in order.
    pub hops: Vec<WatchedHop>,
}

impl WatchedHop {
    /// Returns true if the packet waits for this link.
    pub(super) fn waits_at(&self, link: u32) -> bool {
        self.link == link && self.started.is_none()
    }
}
