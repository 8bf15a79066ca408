//! The facts about a policy that others need without reading its code.

use super::role::{Role, Service};
use super::value::Param;

/// Greatest amount that a transport has in flight, limited by its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverWindow {
    /// The parameter that states it.
    pub key: &'static str,
    /// Its value, in bytes of data.
    pub data: u64,
    /// The packets that carry these data, in bytes.
    pub packets: u64,
}

/// Marking of ECN-capable packets by a dropper in place of dropping them (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// It does not.
    Never,
    /// It does, in some states of its queue.
    EcnCapable {
        /// The parameter that enables it; `None` for one that always does.
        by: Option<&'static str>,
    },
    /// It does, and drops others by a law that gives both alike shares (RFC 9332, section 2.1).
    DualQueue,
}

/// Response of a congestion control to congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkResponse {
    /// As to a loss, at most once in a window of data (RFC 3168, section 6.1.2).
    Loss,
    /// By the share of marked data, at most once in a window of data; the receiver reports each
    /// change of the mark, and retransmissions are ECN-capable as well (RFC 8257).
    Share,
    /// To each acknowledgement that reports marks. The receiver counts marked packets (RFC 9768),
    /// and packets are ECT(1) (RFC 9331, section 4): recovery has to go by time, and both ends have
    /// to be ECN-capable.
    Each,
}

/// The meaning of a scheduler's stamps, the tags of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// Packets are served in the order of their stamps, each a time or
    /// [`NEVER`](crate::units::Time::NEVER).
    Times,
    /// Packets are served in the order of their stamps, each an order of arrival.
    Arrivals,
    /// Packets are not served in the order of their stamps, or there are none.
    Unordered,
}

/// The meaning that a scheduler gives to the value that a packet carries from hop to hop
/// ([`Packet::carry`](crate::packet::Packet::carry)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// It neither reads nor writes: the packet keeps its value.
    Nothing,
    /// Waiting time of the packet beyond the average of packets, at all hops before.
    Deviation,
    /// Time before its deadline at which the packet left the hop before.
    Ahead,
}

/// The facts about a policy that others need without reading its code.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRecord {
    /// Its name in scenario files and on the command line: `virtual-clock`.
    pub name: &'static str,
    /// Its name in prose: `VirtualClock`.
    pub title: &'static str,
    /// Its role.
    pub role: Role,
    /// One or two sentences for a person.
    pub help: &'static str,
    /// Paper and section, or RFC and section.
    pub source: &'static str,
    /// The parameters of the policy.
    pub params: &'static [Param],
    /// The keys of a flow's contract ([`CONTRACT`](super::CONTRACT)) that it reads.
    pub reads: &'static [&'static str],
    /// The meaning of the tags that it writes.
    pub stamps: Stamps,
    /// True if one flow's promise may leave too little for another, so that all contracts at its
    /// node have to be checked together.
    pub divides: bool,
    /// True if its order depends on packets behind the first of a flow. Above a class, of which it
    /// sees one packet at a time, its order then differs from that above the flow itself.
    pub reads_queues: bool,
    /// The key of a contract without which it does nothing for a flow; `None` for a policy that
    /// sees to every flow.
    pub needs: Option<&'static str>,
    /// The value that a packet carries from it to the next hop.
    pub carries: Carry,
}

impl PolicyRecord {
    /// Returns true for a scheduler that starts packets at the beginning of slots only.
    pub const fn is_slotted(&self) -> bool {
        matches!(self.role, Role::Scheduler { service: Service::Slotted })
    }

    /// Returns true if the traffic that it sends depends on the network's treatment of it.
    pub const fn is_responsive(&self) -> bool {
        matches!(self.role, Role::Transport { responsive: true })
    }
}
