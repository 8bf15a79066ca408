//! Packet sockets with a receive ring (packet_mmap): memory that the kernel writes frames to and
//! the gate reads them from, without a system call.
//!
//! [`slots`] uses TPACKET_V2: each frame has a slot and can be read at once. [`blocks`] uses
//! TPACKET_V3: frames are packed into blocks, which the kernel hands over when they are full or a
//! millisecond old. Measured over veth, sending from a ring is slower than `sendmmsg` (the kernel
//! pins the ring's pages and still copies them), so frames are sent as by
//! [`packet`](super::packet). Each interface has a [`group`] of rings.
//!
//! Source: the kernel's Documentation/networking/packet_mmap.rst.

#![allow(unsafe_code)]

mod blocks;
pub(super) mod group;
mod slots;

use super::packet::vlan_tag;
use super::received::{Received, TAG};
use crate::frame::offload::HEADER;
use crate::stats::LossReason;
use crate::sys::calls::{Mapping, set};
use libc::c_int;
use std::io;
use std::os::fd::OwnedFd;

/// Gives a packet socket a ring of this version and so many bytes, and maps the ring.
fn make<R: Copy>(
    socket: &OwnedFd,
    version: libc::tpacket_versions,
    request: &R,
    bytes: usize,
) -> io::Result<Mapping> {
    set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(version as c_int))?;
    set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
    Mapping::of(socket, bytes, 0)
}

/// Nanoseconds of seconds and the rest.
fn nanoseconds((seconds, rest): (u32, u32)) -> u64 {
    u64::from(seconds) * 1_000_000_000 + u64::from(rest)
}

/// The header of a frame in a ring.
struct FrameHeader {
    status: u32,
    /// Offset of the frame from the header.
    mac: usize,
    /// Bytes of the frame that are in the ring.
    kept: usize,
    /// Original length of the frame in bytes.
    length: usize,
    tci: u16,
    protocol: u16,
    /// Receive time, in seconds and nanoseconds of CLOCK_REALTIME.
    stamp: (u32, u32),
}

impl FrameHeader {
    /// The frame; `None` when the header does not fit the `space` of the frame.
    ///
    /// # Safety
    /// From `start` on there must be `space` bytes that nothing else uses for as long as `'r`.
    unsafe fn received<'r>(&self, start: *mut u8, space: usize) -> Option<Received<'r>> {
        if self.mac < HEADER.max(TAG) || self.mac + self.kept > space {
            return None;
        }
        // SAFETY: both lie within the space, as the check above says; the header is read before the
        // reference to the bytes, which begin within it, is made.
        let (header, bytes) = unsafe {
            (
                start.add(self.mac - HEADER).cast::<[u8; HEADER]>().read(),
                std::slice::from_raw_parts_mut(start.add(self.mac - TAG), TAG + self.kept),
            )
        };
        let tag = vlan_tag(self.status, self.tci, self.protocol);
        let stamp = Some(nanoseconds(self.stamp));
        let loss = (self.kept < self.length).then_some(LossReason::TooLong);
        Some(Received { header, bytes, stamp, tag, loss })
    }
}
