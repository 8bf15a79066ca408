//! Kinds of events of links and flows.

/// A pending event; indexes are of links or flows.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The last bit of the packet in service leaves the link; or, with none in service, a link with
    /// a trace has an opportunity for a waiting packet.
    Departed(u32),
    /// The last bit of the first packet in flight reaches the link's end.
    Arrived(u32),
    /// A port asked to be woken.
    Timer(u32),
    /// A source's next packet, or the time requested by an endpoint.
    Source(u32),
}
