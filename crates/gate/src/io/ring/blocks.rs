//! A ring of blocks, each with as many frames as fit (TPACKET_V3).

#![allow(unsafe_code)]

use super::{FrameHeader, make, nanoseconds};
use crate::io::packet;
use crate::io::received::Received;
use crate::sys::calls::Mapping;
use crate::sys::clock::Clock;
use std::io;
use std::mem::size_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory of the ring, in bytes.
const RING: usize = 16 << 20;
/// Bytes of a block: room for several super-packets, and for enough blocks in the ring.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = RING / BLOCK;
/// Milliseconds after which a block that is not full is handed over; the kernel permits no shorter
/// time.
const RETIRE_AFTER: u32 = 1;
/// The frame size that the kernel requires, although it packs frames by their length.
const FRAME: u32 = 1 << 11;

/// Age in nanoseconds of a block that is not read: the gate is too far behind. The frames in it are
/// dropped together, at no cost. A quarter of the age at which a frame is too old.
const TOO_OLD: u64 = 50_000_000;

/// A ring of blocks.
pub(super) struct Blocks {
    packets: packet::Receiver,
    ring: Mapping,
    /// The block that is being read, or comes next.
    block: usize,
    /// Frames in the block that have not been read yet.
    left: u32,
    /// Offset of the next frame.
    at: usize,
    lost: u64,
}

impl Blocks {
    fn block(&self) -> *mut u8 {
        self.ring.at(self.block * BLOCK, BLOCK)
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: a block starts with this, aligned, and both sides use it as an atomic only.
        unsafe {
            let description = self.block().cast::<libc::tpacket_block_desc>();
            AtomicU32::from_ptr(&raw mut (*description).hdr.bh1.block_status)
        }
    }

    /// Returns true if there is a frame to read, in this block or the next.
    fn advance(&mut self) -> bool {
        while self.left == 0 {
            // Acquire: the block was written before the status was set.
            if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return false;
            }
            // SAFETY: the gate owns the block until its status is set, and both are plain integers.
            let header = unsafe { (*self.block().cast::<libc::tpacket_block_desc>()).hdr.bh1 };
            (self.left, self.at) = (header.num_pkts, header.offset_to_first_pkt as usize);
            // In the kernel the second member is a union, which has nanoseconds here.
            let last = nanoseconds((header.ts_last_pkt.ts_sec, header.ts_last_pkt.ts_usec));
            if Clock::wall().saturating_sub(last) > TOO_OLD {
                self.lost += u64::from(std::mem::take(&mut self.left));
            }
            self.release_if_read();
        }
        true
    }

    fn release_if_read(&mut self) {
        if self.left == 0 {
            // Release: the frames were read before the kernel may write there again.
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.block = (self.block + 1) % BLOCKS;
        }
    }

    /// The next frame's place, the bytes from there on, and its header; `None` if no frame can
    /// begin there.
    fn header(&self) -> Option<(*mut u8, usize, libc::tpacket3_hdr)> {
        let space = BLOCK.checked_sub(self.at).filter(|space| *space >= size_of::<libc::tpacket3_hdr>())?;
        // SAFETY: there is room for a header before the block's end, the gate owns the block until
        // its status is set, and it is plain integers.
        unsafe {
            let start = self.block().add(self.at);
            Some((start, space, start.cast::<libc::tpacket3_hdr>().read_unaligned()))
        }
    }

    /// The ring of an open socket for frames that come in at the interface with this index. `prepare` is called with
    /// its socket before the first frame can come in.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(super) fn new(
        socket: OwnedFd,
        index: u32,
        prepare: impl FnOnce(&OwnedFd) -> io::Result<()>,
    ) -> io::Result<Blocks> {
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME,
            tp_frame_nr: (RING / FRAME as usize) as u32,
            tp_retire_blk_tov: RETIRE_AFTER,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let mut ring = None;
        let packets = packet::Receiver::new(socket, index, |socket| {
            prepare(socket)?;
            ring = Some(make(socket, libc::tpacket_versions::TPACKET_V3, &request, RING)?);
            Ok(())
        })?;
        let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Blocks { packets, ring, block: 0, left: 0, at: 0, lost: 0 })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        self.packets.socket()
    }

    /// See [`super::group::Ring::next`].
    pub(super) fn next(&mut self) -> Option<u64> {
        self.advance()
            .then(|| self.header().map_or(0, |(_, _, header)| nanoseconds((header.tp_sec, header.tp_nsec))))
    }

    /// Takes the next frame.
    pub(super) fn take(&mut self, take: &mut impl FnMut(Received<'_>)) {
        if !self.advance() {
            return;
        }
        self.left -= 1;
        match self.header() {
            Some((start, space, header)) => self.take_from(start, space, &header, take),
            // The rest of the block is lost.
            None => self.lost += u64::from(std::mem::take(&mut self.left)) + 1,
        }
        self.release_if_read();
    }

    /// See [`crate::io::Receiver::missed`].
    pub(super) fn missed(&mut self) -> u64 {
        self.packets.missed() + std::mem::take(&mut self.lost)
    }

    /// Takes the frame with this header and goes on to the next.
    fn take_from(
        &mut self,
        start: *mut u8,
        space: usize,
        header: &libc::tpacket3_hdr,
        take: &mut impl FnMut(Received<'_>),
    ) {
        self.at += header.tp_next_offset as usize;
        if header.tp_status & libc::TP_STATUS_USER == 0 {
            // The kernel dropped the frame after it had allocated its place, and counts it.
            return;
        }
        let entry = FrameHeader {
            status: header.tp_status,
            mac: usize::from(header.tp_mac),
            kept: header.tp_snaplen as usize,
            length: header.tp_len as usize,
            tci: header.hv1.tp_vlan_tci as u16,
            protocol: header.hv1.tp_vlan_tpid,
            stamp: (header.tp_sec, header.tp_nsec),
        };
        // SAFETY: from `start` on the block has `space` bytes, and the gate owns it until its
        // status is set.
        match unsafe { entry.received(start, space) } {
            Some(received) => take(received),
            None => self.lost += 1,
        }
    }
}
