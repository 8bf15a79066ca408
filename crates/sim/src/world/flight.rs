//! Flight: last bits that have left a link travel to its end.

use super::lanes::is_cell;
use super::{Event, World};
use crate::event_queue::EventQueue;
use tidegate_core::link::Flight;
use tidegate_core::packet::Packet;

impl<Q: EventQueue> World<Q> {
    /// Sends the packet's last bit to the end of the link, which it may never reach.
    #[inline(never)]
    pub(super) fn fly(&mut self, ix: u32, packet: &mut Packet) {
        match self.send_off(ix, packet) {
            Flight::Lost => self.lose(ix, packet),
            Flight::Arrived => self.deliver(packet),
            Flight::InFlight { .. } => {}
        }
    }

    /// Sends off the last bit of a packet, or of a link's own cell, that has left a link.
    #[inline(always)]
    pub(super) fn send_off(&mut self, ix: u32, packet: &Packet) -> Flight {
        let link = &mut self.cx.fabric.links[ix as usize];
        let Some(number) = link.flights else { return self.send_off_alone(ix, packet) };
        if link.line.loses(&mut link.rng) {
            return Flight::Lost;
        }
        let flights = &mut self.cx.fabric.flights[number as usize];
        let first = flights.is_empty();
        let at = flights.send(self.cx.now, ix, packet);
        if first {
            self.events.arrives(ix, number, at);
        }
        Flight::InFlight { first }
    }

    /// Like [`send_off`](Self::send_off), where the line itself keeps packets in flight.
    #[inline(never)]
    fn send_off_alone(&mut self, ix: u32, packet: &Packet) -> Flight {
        let link = &mut self.cx.fabric.links[ix as usize];
        let flight = link.line.fly(self.cx.now, self.cx.now, *packet, &mut link.rng);
        if flight == (Flight::InFlight { first: true }) {
            self.events.set(Event::Arrived(ix), link.line.next_arrival());
        }
        flight
    }

    /// Handles the first packet in flight, which reaches the far end of its link.
    #[inline(always)]
    pub(super) fn arrived(&mut self, ix: u32) {
        let link = &mut self.cx.fabric.links[ix as usize];
        let landed = match link.flights {
            Some(number) => {
                let flights = &mut self.cx.fabric.flights[number as usize];
                let landed = flights.land();
                self.events.landed(number, flights.next());
                landed
            }
            None => {
                let landed = link.line.land(self.cx.now);
                self.events.set(Event::Arrived(ix), link.line.next_arrival());
                landed
            }
        };
        let Some(mut packet) = landed else { return };
        match is_cell(&packet) {
            true => self.cell_arrived(ix, &packet),
            false => self.deliver(&mut packet),
        }
    }
}
