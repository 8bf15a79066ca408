//! Per-packet state that the world keeps for packets in the network.

use crate::packet_log::PacketId;
use tidegate_core::aal5::Cell;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::BodyId;
use tidegate_core::units::{Span, Time};

/// Data of a packet while it is in the network, on one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct PacketBody {
    /// Time at which it left its source.
    pub(crate) born: Time,
    pub(crate) queueing: Span,
    pub(crate) sequence: u64,
    pub(crate) flow: u32,
    /// Index of its present hop; of the next one while it is in flight.
    pub(crate) hop: u32,
    pub(crate) group: u32,
    /// Index of its content; [`NOTHING`] without one.
    content: u32,
}

/// The flow of a packet that belongs to none.
const NO_FLOW: u32 = u32::MAX;

/// The content of a packet without one.
const NOTHING: u32 = u32::MAX;

/// Content that only some packets have: those of connections and of stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) payload: Payload,
    /// Time at which its data were first sent; `None` if they are sent with this packet.
    pub(crate) first_sent: Option<Time>,
    /// Its part of another packet, if it is an ATM cell.
    pub(crate) cell: Option<HostCell>,
}

/// An ATM cell of a packet that a host has cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCell {
    pub(crate) cell: Cell,
    /// True if the packet was cut after the warm-up.
    pub(crate) is_counted: bool,
}

impl Content {
    /// Content of a packet without any.
    pub(crate) const NONE: Content = Content { payload: Payload::None, first_sent: None, cell: None };
}

/// The most packets that may be in the network at once. Including their entries in queues, they
/// take 1 to 2 GB.
const MAX_PACKETS: usize = 8_000_000;

/// The packets in the network, by their bodies' numbers.
pub(crate) struct Packets {
    bodies: Vec<PacketBody>,
    free: Vec<u32>,
    contents: Vec<Content>,
    free_contents: Vec<u32>,
    /// Number of packets without a body of their own: further queue entries of multicast packets,
    /// and packets that hosts have not prepared yet.
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

    /// Creates the body of a cell in the priority lane of a link, which belongs to no flow.
    pub(crate) fn of_cell(born: Time) -> PacketBody {
        PacketBody::new(born, 0, NO_FLOW, u32::MAX, u32::MAX)
    }

    /// Creates the body of a packet without content that leaves its source now, into `hop`.
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

    /// Returns the number of packets in the network.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.bodies.len() - self.free.len() + self.bodiless
    }

    /// Counts further packets that have no body of their own.
    pub(crate) fn hold_without_body(&mut self, packets: usize) {
        self.bodiless += packets;
    }

    /// Discounts a packet without a body of its own: it is gone, or gets one.
    pub(crate) fn release_without_body(&mut self) {
        self.bodiless -= 1;
    }

    /// Like [`store`](Self::store), for a packet with a payload, or with data first sent at
    /// `first_sent`.
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

    /// Like [`store`](Self::store), for an ATM cell; the last cell of a packet has the packet's
    /// payload.
    pub(crate) fn store_cell(
        &mut self,
        body: PacketBody,
        payload: Payload,
        first_sent: Option<Time>,
        cell: HostCell,
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

    /// Forgets a packet that has left the network.
    #[inline(always)]
    pub(crate) fn forget(&mut self, id: BodyId) {
        let content = self.body(id).content;
        self.free.push(id.0);
        if content != NOTHING {
            self.free_contents.push(content);
        }
    }

    /// Removes a packet that leaves the network; returns its body and content.
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

    /// Returns true if the packet has content.
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

    /// Returns the time at which the data of a packet were first sent.
    pub(crate) fn first_sent(&self, id: BodyId) -> Time {
        self.content(id).and_then(|content| content.first_sent).unwrap_or(self.body(id).born)
    }

    /// Returns the part of another packet that this packet is, if it is an ATM cell.
    pub(crate) fn cell(&self, id: BodyId) -> Option<Cell> {
        self.content(id).and_then(|content| content.cell).map(|host| host.cell)
    }

    /// Sets a packet's payload; an empty one takes no memory.
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

    /// Stores a copy of this packet: a multicast packet's copy on one of its links.
    pub(crate) fn copy(&mut self, id: BodyId) -> BodyId {
        let content = self.content(id).copied().map_or(NOTHING, |content| self.place(content));
        self.store(PacketBody { content, ..*self.body(id) })
    }
}
