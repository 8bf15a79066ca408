//! The lengths of packets while a port counts them with others.

use tidegate_core::packet::Packet;

/// The own lengths of packets that are charged as longer or shorter, by body.
#[derive(Default)]
pub(super) struct OwnLengths(Vec<u32>);

impl OwnLengths {
    /// Charges a packet with another length.
    pub(super) fn charge(&mut self, packet: &mut Packet, len: u32) {
        let body = packet.body.0 as usize;
        if self.0.len() <= body {
            self.0.resize(body + 1, 0);
        }
        self.0[body] = core::mem::replace(&mut packet.len, len);
    }

    /// Gives a packet that was charged its own length again.
    pub(super) fn restore(&self, packet: &mut Packet) {
        packet.len = self.0[packet.body.0 as usize];
    }
}
