//! The user-behaviour envelope in front of a flow's first port (Zhang 1991, section 3.3).
//!
//! The port's shaper delays the packets; this relay keeps the counts: a packet leaves its source
//! when the envelope releases it.

use crate::relay::{Relay, RelayCx};
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;

/// The counts of every envelope.
pub(in crate::world) struct Envelope;

impl Relay for Envelope {
    fn leave(&mut self, cx: &mut RelayCx<'_>, flow: u32, hop: u32, packet: &mut Packet, _: &mut Payload) {
        if hop != cx.hops_of(flow).start {
            return;
        }
        let body = cx.packets.body_mut(packet.body);
        let waited = packet.arrived.since(body.born);
        body.born = packet.arrived;
        cx.measures.left_envelope(flow, packet.arrived, waited);
    }
}
