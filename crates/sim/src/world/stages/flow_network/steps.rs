//! Steps of the signalling for a flow, and the states that they lead to.

use tidegate_core::admission::signalling::{Message, MessageKind};

/// A step for a flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Its source asks for it to be set up.
    SetUp,
    /// Its source asks for the change with this number.
    Change(usize),
    /// A message reaches a link of its route.
    Pass(Message),
    /// A message reaches its source.
    AtSource(MessageKind),
    /// A message reaches its destination.
    AtDestination(MessageKind),
    /// Its source has nothing more to send: it is torn down as soon as its packets are through.
    Finish,
    /// Its destination tears it down.
    HangUp,
    /// A window ends over which links measure their datagrams; for no flow.
    Measure,
}

/// Set-up state of a flow, as known to its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Open from the start, without a request.
    Given,
    /// Not requested yet.
    New,
    Asked,
    Granted,
    /// With a change under way, by its number.
    Changing(usize),
    /// Refused or torn down.
    Gone,
}
