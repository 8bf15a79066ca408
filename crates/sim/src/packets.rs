//! State that the world keeps for every packet in the network.

use crate::packet_log::PacketId;
use tidegate_core::aal5::Cell;
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
    /// Index of its content; [`NOTHING`] without one.
    content: u32,
}

/// The content of a packet without one.
const NOTHING: u32 = u32::MAX;

/// What few packets have: those of connections and of relays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) payload: Payload,
    /// When its data were sent first; `None` when they are sent with this packet.
    pub(crate) first_sent: Option<Time>,
    /// What it is of another packet, if it is an ATM cell.
    pub(crate) cell: Option<Cell>,
}

impl Content {
    /// Content of a packet without any.
    pub(crate) const NONE: Content = Content { payload: Payload::None, first_sent: None, cell: None };
}

/// The most packets that may be in the network at once. With what queues keep of them, they take 1 to 2 GB.
const MAX_PACKETS: usize = 8_000_000;

/// The packets in the network, by their bodies' numbers.
pub(crate) struct Packets {
    bodies: Vec<PacketBody>,
    free: Vec<u32>,
    contents: Vec<Content>,
    free_contents: Vec<u32>,
    /// Packets without a body of their own: what a multicast packet takes in further queues, and packets that hosts have
    /// still to prepare.
    bodiless: usize,
    /// The most packets that may be in the network.
    pub(crate) most: usize,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets {
            bodies: Vec::new(),
            free: Vec::new(),
            contents: Vec::new(),
            free_contents: Vec::new(),
            bodiless: 0,
            most: MAX_PACKETS,
        }
    }
}

impl PacketBody {
    pub(crate) fn id(&self) -> PacketId {
        PacketId { flow: self.flow, sequence: self.sequence }
    }

    /// A packet without content that leaves its source now, into `hop`.
    #[inline(always)]
    pub(crate) fn new(born: Time, sequence: u64, flow: u32, hop: u32, group: u32) -> PacketBody {
        PacketBody { born, queueing: Span::ZERO, sequence, flow, hop, group, content: NOTHING }
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

    /// Number of packets in the network.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.bodies.len() - self.free.len() + self.bodiless
    }

    /// So many packets more have no body of their own.
    pub(crate) fn hold_without_body(&mut self, packets: usize) {
        self.bodiless += packets;
    }

    /// A packet without a body of its own is gone, or gets one.
    pub(crate) fn release_without_body(&mut self) {
        self.bodiless -= 1;
    }

    /// The same for a packet with a payload, or whose data were sent before, first at `first_sent`.
    #[inline]
    pub(crate) fn store_content(
        &mut self,
        body: PacketBody,
        payload: Payload,
        first_sent: Option<Time>,
    ) -> BodyId {
        let content = self.place(Content { payload, first_sent, cell: None });
        self.store(PacketBody { content, ..body })
    }

    /// The same for an ATM cell; the last cell of a packet has the packet's payload.
    pub(crate) fn store_cell(
        &mut self,
        body: PacketBody,
        payload: Payload,
        first_sent: Option<Time>,
        cell: Cell,
    ) -> BodyId {
        let content = self.place(Content { payload, first_sent, cell: Some(cell) });
        self.store(PacketBody { content, ..body })
    }

    #[inline]
    fn place(&mut self, content: Content) -> u32 {
        match self.free_contents.pop() {
            Some(free) => {
                self.contents[free as usize] = content;
                free
            }
            None => {
                self.contents.push(content);
                (self.contents.len() - 1) as u32
            }
        }
    }

    /// The packet has left the network. It has no content.
    #[inline(always)]
    pub(crate) fn forget_plain(&mut self, id: BodyId) {
        self.free.push(id.0);
    }

    /// The packet has left the network.
    #[inline]
    pub(crate) fn forget(&mut self, id: BodyId) {
        _ = self.take(id);
    }

    /// The packet leaves the network: what was stored of it.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: BodyId) -> (PacketBody, Option<Content>) {
        let body = *self.body(id);
        self.free.push(id.0);
        let content = self.contents.get(body.content as usize).copied();
        if content.is_some() {
            self.free_contents.push(body.content);
        }
        (body, content)
    }

    #[inline(always)]
    pub(crate) fn body(&self, id: BodyId) -> &PacketBody {
        &self.bodies[id.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn body_mut(&mut self, id: BodyId) -> &mut PacketBody {
        &mut self.bodies[id.0 as usize]
    }

    /// Whether the packet has content.
    #[inline(always)]
    pub(crate) fn has_content(&self, id: BodyId) -> bool {
        self.body(id).content != NOTHING
    }

    #[inline]
    fn content(&self, id: BodyId) -> Option<&Content> {
        self.contents.get(self.body(id).content as usize)
    }

    #[inline]
    pub(crate) fn payload(&self, id: BodyId) -> Payload {
        self.content(id).map_or(Payload::None, |content| content.payload)
    }

    /// The ATM cell that this packet is, if it is one.
    pub(crate) fn cell(&self, id: BodyId) -> Option<Cell> {
        self.content(id).and_then(|content| content.cell)
    }

    /// Writes a packet's payload; takes no memory for none.
    #[inline(always)]
    pub(crate) fn set_payload(&mut self, id: BodyId, payload: &Payload) {
        let at = self.body(id).content;
        match self.contents.get_mut(at as usize) {
            Some(content) => content.payload = *payload,
            None if matches!(payload, Payload::None) => {}
            None => {
                let content = Content { payload: *payload, first_sent: None, cell: None };
                self.body_mut(id).content = self.place(content);
            }
        }
    }

    /// Another packet like this one: the copy of a multicast packet on one of its links.
    pub(crate) fn copy(&mut self, id: BodyId) -> BodyId {
        let content = self.content(id).copied().map_or(NOTHING, |content| self.place(content));
        self.store(PacketBody { content, ..*self.body(id) })
    }
}
