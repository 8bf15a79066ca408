//! A ring of blocks, each with as many frames as fit (TPACKET_V3).

#![allow(unsafe_code)]

use super::super::packet;
use super::super::received::Received;
use super::{AT_ONCE, FrameHeader, RING, make};
use crate::sys::calls::Mapping;
use std::io;
use std::mem::size_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a block: room for several super-packets, and for enough blocks in the ring.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = RING / BLOCK;
/// Milliseconds after which a block that is not full is handed over; the kernel permits no shorter
/// time.
const RETIRE_AFTER: u32 = 1;
/// The frame size that the kernel requires, although it packs frames by their length.
const FRAME: u32 = 1 << 11;

/// Receives from a ring of blocks.
pub(crate) struct Receiver {
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

impl Receiver {
    /// A receiver of the frames that come in at the interface with this index.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(in super::super) fn open(index: u32) -> io::Result<Receiver> {
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
        let packets = packet::Receiver::open(index, |socket| {
            ring = Some(make(socket, libc::tpacket_versions::TPACKET_V3, &request)?);
            Ok(())
        })?;
        let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Receiver { packets, ring, block: 0, left: 0, at: 0, lost: 0 })
    }

    pub(in super::super) fn fd(&self) -> BorrowedFd<'_> {
        self.packets.fd()
    }

    /// See [`super::super::Receiver::receive`].
    pub(in super::super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        let mut count = 0;
        while count < AT_ONCE {
            let block = self.ring.at(self.block * BLOCK, BLOCK);
            // SAFETY: a block starts with this, aligned.
            let status = unsafe {
                let description = block.cast::<libc::tpacket_block_desc>();
                AtomicU32::from_ptr(&raw mut (*description).hdr.bh1.block_status)
            };
            if self.left == 0 {
                // Acquire: the block was written before the status was set.
                if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                    break;
                }
                // SAFETY: the gate owns the block until its status is set, and both are plain
                // integers.
                let header = unsafe { (*block.cast::<libc::tpacket_block_desc>()).hdr.bh1 };
                (self.left, self.at) = (header.num_pkts, header.offset_to_first_pkt as usize);
            }
            while count < AT_ONCE && self.left > 0 {
                count += 1;
                self.left -= 1;
                if self.at + size_of::<libc::tpacket3_hdr>() > BLOCK {
                    // No frame can begin there: the rest of the block is lost.
                    self.lost += u64::from(std::mem::take(&mut self.left)) + 1;
                    break;
                }
                self.take(block, &mut take);
            }
            if self.left == 0 {
                // Release: the frames were read before the kernel may write there again.
                status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
                self.block = (self.block + 1) % BLOCKS;
            }
        }
        if count > 0 { Ok(count) } else { Err(self.packets.error()) }
    }

    /// Takes the frame at `at` and goes on to the next.
    fn take(&mut self, block: *mut u8, take: &mut impl FnMut(Received<'_>)) {
        let (at, space) = (self.at, BLOCK - self.at);
        // SAFETY: there is room for a header before the block's end, the gate owns the block until
        // its status is set, and it is plain integers, aligned to eight bytes by the kernel.
        let (start, header) = unsafe {
            let start = block.add(at);
            (start, start.cast::<libc::tpacket3_hdr>().read_unaligned())
        };
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

    /// See [`super::super::Receiver::missed`].
    pub(in super::super) fn missed(&mut self) -> u64 {
        self.packets.missed() + std::mem::take(&mut self.lost)
    }
}
