//! Requests on their way along a route.
//!
//! A set-up or a change goes from the source to the destination and is booked at every link it
//! passes. The destination confirms it, and the confirmation commits it link by link on its way
//! back. A link that refuses sends a refusal back instead, which withdraws the bookings. So a
//! request is granted whole or refused whole. Either end may tear the flow down at any time.
//!
//! Messages of one direction stay in order; those of opposite directions may cross. Every step is
//! harmless where its flow is not known (any more), so that crossings need no special case: a
//! change that meets a tear-down on its way is refused as unknown.
//!
//! A source has one request under way at a time.

use super::{FlowId, FlowSpec, Ledger, Refusal, Stamps};

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Towards the destination: sets the flow up.
    SetUp(FlowSpec),
    /// Towards the destination: changes the flow's reservation.
    Change(FlowSpec),
    /// Towards the source: the request is granted.
    Confirm,
    /// Towards the source: the link with this place on the route refuses.
    Refuse(u32, Refusal),
    /// Frees the flow's reservation; towards the destination, or else towards the source.
    TearDown {
        /// True if the source sent it.
        forward: bool,
    },
}

/// A message about a flow, at the link with this place on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Flow that the message is about.
    pub flow: FlowId,
    /// Place of the link on the route; 0 is the first.
    pub place: u32,
    /// Content of the message.
    pub kind: MessageKind,
}

/// Next stop of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To another link of the route, in front of it (forward) or behind it (backward).
    Link(Message),
    /// It has reached the source.
    Source(MessageKind),
    /// It has reached the destination.
    Destination(MessageKind),
}

/// The action of the switch in front of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Promise the flow this reservation from now on: open it, or change it.
    Promise(FlowSpec),
    /// Close the flow.
    Close,
}

/// Processes a message at a link of a route of `links` links, where `stamps` tells which packets
/// have been stamped.
pub fn pass(ledger: &mut Ledger, message: Message, links: u32, stamps: Stamps) -> (Act, Next) {
    let Message { flow, place, kind } = message;
    ledger.expire(stamps.passed);
    let forward = |kind| match place + 1 < links {
        true => Next::Link(Message { flow, place: place + 1, kind }),
        false => Next::Destination(kind),
    };
    let backward = |kind| match place.checked_sub(1) {
        Some(place) => Next::Link(Message { flow, place, kind }),
        None => Next::Source(kind),
    };
    match kind {
        MessageKind::SetUp(spec) | MessageKind::Change(spec) => {
            let booked = match kind {
                MessageKind::SetUp(_) => ledger.set_up(flow, spec),
                _ => ledger.change(flow, spec),
            };
            match booked {
                Ok(()) => (Act::Nothing, forward(kind)),
                // This link booked nothing: only the links before it have something to withdraw.
                Err(refusal) => (Act::Nothing, backward(MessageKind::Refuse(place, refusal))),
            }
        }
        MessageKind::Confirm => {
            let act = ledger.confirm(flow, stamps).map_or(Act::Nothing, Act::Promise);
            (act, backward(kind))
        }
        MessageKind::Refuse(..) => {
            ledger.withdraw(flow);
            (Act::Nothing, backward(kind))
        }
        MessageKind::TearDown { forward: towards_destination } => {
            let act = if ledger.tear_down(flow, stamps) { Act::Close } else { Act::Nothing };
            (act, if towards_destination { forward(kind) } else { backward(kind) })
        }
    }
}
