//! A link's own cells: credit cells and credit_check cells, which go ahead of its port's queue.
//!
//! They belong to no flow and take no place in a queue. Transmission time, delay and losses apply
//! to them as to packets.

use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

/// The body of a packet that represents one of the link's own cells.
const OWN: BodyId = BodyId(u32::MAX);

/// The own cells of one direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    /// The cell being sent, and the time at which its first bit left.
    in_service: Option<(Packet, Time)>,
    /// True while cells wait for the link.
    pub(crate) due: bool,
    /// Cells whose last bit has left, since the warm-up.
    sent: Count,
    /// Time for which they occupied the link, since the warm-up.
    busy: Span,
}

/// A link's own cell, by the number that its sender gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlCell {
    pub(crate) id: u64,
    pub(crate) len: u32,
}

impl ControlCell {
    /// Returns the packet that represents the cell on the link.
    pub(crate) fn packet(self) -> Packet {
        let mut packet = Packet::new(OWN, self.len);
        packet.tag = self.id;
        packet
    }

    /// Returns the number of a link's own cell; `None` for a packet of a flow.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet) -> Option<u64> {
        (packet.body == OWN).then_some(packet.tag)
    }
}

impl Control {
    /// Returns true if no cell is being sent and none waits.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        !self.due && !self.is_sending()
    }

    #[inline(always)]
    pub(crate) fn is_sending(&self) -> bool {
        self.in_service.is_some()
    }

    pub(crate) fn start(&mut self, now: Time, packet: Packet) {
        self.in_service = Some((packet, now));
    }

    /// Completes the cell being sent, if any.
    pub(crate) fn finish(&mut self, now: Time) -> Option<Packet> {
        let (packet, started) = self.in_service.take()?;
        self.sent.add(packet.len);
        self.busy += now.since(started);
        Some(packet)
    }

    /// Resets the counters at the end of the warm-up.
    pub(crate) fn count_anew(&mut self, now: Time) {
        (self.sent, self.busy) = (Count::default(), Span::ZERO);
        if let Some((_, started)) = &mut self.in_service {
            *started = now;
        }
    }

    /// Returns the number and bytes of cells whose last bit has left, since the warm-up.
    pub(crate) fn sent(&self) -> Count {
        self.sent
    }

    /// Returns the time for which cells occupied the link up to `now`, since the warm-up.
    pub(crate) fn busy(&self, now: Time) -> Span {
        let under_way = self.in_service.map_or(Span::ZERO, |(_, started)| now.since(started));
        self.busy + under_way
    }
}
