//! AF_XDP sockets: a program at the interface hands frames over before the kernel makes packets of
//! them.
//!
//! AF_XDP is for network cards: their drivers hand over the memory that the card has written, and
//! for other interfaces the kernel copies. A frame comes without a virtio-net header and without a
//! separate VLAN tag. So the offloads of the interface have to be off, which [`settings`] checks.
//! [`partial_checksum`] detects frames of a veth whose checksums are partial, and they are lost.
//!
//! Source: the kernel's Documentation/networking/af_xdp.rst.

#![allow(unsafe_code)]

mod partial_checksum;
mod program;
mod ring;
mod settings;

use super::packet::promiscuous;
use super::received::{BATCH, Received, TAG};
use crate::error::GateError;
use crate::frame::offload::HEADER;
use crate::stats::LossReason;
use crate::sys::calls::{Mapping, pending_error};
use crate::sys::clock::Clock;
use crate::sys::interface::Interface;
use program::{STAMP, stamp_of};
use ring::{Consumer, Producer};
use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XdpDesc, XdpDescOptions, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, send, socket_with, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Maximum number of frames that are read at once: reading a frame costs a fraction of sending it.
pub(super) const AT_ONCE: usize = 8 * BATCH;
/// Chunks of memory for incoming frames, and as many for outgoing frames; a power of two.
const CHUNKS: u32 = 4096;
/// Bytes that the kernel keeps free in front of a frame (XDP_PACKET_HEADROOM).
const HEADROOM: usize = 256;
/// Bytes of the largest chunk that the kernel permits: a page.
const MAX_CHUNK: usize = 4096;
/// Maximum number of times that the kernel is asked to send in one call.
const MAX_ATTEMPTS: u32 = 4;
/// Bytes of an Ethernet header with two tags.
const HEADER_ROOM: usize = 22;

/// Opens the interface. Its frames no longer reach the kernel's network stack.
///
/// # Errors
/// When its settings are unsuitable, or it cannot be opened.
pub(super) fn open(name: &str, interface: Interface) -> Result<(Receiver, Sender), GateError> {
    settings::check(name)?;
    let chunk = (interface.mtu + HEADER_ROOM + HEADROOM).next_power_of_two().max(2048);
    if chunk > MAX_CHUNK {
        let most = MAX_CHUNK - HEADROOM - HEADER_ROOM;
        let help = format!("ip link set {name} mtu {most}");
        return Err(GateError::unsuitable(name, "its MTU is too long for AF_XDP", help));
    }
    sockets(interface.index, chunk).map_err(|error| match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT) => {
            GateError::unsuitable(name, "the kernel has no AF_XDP", "write another `io` into the file")
        }
        Some(libc::EBUSY) => GateError::unsuitable(
            name,
            "another program takes its frames by XDP",
            format!("end that first, or ip link set {name} xdp off"),
        ),
        Some(libc::EPERM | libc::EACCES) => GateError::unsuitable(
            name,
            "not permitted to take its frames by XDP",
            "run it as root, or with the capabilities CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF",
        ),
        _ => GateError::system(format!("an AF_XDP socket on `{name}`"), error),
    })
}

fn sockets(index: u32, chunk: usize) -> io::Result<(Receiver, Sender)> {
    let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let memory = Arc::new(Mapping::anonymous(2 * CHUNKS as usize * chunk)?);
    let region = XdpUmemReg {
        addr: memory.at(0, 2 * CHUNKS as usize * chunk).addr() as u64,
        len: 2 * u64::from(CHUNKS) * chunk as u64,
        chunk_size: chunk as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(&socket, region)?;
    sockopt::set_xdp_umem_fill_ring_size(&socket, CHUNKS)?;
    sockopt::set_xdp_umem_completion_ring_size(&socket, CHUNKS)?;
    sockopt::set_xdp_rx_ring_size(&socket, CHUNKS)?;
    sockopt::set_xdp_tx_ring_size(&socket, CHUNKS)?;
    let offsets = sockopt::xdp_mmap_offsets(&socket)?;
    let received = Consumer::map(&socket, CHUNKS, offsets.rx, libc::XDP_PGOFF_RX_RING)?;
    let to_send = Producer::map(&socket, CHUNKS, offsets.tx, libc::XDP_PGOFF_TX_RING)?;
    let mut empty =
        Producer::map(&socket, CHUNKS, offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t)?;
    let sent =
        Consumer::map(&socket, CHUNKS, offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t)?;
    for ix in 0..CHUNKS {
        empty.push(u64::from(ix) * chunk as u64);
    }
    empty.publish();
    bind(&socket, &SocketAddrXdp::new(SocketAddrXdpFlags::empty(), index, 0))?;
    let program = program::attach(index, socket.as_fd())?;
    let other = socket.try_clone()?;
    let receiver = Receiver {
        memory: Arc::clone(&memory),
        chunk,
        received,
        empty,
        missed_before: 0,
        socket,
        _program: program,
        _promiscuous: promiscuous(index)?,
    };
    let free = (CHUNKS..2 * CHUNKS).map(|ix| u64::from(ix) * chunk as u64).collect();
    Ok((receiver, Sender { socket: other, memory, to_send, sent, free }))
}

/// Receives the frames that come in at an interface.
pub(crate) struct Receiver {
    memory: Arc<Mapping>,
    chunk: usize,
    received: Consumer<XdpDesc>,
    empty: Producer<u64>,
    missed_before: u64,
    socket: OwnedFd,
    _program: OwnedFd,
    _promiscuous: OwnedFd,
}

impl Receiver {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// See [`super::Receiver::receive`].
    pub(super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        let count = self.received.available().min(AT_ONCE as u32);
        if count == 0 {
            return Err(pending_error(&self.socket));
        }
        let ahead = Clock::wall_ahead();
        for _ in 0..count {
            let XdpDesc { addr, len, options } = self.received.pop();
            let (at, length) = (addr as usize, len as usize);
            let metadata = self.memory.at(at - STAMP, STAMP).cast::<[u8; STAMP]>();
            // SAFETY: the kernel keeps more bytes free in front of a frame than metadata have, in
            // the chunk that the gate owns.
            let stamp = stamp_of(unsafe { metadata.read() }).map(|time| time + ahead);
            let start = self.memory.at(at - TAG, TAG + length);
            // SAFETY: the gate owns the chunk until it is pushed below, and the kernel keeps more
            // bytes free in front of a frame than a tag has.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, TAG + length) };
            let loss = if options.contains(XdpDescOptions::XDP_PKT_CONTD) {
                Some(LossReason::TooLong)
            } else {
                partial_checksum::is_partial(&bytes[TAG..]).then_some(LossReason::Offload)
            };
            take(Received { header: [0; HEADER], bytes, stamp, tag: None, loss });
            self.empty.push((at & !(self.chunk - 1)) as u64);
        }
        self.received.release();
        self.empty.publish();
        Ok(count as usize)
    }

    /// See [`super::Receiver::missed`].
    pub(super) fn missed(&mut self) -> u64 {
        let Ok(seen) = sockopt::xdp_statistics(&self.socket) else { return 0 };
        let full = seen.rx_ring_full.unwrap_or(0) + seen.rx_fill_ring_empty_descs.unwrap_or(0);
        let now = seen.rx_dropped + full;
        now - std::mem::replace(&mut self.missed_before, now)
    }
}

/// Sends frames out at an interface.
pub(crate) struct Sender {
    socket: OwnedFd,
    memory: Arc<Mapping>,
    to_send: Producer<XdpDesc>,
    sent: Consumer<u64>,
    /// Chunks that the gate owns.
    free: Vec<u64>,
}

impl Sender {
    /// See [`super::Sender::send`]. Frames that the kernel has taken and not yet sent are sent with
    /// the next call.
    pub(super) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        for _ in 0..self.sent.available() {
            self.free.push(self.sent.pop());
        }
        self.sent.release();
        let mut count = 0;
        for frame in frames.take(BATCH) {
            let Some(chunk) = self.free.pop() else { break };
            let bytes = self.memory.at(chunk as usize, frame.len());
            // SAFETY: the gate owns the chunk, which is longer than the longest frame and holds
            // none.
            unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), bytes, frame.len()) };
            let options = XdpDescOptions::empty();
            self.to_send.push(XdpDesc { addr: chunk, len: frame.len() as u32, options });
            count += 1;
        }
        self.to_send.publish();
        let mut outcome = Ok(());
        for _ in 0..MAX_ATTEMPTS {
            outcome = send(&self.socket, &[], SendFlags::DONTWAIT).map(drop);
            // The kernel returns EAGAIN, too, when there is nothing more to send.
            if outcome != Err(Errno::AGAIN) || self.to_send.pending() == 0 {
                break;
            }
        }
        match outcome {
            _ if count > 0 => Ok(count),
            Ok(()) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error.into()),
        }
    }
}
