//! A ring of blocks, each with as many frames as fit (TPACKET_V3).

#![allow(unsafe_code)]

use super::super::packet;
use super::super::system::Mapping;
use super::super::{BATCH, Received};
use super::{Entry, RING, make};
use std::io;
use std::mem::size_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a block: several super-packets fit, and there are blocks enough.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = RING / BLOCK;
/// After how many milliseconds a block is handed over that is not full: there is no shorter time.
const RETIRED_AFTER: u32 = 1;
/// The kernel asks for a frame size, and packs frames as it likes.
const FRAME: u32 = 1 << 11;

/// Receives from a ring of blocks.
pub(crate) struct Receiver {
    packets: packet::Receiver,
    ring: Mapping,
    /// The block that is read or comes next.
    block: usize,
    /// Frames in it that are not read yet, and where the next one starts.
    left: u32,
    at: usize,
    lost: u64,
}

impl Receiver {
    /// A receiver of all that comes in at the interface with this index.
    ///
    /// # Errors
    /// The system's: `EPERM` without CAP_NET_RAW.
    pub(in super::super) fn open(index: u32) -> io::Result<Receiver> {
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME,
            tp_frame_nr: (RING / FRAME as usize) as u32,
            tp_retire_blk_tov: RETIRED_AFTER,
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
        while count < BATCH {
            let block = self.ring.at(self.block * BLOCK, BLOCK);
            // SAFETY: a block starts with this, aligned.
            let status = unsafe {
                let description = block.cast::<libc::tpacket_block_desc>();
                AtomicU32::from_ptr(&raw mut (*description).hdr.bh1.block_status)
            };
            if self.left == 0 {
                // What the kernel wrote before it set the status is seen after.
                if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                    break;
                }
                // SAFETY: the block is the gate's until its status is set, and both are plain integers.
                let header = unsafe { (*block.cast::<libc::tpacket_block_desc>()).hdr.bh1 };
                (self.left, self.at) = (header.num_pkts, header.offset_to_first_pkt as usize);
            }
            while count < BATCH && self.left > 0 {
                count += 1;
                self.left -= 1;
                if self.at + size_of::<libc::tpacket3_hdr>() > BLOCK {
                    // No frame can begin there: what the block still has is lost.
                    self.lost += u64::from(std::mem::take(&mut self.left)) + 1;
                    break;
                }
                self.take(block, &mut take);
            }
            if self.left == 0 {
                // Whatever was done with its frames is done before the kernel may write there again.
                status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
                self.block = (self.block + 1) % BLOCKS;
            }
        }
        if count > 0 { Ok(count) } else { Err(self.packets.error()) }
    }

    /// Takes the frame at `at` and goes on to the next.
    fn take(&mut self, block: *mut u8, take: &mut impl FnMut(Received<'_>)) {
        let (at, space) = (self.at, BLOCK - self.at);
        // SAFETY: there is room for a header before the block's end, it is the gate's until its status is
        // set, and it is plain integers, aligned to eight bytes by the kernel.
        let (start, header) = unsafe {
            let start = block.add(at);
            (start, start.cast::<libc::tpacket3_hdr>().read_unaligned())
        };
        self.at += header.tp_next_offset as usize;
        if header.tp_status & libc::TP_STATUS_USER == 0 {
            // Dropped by the kernel when its place was made already: it counts it itself.
            return;
        }
        let entry = Entry {
            status: header.tp_status,
            mac: usize::from(header.tp_mac),
            kept: header.tp_snaplen as usize,
            length: header.tp_len as usize,
            tci: header.hv1.tp_vlan_tci as u16,
            protocol: header.hv1.tp_vlan_tpid,
        };
        // SAFETY: from `start` on the block has `space` bytes, and is the gate's until its status is set.
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
