//! Interface for the fuzz targets. It is built with `--cfg fuzzing` only.

pub use crate::control::fuzzing::ControlServer;
pub use crate::virtual_gate::{Gate, GatePlan};

use crate::frame::offload::{HEADER, Offloaded};
use crate::frame::super_packet;

/// The maximum length of the frames that a frame with this virtio-net header is segmented into, and
/// these frames; `None` when the header is unsupported. `inserted` bytes of VLAN tags were put back
/// into the frame.
///
/// # Panics
/// When a frame is longer than the length that was computed.
pub fn segment(header: &[u8; HEADER], frame: &[u8], inserted: usize) -> Option<(usize, Vec<Vec<u8>>)> {
    let offloaded = Offloaded::new(header, frame, inserted).ok()?;
    let longest = offloaded.longest();
    let one = |ix| {
        let mut buffer = vec![0xee; longest];
        let length = offloaded.write(ix, &mut buffer).expect("room for the longest");
        buffer.truncate(length);
        buffer
    };
    Some((longest, (0..offloaded.segments()).map(one).collect()))
}

/// The messages that frames are sent as, each with its virtio-net header.
pub fn join(frames: &[Vec<u8>]) -> Vec<([u8; HEADER], Vec<u8>)> {
    super_packet::joined(frames).into_iter().map(|(header, bytes, _)| (header, bytes)).collect()
}
