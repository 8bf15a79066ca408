//! Log of every packet's events, in order of occurrence, against which a model of the network can
//! be checked.

use tidegate_core::context::Reason;
use tidegate_core::units::Time;

/// A packet: the copies of a multicast packet share its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId {
    /// Index of its flow.
    pub flow: u32,
    /// Its number within its flow, from 0.
    pub sequence: u64,
}

/// An event at a link, or at the port in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time of the event.
    pub at: Time,
    /// Index of the link.
    pub link: u32,
    /// The event.
    pub what: PacketEvent,
}

/// An event in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// A packet's last bit is in at the port; its shaper, meters and droppers come next.
    Arrived {
        /// The packet.
        packet: PacketId,
        /// Its length in bytes.
        len: u32,
    },
    /// The shaper in front of the port released a packet, at once or after a wait.
    Released(PacketId),
    /// A packet's first bit leaves.
    Started {
        /// The packet.
        packet: PacketId,
        /// Time at which it joined the queue: its arrival or, behind an envelope, its release.
        queued: Time,
        /// True if it carries a congestion mark (CE, EFCI).
        is_marked: bool,
    },
    /// A packet's last bit is out.
    Departed(PacketId),
    /// A packet was dropped at the port, or at the end of the link, where there was no place for
    /// it.
    Dropped(PacketId, Reason),
    /// A stage at the end of the link, or at the source in front of it, took a packet for itself.
    Absorbed(PacketId),
    /// A packet was lost on the link after it had left.
    Lost(PacketId),
    /// A packet's last bit is in at its destination, behind the link.
    Received(PacketId),
    /// The port was woken: the time it requested has come, or an event may have made it ready.
    Woken,
    /// A flow, by its index, was opened at the port by signalling.
    Opened(u32),
    /// A flow's contract at the port became that of its change with this number.
    Amended(u32, usize),
    /// A flow was closed at the port by signalling.
    Closed(u32),
}
