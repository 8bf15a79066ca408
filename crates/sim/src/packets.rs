//! What the world keeps of every packet that is in the network.

use crate::packet_log::PacketId;
use std::collections::BTreeMap;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::BodyId;
use tidegate_core::units::{Span, Time};

/// A packet's own data, while it is in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketBody {
    /// When it left its source.
    pub(crate) born: Time,
    pub(crate) queueing: Span,
    pub(crate) sequence: u64,
    pub(crate) flow: u32,
    /// Index into the hops: where it is now.
    pub(crate) hop: u32,
    pub(crate) group: u32,
    /// Index of its payload; [`NOTHING`] without one.
    payload: u32,
}

/// The payload of a packet without one.
const NOTHING: u32 = u32::MAX;

/// The most packets that may be in the network at once. With what queues keep of them, they take 1 to 2 GB.
pub(crate) const MOST_PACKETS: usize = 8_000_000;

/// The packets in the network, by their bodies' numbers.
#[derive(Default)]
pub(crate) struct Packets {
    bodies: Vec<PacketBody>,
    free: Vec<u32>,
    payloads: Vec<Payload>,
    free_payloads: Vec<u32>,
    /// When the data of packets that are sent again were sent first, by the number of the body.
    first_sent: BTreeMap<u32, Time>,
}

impl PacketBody {
    pub(crate) fn id(&self) -> PacketId {
        PacketId { flow: self.flow, sequence: self.sequence }
    }

    /// A packet without a payload that leaves its source now, into `hop`.
    #[inline(always)]
    pub(crate) fn new(born: Time, sequence: u64, flow: u32, hop: u32, group: u32) -> PacketBody {
        PacketBody { born, queueing: Span::ZERO, sequence, flow, hop, group, payload: NOTHING }
    }
}

impl Packets {
    #[inline(always)]
    pub(crate) fn store(&mut self, body: PacketBody) -> BodyId {
        match self.free.pop() {
            Some(id) => {
                self.bodies[id as usize] = body;
                BodyId(id)
            }
            None => {
                self.bodies.push(body);
                BodyId((self.bodies.len() - 1) as u32)
            }
        }
    }

    /// How many packets are in the network.
    pub(crate) fn stored(&self) -> usize {
        self.bodies.len() - self.free.len()
    }

    /// The packet has left the network. It has no payload, and was not sent again.
    #[inline(always)]
    pub(crate) fn forget_plain(&mut self, id: BodyId) {
        self.free.push(id.0);
    }

    /// The packet has left the network.
    pub(crate) fn forget(&mut self, id: BodyId) {
        self.set_payload(id, Payload::None);
        if !self.first_sent.is_empty() {
            self.first_sent.remove(&id.0);
        }
        self.free.push(id.0);
    }

    #[inline(always)]
    pub(crate) fn body(&self, id: BodyId) -> &PacketBody {
        &self.bodies[id.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn body_mut(&mut self, id: BodyId) -> &mut PacketBody {
        &mut self.bodies[id.0 as usize]
    }

    /// When the packet's data were sent first: before the packet was, if it is a retransmission.
    pub(crate) fn first_sent(&self, id: BodyId) -> Time {
        self.first_sent.get(&id.0).copied().unwrap_or(self.body(id).born)
    }

    /// The packet's data were sent before, first at `at`.
    pub(crate) fn set_first_sent(&mut self, id: BodyId, at: Time) {
        self.first_sent.insert(id.0, at);
    }

    pub(crate) fn payload(&self, id: BodyId) -> Payload {
        self.payloads.get(self.body(id).payload as usize).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn set_payload(&mut self, id: BodyId, payload: Payload) {
        let at = &mut self.bodies[id.0 as usize].payload;
        match (self.payloads.get_mut(*at as usize), payload) {
            (None, Payload::None) => {}
            (Some(_), Payload::None) => {
                self.free_payloads.push(*at);
                *at = NOTHING;
            }
            (Some(place), payload) => *place = payload,
            (None, payload) => match self.free_payloads.pop() {
                Some(free) => {
                    self.payloads[free as usize] = payload;
                    *at = free;
                }
                None => {
                    *at = self.payloads.len() as u32;
                    self.payloads.push(payload);
                }
            },
        }
    }

    /// Another packet like this one: the copy of a multicast packet on one of its links.
    pub(crate) fn copy(&mut self, id: BodyId) -> BodyId {
        let payload = self.payload(id);
        let copy = self.store(PacketBody { payload: NOTHING, ..*self.body(id) });
        self.set_payload(copy, payload);
        if let Some(at) = self.first_sent.get(&id.0).copied() {
            self.first_sent.insert(copy.0, at);
        }
        copy
    }
}
