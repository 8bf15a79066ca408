//! Events that stages observe beside the calls for a packet at a hop.

use tidegate_core::context::Reason;
use tidegate_core::units::Time;

/// The end of a packet, or of a copy of a multicast packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was received; its data were first sent at this time.
    Received(Time),
    /// It was dropped for this reason.
    Dropped(Reason),
    /// It was lost on the link after it had left.
    Lost,
    /// A stage took it for itself.
    Absorbed,
}

/// An event at a link, or at the port in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The activity of the link, or the cause that blocks it, may be different now.
    Changed,
    /// The port was woken: the time it requested has come, or an event may have made it ready.
    Woken,
    /// A flow, by its index, was opened at the port by signalling.
    Opened(u32),
    /// A flow's contract at the port became that of its change with this number.
    Amended(u32, usize),
    /// A flow was closed at the port by signalling.
    Closed(u32),
}
