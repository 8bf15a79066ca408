//! Packet sockets with a ring to receive from (packet_mmap): memory that the kernel writes frames to and
//! the gate reads them from, with no call in between.
//!
//! [`slots`] is its second version, a frame in each slot, seen as soon as it is there. [`blocks`] is the
//! third: frames packed into blocks, which the kernel hands over when they are full or a millisecond
//! old. To send from such a ring was measured over veth and is slower than `sendmmsg` (the kernel
//! pins the ring's pages and has to copy them after all), so senders are those of packet sockets.
//!
//! Source: the kernel's Documentation/networking/packet_mmap.rst.

#![allow(unsafe_code)]

pub(super) mod blocks;
pub(super) mod slots;

use super::packet::vlan_tag;
use super::system::{Mapping, set};
use super::{Received, TAG};
use crate::engine::Loss;
use crate::offload::HEADER;
use libc::c_int;
use std::io;
use std::os::fd::OwnedFd;

/// Memory of a ring, in bytes.
const RING: usize = 16 << 20;

/// Gives a packet socket a ring of a version and maps it.
fn make<R: Copy>(socket: &OwnedFd, version: libc::tpacket_versions, request: &R) -> io::Result<Mapping> {
    set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(version as c_int))?;
    set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
    Mapping::of(socket, RING, 0)
}

/// What the kernel says of a frame in a ring.
struct Entry {
    status: u32,
    /// Where it starts, from its header on.
    mac: usize,
    /// Bytes of it that are there, and that it has.
    kept: usize,
    length: usize,
    tci: u16,
    protocol: u16,
}

impl Entry {
    /// The frame; `None` when what the kernel says of it does not fit the `space` that it has.
    ///
    /// # Safety
    /// From `start` on there must be `space` bytes that nothing else uses for as long as `'r`.
    unsafe fn received<'r>(&self, start: *mut u8, space: usize) -> Option<Received<'r>> {
        if self.mac < HEADER.max(TAG) || self.mac + self.kept > space {
            return None;
        }
        // SAFETY: both lie within the space, as was looked at; the header is read before the room, which
        // begins within it, is lent.
        let (header, room) = unsafe {
            (
                start.add(self.mac - HEADER).cast::<[u8; HEADER]>().read(),
                std::slice::from_raw_parts_mut(start.add(self.mac - TAG), TAG + self.kept),
            )
        };
        let tag = vlan_tag(self.status, self.tci, self.protocol);
        Some(Received { header, room, tag, unfit: (self.kept < self.length).then_some(Loss::TooLong) })
    }
}
