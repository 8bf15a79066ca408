//! Hosts: what sends the packets of a flow, and what answers them.
//!
//! The ends of connections and the sources that hear of the network are [`Endpoint`]s. A source that sends by
//! its own pattern whatever the network does is not driven through that trait: the world draws its packets
//! from its [`Emission`].

mod greedy;
mod restrained;
mod restraint;
mod transport_end;

pub use greedy::Greedy;
pub use restrained::Restrained;
pub use restraint::Restraint;
pub use transport_end::TransportEnd;

use crate::source::Emission;
use std::collections::VecDeque;
use tidegate_core::endpoint::{Action, Endpoint, Notice, Payload};
use tidegate_core::packet::Mark;
use tidegate_core::units::Time;

/// What endpoints and relays have handed out and the world has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// What the endpoint that was called last has done.
    pub(crate) actions: Vec<Action>,
    pub(crate) sends: VecDeque<Sending>,
    /// Flows whose source has nothing more to send.
    pub(crate) ended: Vec<u32>,
    /// Notices for sources, which they hear at once.
    pub(crate) notices: VecDeque<(u32, Notice)>,
    /// Flows whose endpoint asked to be woken once more at once.
    pub(crate) again: VecDeque<u32>,
    /// Links whose ports may have become ready.
    pub(crate) ready: Vec<u32>,
    /// Links that are idle and have cells of their own to send.
    pub(crate) cells: Vec<u32>,
    /// Whether the world is taking what is in here.
    pub(crate) being_emptied: bool,
}

impl Outbox {
    /// Whether nothing waits that the world would take.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.sends.is_empty()
            && self.ended.is_empty()
            && self.notices.is_empty()
            && self.again.is_empty()
            && self.ready.is_empty()
            && self.cells.is_empty()
    }

    /// Sorts what the endpoint that sends `flow` has done.
    pub(crate) fn sort(&mut self, flow: u32) {
        for action in self.actions.drain(..) {
            match action {
                Action::Send { len, mark, payload, first_sent } => {
                    self.sends.push_back(Sending { flow, hop: None, len, mark, payload, first_sent });
                }
                Action::Again => self.again.push_back(flow),
                Action::Ended => self.ended.push(flow),
            }
        }
    }
}

/// A packet that is handed to the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) flow: u32,
    /// Where it enters the flow's route; `None` for its beginning.
    pub(crate) hop: Option<u32>,
    pub(crate) len: u32,
    pub(crate) mark: Mark,
    pub(crate) payload: Payload,
    /// When the same data were sent first, if they are sent again.
    pub(crate) first_sent: Option<Time>,
}

/// What sends a flow's packets.
pub(crate) enum Source {
    /// A pattern of its own, whatever the network does: the fast path.
    OpenLoop(Emission),
    /// A state machine.
    Endpoint(Box<dyn Endpoint>),
}
