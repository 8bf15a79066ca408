//! The receiving end of an ABR connection, which turns RM cells round.

use super::frames::cell_of;
use crate::aal5::{Reassembled, Reassembly};
use crate::abr::Destination;
use crate::endpoint::{Counts, Endpoint, HostCx, Notice, Payload};
use crate::packet::{Mark, Packet};
use crate::units::Time;

/// The receiving end.
#[derive(Debug)]
pub(super) struct Receiver {
    destination: Destination,
    header: u32,
    /// True if cells carry packets of AAL5.
    has_frames: bool,
    /// Reassembly of packets, from the first cell on.
    reassembly: Option<Reassembly>,
    delivered: u64,
}

impl Receiver {
    /// A receiver of cells with a header of `header` bytes; `has_frames` is true if they carry
    /// packets of AAL5.
    pub(super) fn new(header: u32, has_frames: bool) -> Receiver {
        let destination = Destination::default();
        Receiver { destination, header, has_frames, reassembly: None, delivered: 0 }
    }
}

impl Endpoint for Receiver {
    fn wake(&mut self, _: &mut HostCx<'_>) -> Time {
        Time::NEVER
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        match payload {
            Payload::Rm(frm) => {
                cx.send(packet.len, Mark::NONE, Payload::Rm(self.destination.turn_round(frm)))
            }
            data => {
                self.destination.data(packet.mark);
                let room = packet.len.saturating_sub(self.header).max(1);
                self.delivered += match data {
                    Payload::Words(words) if self.has_frames => {
                        let reassembly = self.reassembly.get_or_insert_with(|| Reassembly::new(room));
                        match reassembly.take(cell_of(*words), false) {
                            Reassembled::Packet { len, .. } => u64::from(len),
                            Reassembled::Incomplete | Reassembled::Discarded { .. } => 0,
                        }
                    }
                    Payload::Words([bytes, ..]) => *bytes,
                    _ => u64::from(room),
                };
            }
        }
        Time::NEVER
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        Time::NEVER
    }

    fn counts(&self) -> Counts {
        Counts { delivered: Some(self.delivered), ..Counts::default() }
    }
}
