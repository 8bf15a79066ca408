//! A ring of slots, one for each frame (TPACKET_V2).
//!
//! A slot has room for a frame of the interface's MTU. A super-packet does not fit: the kernel also
//! keeps it in the socket's buffer (PACKET_COPY_THRESH), from where it is received in its turn, as
//! without a ring. So a ring holds many frames in little memory.

#![allow(unsafe_code)]

use super::super::packet;
use super::super::received::Received;
use super::{AT_ONCE, FrameHeader, RING, make};
use crate::sys::calls::{Mapping, set};
use libc::c_int;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a slot besides the MTU: its header, the socket's address, the virtio-net header, the
/// Ethernet header and two tags.
const SLOT_OVERHEAD: usize = 128;
/// Bytes of a block, which the kernel allocates at once.
const BLOCK: usize = 1 << 18;

/// Receives from a ring of slots.
pub(crate) struct Receiver {
    packets: packet::Receiver,
    ring: Mapping,
    slot: usize,
    next: usize,
    /// True if a frame was taken since the last [`check`](Self::check).
    took: bool,
    lost: u64,
}

impl Receiver {
    /// A receiver of the frames that come in at the interface with this index and MTU.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(in super::super) fn open(index: u32, mtu: usize) -> io::Result<Receiver> {
        // The largest slot has room for an MTU of 64 KB.
        let slot = (mtu + SLOT_OVERHEAD).next_power_of_two().clamp(1 << 11, 1 << 17);
        let mut ring = None;
        let packets = packet::Receiver::open(index, |socket| {
            let threshold: c_int = 1;
            set(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &threshold)?;
            ring = Some(make(socket, libc::tpacket_versions::TPACKET_V2, &request(slot))?);
            Ok(())
        })?;
        let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Receiver { packets, ring, slot, next: 0, took: false, lost: 0 })
    }

    pub(in super::super) fn fd(&self) -> BorrowedFd<'_> {
        self.packets.fd()
    }

    /// See [`super::super::Receiver::receive`].
    pub(in super::super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        for count in 0..AT_ONCE {
            let slot = self.ring.at(self.next * self.slot, self.slot);
            // SAFETY: a slot starts with its status, aligned, and both sides use it as an atomic
            // only.
            let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
            // Acquire: the frame was written before the status was set.
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return if count > 0 { Ok(count) } else { Err(self.packets.error()) };
            }
            // SAFETY: the gate owns the slot until its status is set. The slot starts with this
            // header, which is plain integers.
            let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
            self.took = true;
            self.take(slot, &header, &mut take);
            // Release: the frame was read before the kernel may write there again.
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % (RING / self.slot);
        }
        Ok(AT_ONCE)
    }

    fn take(&mut self, slot: *mut u8, header: &libc::tpacket2_hdr, take: &mut impl FnMut(Received<'_>)) {
        if header.tp_status & libc::TP_STATUS_COPY != 0 {
            let received = self.packets.receive_one(&mut *take);
            self.lost += u64::from(received.is_err());
            return;
        }
        let entry = FrameHeader {
            status: header.tp_status,
            mac: usize::from(header.tp_mac),
            kept: header.tp_snaplen as usize,
            length: header.tp_len as usize,
            tci: header.tp_vlan_tci,
            protocol: header.tp_vlan_tpid,
            stamp: (header.tp_sec, header.tp_nsec),
        };
        // SAFETY: the slot has this many bytes, and the gate owns it until its status is set.
        match unsafe { entry.received(slot, self.slot) } {
            // The frame is too long for a slot, and the kernel had no memory left to keep it
            // elsewhere.
            Some(received) if received.loss.is_some() => self.lost += 1,
            Some(received) => take(received),
            None => self.lost += 1,
        }
    }

    fn is_empty(&self) -> bool {
        let slot = self.ring.at(self.next * self.slot, self.slot);
        // SAFETY: as in `receive`.
        let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
        status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0
    }

    /// Makes a new ring when the old one is blocked: a super-packet of a kind that a virtio-net
    /// header cannot describe leaves its slot in use permanently, and the kernel (at least up to
    /// 6.18) drops all frames after it. The sign of a blocked ring is that frames were dropped
    /// while it was empty.
    ///
    /// # Errors
    /// When there is no memory for a new ring.
    pub(in super::super) fn check(&mut self) -> io::Result<()> {
        let (missed, took) = (self.packets.missed(), std::mem::take(&mut self.took));
        self.lost += missed;
        if missed > 0 && !took && self.is_empty() {
            // A ring cannot be changed while it is mapped.
            drop(std::mem::replace(&mut self.ring, Mapping::none()));
            let socket = self.packets.socket();
            set(
                socket,
                libc::SOL_PACKET,
                libc::PACKET_RX_RING,
                &libc::tpacket_req { tp_block_nr: 0, tp_frame_nr: 0, ..request(self.slot) },
            )?;
            self.ring = make(socket, libc::tpacket_versions::TPACKET_V2, &request(self.slot))?;
            self.next = 0;
        }
        Ok(())
    }

    /// See [`super::super::Receiver::missed`].
    pub(in super::super) fn missed(&mut self) -> u64 {
        self.packets.missed() + std::mem::take(&mut self.lost)
    }
}

fn request(slot: usize) -> libc::tpacket_req {
    libc::tpacket_req {
        tp_block_size: BLOCK as u32,
        tp_block_nr: (RING / BLOCK) as u32,
        tp_frame_size: slot as u32,
        tp_frame_nr: (RING / slot) as u32,
    }
}
