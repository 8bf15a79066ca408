//! Flight: last bits that have left a link travel to its end.

use super::lanes::is_cell;
use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fabric::After;
use tidegate_core::link::Flight;
use tidegate_core::packet::Packet;

/// The hop of a link's own cell, which has none.
const NO_HOP: u32 = u32::MAX;

impl<Q: EventQueue> World<Q> {
    /// Sends the packet's last bit over a hop to the end of the link, which it may never reach.
    #[inline(always)]
    pub(super) fn fly(&mut self, ix: u32, hop: u32, packet: &mut Packet) {
        let Some(number) = self.cx.fabric.links[ix as usize].flights else {
            return self.fly_alone(ix, hop, packet);
        };
        match self.send_off_with_others(ix, number, hop, packet) {
            Flight::Lost => self.lose(ix, packet),
            // Its body is not touched when it lands.
            _ => self.pass_hop(hop, packet),
        }
    }

    /// Like [`fly`](Self::fly), where the line itself keeps packets in flight.
    #[inline(never)]
    fn fly_alone(&mut self, ix: u32, hop: u32, packet: &mut Packet) {
        match self.send_off_alone(ix, packet) {
            Flight::Lost => self.lose(ix, packet),
            Flight::Arrived => {
                self.pass_hop(hop, packet);
                self.deliver(hop, packet);
            }
            Flight::InFlight { .. } => {}
        }
    }

    /// Notes that a packet goes on over the next hop, if there is one.
    #[inline(always)]
    fn pass_hop(&mut self, hop: u32, packet: &Packet) {
        if After::Flight.is_of(packet) {
            self.cx.packets.body_mut(packet.body).hop = hop.wrapping_add(1);
        }
    }

    /// Sends off the last bit of a link's own cell that has left the link.
    pub(super) fn send_off(&mut self, ix: u32, cell: &Packet) -> Flight {
        match self.cx.fabric.links[ix as usize].flights {
            Some(number) => self.send_off_with_others(ix, number, NO_HOP, cell),
            None => self.send_off_alone(ix, cell),
        }
    }

    /// Sends off the last bit of a packet over a link that shares its flights.
    #[inline(always)]
    fn send_off_with_others(&mut self, ix: u32, number: u32, hop: u32, packet: &Packet) -> Flight {
        let link = &mut self.cx.fabric.links[ix as usize];
        if link.line.loses(&mut link.rng) {
            return Flight::Lost;
        }
        let flights = &mut self.cx.fabric.flights[number as usize];
        let first = flights.is_empty();
        let at = flights.send(self.cx.now, ix, hop, packet);
        if first {
            self.events.arrives(ix, number, at);
        }
        Flight::InFlight { first }
    }

    /// Sends off the last bit of a packet where the line itself keeps packets in flight.
    #[inline(never)]
    fn send_off_alone(&mut self, ix: u32, packet: &Packet) -> Flight {
        let link = &mut self.cx.fabric.links[ix as usize];
        let flight = link.line.fly(self.cx.now, self.cx.now, *packet, &mut link.rng);
        if flight == (Flight::InFlight { first: true }) {
            self.events.set(Event::Arrived(ix), link.line.next_arrival());
        }
        flight
    }

    /// Handles the first packet of these flights, which reaches the far end of its link.
    #[inline(always)]
    pub(super) fn arrived(&mut self, ix: u32, number: u32) {
        let flights = &mut self.cx.fabric.flights[number as usize];
        let landed = flights.land();
        self.events.landed(number, flights.next());
        let Some((mut packet, hop)) = landed else { return };
        match is_cell(&packet) {
            true => self.cell_arrived(ix, &packet),
            false => self.deliver(hop, &mut packet),
        }
    }

    /// Like [`arrived`](Self::arrived), where the line itself keeps packets in flight.
    #[inline(never)]
    pub(super) fn arrived_alone(&mut self, ix: u32) {
        let line = &mut self.cx.fabric.links[ix as usize].line;
        let landed = line.land(self.cx.now);
        self.events.set(Event::Arrived(ix), line.next_arrival());
        let Some(mut packet) = landed else { return };
        if is_cell(&packet) {
            return self.cell_arrived(ix, &packet);
        }
        let hop = self.cx.packets.body(packet.body).hop;
        self.pass_hop(hop, &packet);
        self.deliver(hop, &mut packet);
    }
}
