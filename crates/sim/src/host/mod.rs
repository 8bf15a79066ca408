//! Hosts: what sends the packets of a flow, and what answers them.
//!
//! The ends of connections and the sources that hear of the network are [`Endpoint`]s. A source that sends by
//! its own pattern whatever the network does is not driven through that trait: the world draws its packets
//! from its [`Emission`].

mod greedy;
mod outbox;
mod restrained;
mod restraint;
mod transport_end;

pub use greedy::Greedy;
pub(crate) use outbox::{Outbox, Sending, Task};
pub use restrained::Restrained;
pub use restraint::Restraint;
pub use transport_end::TransportEnd;

use crate::source::Emission;
use tidegate_core::endpoint::Endpoint;

/// What sends a flow's packets.
pub(crate) enum Source {
    /// A pattern of its own, whatever the network does: the fast path.
    OpenLoop(Emission),
    /// A state machine.
    Endpoint(Box<dyn Endpoint>),
}
