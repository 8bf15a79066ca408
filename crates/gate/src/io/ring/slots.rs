//! A ring of slots, one for each frame (TPACKET_V2).
//!
//! A slot has room for a frame of the interface's MTU. A super-packet does not fit: the kernel also
//! keeps it in the socket's buffer (PACKET_COPY_THRESH), from where it is received in its turn, as
//! without a ring. So a ring holds many frames in little memory.

#![allow(unsafe_code)]

use super::{FrameHeader, make, nanoseconds};
use crate::io::packet;
use crate::io::received::Received;
use crate::sys::calls::{Mapping, set};
use libc::c_int;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a slot besides the MTU: its header, the socket's address, the virtio-net header, the
/// Ethernet header and two tags.
const SLOT_OVERHEAD: usize = 128;
/// Slots of a ring: full frames of 6 ms at 1 Gbit/s.
const SLOTS: usize = 512;
/// The most bytes of a ring, which has fewer slots if the MTU is above 8 KB.
const MOST: usize = 4 << 20;
/// Bytes of a block, which the kernel allocates at once.
const BLOCK: usize = 1 << 18;

/// A ring of slots.
pub(super) struct Slots {
    packets: packet::Receiver,
    ring: Mapping,
    /// Bytes of a slot.
    slot: usize,
    slots: usize,
    next: usize,
    /// True if a frame was taken since the last [`check`](Self::check).
    took: bool,
    lost: u64,
}

impl Slots {
    fn slot(&self) -> *mut u8 {
        self.ring.at(self.next * self.slot, self.slot)
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: a slot starts with its status, aligned, and both sides use it as an atomic only.
        unsafe { AtomicU32::from_ptr(self.slot().cast()) }
    }

    /// The header of the next slot; `None` if it has no frame.
    fn header(&self) -> Option<libc::tpacket2_hdr> {
        // Acquire: the frame was written before the status was set.
        let full = self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
        // SAFETY: the gate owns the slot until its status is set. The slot starts with this header,
        // which is plain integers.
        full.then(|| unsafe { self.slot().cast::<libc::tpacket2_hdr>().read() })
    }

    fn take_from(&mut self, slot: *mut u8, header: &libc::tpacket2_hdr, take: &mut impl FnMut(Received<'_>)) {
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

    /// The ring of an open socket for frames that come in at the interface with this index and MTU. `prepare` is called
    /// with its socket before the first frame can come in.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(super) fn new(
        socket: OwnedFd,
        index: u32,
        mtu: usize,
        prepare: impl FnOnce(&OwnedFd) -> io::Result<()>,
    ) -> io::Result<Slots> {
        // The largest slot has room for an MTU of 64 KB.
        let slot = (mtu + SLOT_OVERHEAD).next_power_of_two().clamp(1 << 11, 1 << 17);
        let slots = SLOTS.min(MOST / slot);
        let mut ring = None;
        let packets = packet::Receiver::new(socket, index, |socket| {
            prepare(socket)?;
            let threshold: c_int = 1;
            set(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &threshold)?;
            let request = request(slot, slots);
            ring = Some(make(socket, libc::tpacket_versions::TPACKET_V2, &request, slot * slots)?);
            Ok(())
        })?;
        let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Slots { packets, ring, slot, slots, next: 0, took: false, lost: 0 })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        self.packets.socket()
    }

    /// See [`super::group::Ring::next`].
    pub(super) fn next(&self) -> Option<u64> {
        self.header().map(|header| nanoseconds((header.tp_sec, header.tp_nsec)))
    }

    /// Takes the next frame.
    pub(super) fn take(&mut self, take: &mut impl FnMut(Received<'_>)) {
        let Some(header) = self.header() else { return };
        self.took = true;
        self.take_from(self.slot(), &header, take);
        // Release: the frame was read before the kernel may write there again.
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
    }

    /// Makes a new ring when the old one is blocked: a super-packet of a kind that a virtio-net
    /// header cannot describe leaves its slot in use permanently, and the kernel (at least up to
    /// 6.18) drops all frames after it. The sign of a blocked ring is that frames were dropped
    /// while it was empty.
    ///
    /// Returns true if it has made one.
    ///
    /// # Errors
    /// When there is no memory for a new ring.
    pub(super) fn check(&mut self) -> io::Result<bool> {
        let (missed, took) = (self.packets.missed(), std::mem::take(&mut self.took));
        self.lost += missed;
        if missed == 0 || took || self.header().is_some() {
            return Ok(false);
        }
        // A ring cannot be changed while it is mapped.
        drop(std::mem::replace(&mut self.ring, Mapping::none()));
        let (socket, request) = (self.packets.socket(), request(self.slot, self.slots));
        let none = libc::tpacket_req { tp_block_nr: 0, tp_frame_nr: 0, ..request };
        set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &none)?;
        let bytes = self.slot * self.slots;
        self.ring = make(socket, libc::tpacket_versions::TPACKET_V2, &request, bytes)?;
        self.next = 0;
        Ok(true)
    }

    /// See [`crate::io::Receiver::missed`].
    pub(super) fn missed(&mut self) -> u64 {
        self.packets.missed() + std::mem::take(&mut self.lost)
    }
}

fn request(slot: usize, slots: usize) -> libc::tpacket_req {
    let per_block = BLOCK / slot;
    libc::tpacket_req {
        tp_block_size: BLOCK as u32,
        tp_block_nr: (slots / per_block) as u32,
        tp_frame_size: slot as u32,
        tp_frame_nr: slots as u32,
    }
}
