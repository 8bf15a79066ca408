//! Does a flow keep its contract?

use crate::context::{Ctx, Verdict};
use crate::packet::Packet;

/// Sees every packet that arrives at a port, before shapers and dropper, and may colour it,
/// mark it or refuse it.
pub trait Meter {
    /// A packet of `packet.flow` (its index at the port) has arrived.
    fn see(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet) -> Verdict;
}
