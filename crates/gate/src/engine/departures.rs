//! Frames that are due: their order, the part of them that another thread sends, and their end.

use super::Engine;
use super::port::{Departure, Port};
use crate::frame::grouping;
use crate::stats::LossReason;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::packet::BodyId;
use tidegate_core::units::Time;

impl Engine {
    /// The frames that are due in a direction, in order.
    pub(crate) fn departures(&self, direction: Direction) -> &[Departure] {
        &self.ports[direction as usize].departures
    }

    /// Puts the frames that are due in a direction and may be joined next to each other: see
    /// [`grouping::group`].
    pub(crate) fn group_departures(&mut self, direction: Direction) {
        let Port { departures, arena, .. } = &mut self.ports[direction as usize];
        grouping::group(departures, |departure| arena.frame(departure.body));
    }

    /// Puts those of the first `count` frames due in a direction first for which `is_first` is true, and
    /// returns their number. Both parts keep their order.
    pub(crate) fn part_departures(
        &mut self,
        direction: Direction,
        count: usize,
        is_first: impl Fn(&[u8]) -> bool,
    ) -> usize {
        let Port { departures, arena, .. } = &mut self.ports[direction as usize];
        let mut later = [Departure { body: BodyId(0), due: Time::ORIGIN }; grouping::MOST];
        let (mut first, mut rest) = (0, 0);
        for ix in 0..count.min(grouping::MOST) {
            let departure = departures[ix];
            if is_first(arena.frame(departure.body)) {
                departures[first] = departure;
                first += 1;
            } else {
                later[rest] = departure;
                rest += 1;
            }
        }
        departures[first..first + rest].copy_from_slice(&later[..rest]);
        first
    }

    /// The bytes of a frame that is due in a direction.
    pub(crate) fn frame(&self, direction: Direction, departure: Departure) -> &[u8] {
        self.ports[direction as usize].arena.frame(departure.body)
    }

    /// Counts a frame as lost that was completed as sent, with `length` bytes: the kernel refused
    /// it later.
    pub(crate) fn refused(&mut self, direction: Direction, length: usize) {
        let counters = &mut self.ports[direction as usize].counters;
        counters.sent -= 1;
        counters.sent_bytes -= length as u64;
        counters.count_loss(LossReason::Device);
    }

    /// Completes departures: the kernel took the first `sent` frames and refused the `refused`
    /// frames after them.
    pub(crate) fn complete(&mut self, direction: Direction, sent: usize, refused: usize) {
        let port = &mut self.ports[direction as usize];
        for (ix, departure) in port.departures.drain(..sent + refused).enumerate() {
            if ix < sent {
                port.counters.sent += 1;
                port.counters.sent_bytes += u64::from(port.arena.length(departure.body));
            } else {
                port.counters.count_loss(LossReason::Device);
            }
            port.arena.free(departure.body);
        }
    }
}
