//! Hosts that send packets as ATM cells: segmentation at the source and reassembly at the
//! destination, by AAL5.
//!
//! Between the two a cell is a packet like any other, with its place in queues, its delay and its
//! losses. Sender and receiver of the flow see packets.

use super::World;
use super::host_events::HostEvent;
use crate::event_queue::EventQueue;
use crate::host::Sending;
use crate::packets::PacketBody;
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::aal5::{self, Cell, Reassembled, Reassembly};
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;
use tidegate_core::stats::{Count, wrapping_count};
use tidegate_core::units::Span;

/// The two ends of each flow that is sent as cells.
#[derive(Debug, Default)]
pub(super) struct Aal5 {
    ends: BTreeMap<u32, Ends>,
}

#[derive(Debug, Default)]
struct Ends {
    /// Packets that the host has not prepared, and whether it is preparing or sending one.
    waiting: VecDeque<Sending>,
    is_busy: bool,
    /// Number of the next packet.
    next: u32,
    /// Number of the first packet since the warm-up.
    first_measured: u32,
    reassembly: Reassembly,
    counts: PacketCounts,
}

impl Aal5 {
    /// Ends the warm-up: packets that are cut from now on count.
    pub(super) fn warmed_up(&mut self) {
        self.ends.values_mut().for_each(|ends| ends.first_measured = ends.next);
    }

    /// Returns true if a flow's cell is of a packet that was cut since the warm-up, which is over.
    pub(super) fn measures(&self, flow: u32, cell: Cell) -> bool {
        self.ends.get(&flow).is_some_and(|ends| ends.measures(cell))
    }
}

impl Ends {
    /// Returns true if a cell is of a packet that was cut since the warm-up, which is over. Packet
    /// numbers wrap.
    fn measures(&self, cell: Cell) -> bool {
        cell.packet.wrapping_sub(self.first_measured).cast_signed() >= 0
    }
}

/// Counts of packets of a flow that is sent as cells, since the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets that were cut into cells.
    pub sent: Count,
    /// Packets that were reassembled.
    pub received: Count,
    /// Cells that arrived and were discarded because another cell of their packet did not arrive.
    pub discarded_cells: u64,
}

impl<Q: EventQueue> World<Q> {
    /// Sends a packet of a flow that is sent as cells: a host with a preparation time prepares it
    /// when the previous one has left.
    pub(super) fn send_packet(&mut self, sending: Sending) {
        let ix = sending.flow;
        if self.cx.flows[ix as usize].preparation == Span::ZERO {
            return self.send_cells(&sending);
        }
        let ends = self.aal5.ends.entry(ix).or_default();
        ends.waiting.push_back(sending);
        self.cx.packets.hold_without_body(1);
        if !core::mem::replace(&mut ends.is_busy, true) {
            self.prepare(ix);
        }
    }

    fn prepare(&mut self, ix: u32) {
        self.host_events.schedule(
            self.cx.now + self.cx.flows[ix as usize].preparation,
            ix,
            HostEvent::Prepared,
        );
        self.schedule_housekeeping();
    }

    /// Sends a packet that the host of a flow has prepared.
    pub(super) fn prepared(&mut self, ix: u32) {
        let ends = self.aal5.ends.entry(ix).or_default();
        if let Some(sending) = ends.waiting.pop_front() {
            self.cx.packets.release_without_body();
            self.send_cells(&sending);
        }
    }

    /// Returns true if a host waits for this packet to leave its first port: the last cell of a
    /// packet.
    pub(super) fn ends_packet(&self, packet: &Packet) -> bool {
        let body = self.cx.packets.body(packet.body);
        let flow = &self.cx.flows[body.flow as usize];
        flow.preparation > Span::ZERO
            && body.hop == flow.first_hop
            && self.cx.packets.cell(packet.body).is_some_and(|cell| cell.trailer.is_some())
    }

    /// Records that the last cell of a packet has left the first port of its flow, or was dropped
    /// there.
    pub(super) fn packet_left(&mut self, ix: u32) {
        let ends = self.aal5.ends.entry(ix).or_default();
        ends.is_busy = !ends.waiting.is_empty();
        if ends.is_busy {
            self.prepare(ix);
        }
    }

    /// Sends a host's packet into the network cell by cell.
    #[inline(never)]
    fn send_cells(&mut self, sending: &Sending) {
        let Sending { flow: ix, len, payload, first_sent, .. } = *sending;
        let ends = self.aal5.ends.entry(ix).or_default();
        let number = ends.next;
        ends.next = number.wrapping_add(1);
        if self.cx.measures.warm {
            ends.counts.sent.add(len);
        }
        // Packets that stages send between two cells stay between them.
        let waiting = self.cx.outbox.take_sends();
        for cell in aal5::segment(number, len) {
            if self.is_over_full() {
                break;
            }
            let flow = &mut self.cx.flows[ix as usize];
            let hop = flow.first_hop;
            let body = PacketBody::new(self.cx.now, flow.next_sequence, ix, hop, flow.group);
            wrapping_count(&mut flow.next_sequence, 1);
            let colour = flow.mark.colour();
            self.cx.measures.records[ix as usize].count_sent(aal5::CELL);
            let payload = if cell.trailer.is_some() { payload } else { Payload::None };
            let mut packet =
                Packet::new(self.cx.packets.store_cell(body, payload, first_sent, cell), aal5::CELL);
            packet.mark = sending.mark.coloured(sending.mark.colour().max(colour));
            self.enter(hop, &mut packet, None);
            while let Some(between) = self.cx.outbox.next_send() {
                let Sending { flow, hop, len, mark, payload, first_sent } = between;
                self.send(flow, hop, len, mark, &payload, first_sent);
            }
        }
        self.cx.outbox.put_back(waiting);
    }

    /// Takes a cell at its destination. Returns true if it completes a packet, which is then in
    /// `packet`.
    #[inline(never)]
    pub(super) fn reassemble(&mut self, packet: &mut Packet, body: &PacketBody, cell: Cell) -> bool {
        let ends = self.aal5.ends.entry(body.flow).or_default();
        let counts = self.cx.measures.warm && ends.measures(cell);
        match ends.reassembly.take(cell, packet.mark.is_congested()) {
            Reassembled::Incomplete => false,
            Reassembled::Packet { len, marked } => {
                packet.len = len;
                if marked {
                    packet.mark = packet.mark.congested();
                }
                if counts {
                    ends.counts.received.add(len);
                }
                true
            }
            Reassembled::Discarded { cells } => {
                if counts {
                    ends.counts.discarded_cells += u64::from(cells);
                }
                false
            }
        }
    }
}

impl<Q> World<Q> {
    /// Returns the packet counts of a flow that is sent as cells, since the warm-up; `None` for
    /// other flows.
    pub fn packets_of_cells(&self, flow: usize) -> Option<PacketCounts> {
        if !self.cx.flows[flow].aal5 {
            return None;
        }
        Some(self.aal5.ends.get(&(flow as u32)).map_or_else(PacketCounts::default, |ends| ends.counts))
    }
}
