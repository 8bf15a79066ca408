//! Hosts: the senders of a flow's packets, and the ends that answer them.
//!
//! The ends of connections, and sources that are notified by the network, are [`Endpoint`]s. A
//! source that sends by its own pattern whatever the network does is not driven through that trait:
//! the world draws its packets from its [`Emission`].

mod aal5;
mod greedy;
mod outbox;
mod restrained;
mod restraint;
mod transport_end;

pub use aal5::PacketCounts;
pub(crate) use aal5::{Adapted, Cutter};
pub use greedy::Greedy;
pub(crate) use outbox::{Outbox, Sending, Task};
pub use restrained::Restrained;
pub use restraint::Restraint;
pub use transport_end::TransportEnd;

use crate::source::Emission;
use tidegate_core::endpoint::Endpoint;

/// The sender of a flow's packets.
pub(crate) enum Source {
    /// Its own pattern, whatever the network does: the fast path.
    OpenLoop(Emission),
    /// A state machine.
    Endpoint(Box<dyn Endpoint>),
}

impl Source {
    /// Returns true if it is notified of its packets in the first queue.
    pub(crate) fn watches_first_queue(&self) -> bool {
        matches!(self, Source::Endpoint(endpoint) if endpoint.watches_first_queue())
    }
}
