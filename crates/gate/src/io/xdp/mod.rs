//! AF_XDP sockets: a program at the interface hands frames over before the kernel makes packets of them.
//!
//! It is for network cards, whose drivers hand over the very memory that the card has written; over
//! anything else the kernel copies. A frame comes as bytes and nothing else: there is no virtio-net
//! header and no VLAN tag beside it. So whatever the card or the kernel would leave undone has to be off,
//! and [`fitness`] sees to that as far as it can be seen; frames of the other end of a veth whose
//! checksums are not complete are told by [`partial`], and lost.
//!
//! Source: the kernel's Documentation/networking/af_xdp.rst.

#![allow(unsafe_code)]

mod fitness;
mod partial;
mod program;
mod ring;

use super::interface::Interface;
use super::packet::promiscuous;
use super::system::{Mapping, pending_error};
use super::{BATCH, Received, TAG};
use crate::engine::Loss;
use crate::error::GateError;
use crate::offload::HEADER;
use ring::{Consumer, Producer};
use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XdpDesc, XdpDescOptions, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, send, socket_with, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Places for frames that come in, and as many for frames that go out; the kernel wants powers of two.
const PLACES: u32 = 4096;
/// Bytes that the kernel keeps free in front of a frame (XDP_PACKET_HEADROOM).
const HEADROOM: usize = 256;
/// The largest place that there can be: a page.
const LARGEST: usize = 4096;
/// How often the kernel is asked to send what it has not sent at once.
const TRIES: u32 = 4;
/// Bytes of an Ethernet header with two tags.
const FRAMING: usize = 22;

/// Opens the interface, whose frames nobody else gets from now on.
///
/// # Errors
/// When it does what frames without headers do not tell, or it is not to be had.
pub(super) fn open(name: &str, interface: Interface) -> Result<(Receiver, Sender), GateError> {
    fitness::check(name)?;
    let place = (interface.mtu + FRAMING + HEADROOM).next_power_of_two().max(2048);
    if place > LARGEST {
        let most = LARGEST - HEADROOM - FRAMING;
        let help = format!("ip link set {name} mtu {most}");
        return Err(GateError::unfit(name, "its MTU is too long for AF_XDP", help));
    }
    sockets(interface.index, place).map_err(|error| match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT) => {
            GateError::unfit(name, "the kernel has no AF_XDP", "write another `io` into the file")
        }
        Some(libc::EBUSY) => GateError::unfit(
            name,
            "another program takes its frames by XDP",
            format!("end that first, or ip link set {name} xdp off"),
        ),
        Some(libc::EPERM | libc::EACCES) => GateError::unfit(
            name,
            "not permitted to take its frames by XDP",
            "run it as root, or with the capabilities CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF",
        ),
        _ => GateError::system(format!("an AF_XDP socket on `{name}`"), error),
    })
}

fn sockets(index: u32, place: usize) -> io::Result<(Receiver, Sender)> {
    let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let memory = Arc::new(Mapping::anonymous(2 * PLACES as usize * place)?);
    let region = XdpUmemReg {
        addr: memory.at(0, 2 * PLACES as usize * place).addr() as u64,
        len: 2 * u64::from(PLACES) * place as u64,
        chunk_size: place as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(&socket, region)?;
    sockopt::set_xdp_umem_fill_ring_size(&socket, PLACES)?;
    sockopt::set_xdp_umem_completion_ring_size(&socket, PLACES)?;
    sockopt::set_xdp_rx_ring_size(&socket, PLACES)?;
    sockopt::set_xdp_tx_ring_size(&socket, PLACES)?;
    let offsets = sockopt::xdp_mmap_offsets(&socket)?;
    let received = Consumer::map(&socket, PLACES, offsets.rx, libc::XDP_PGOFF_RX_RING)?;
    let to_send = Producer::map(&socket, PLACES, offsets.tx, libc::XDP_PGOFF_TX_RING)?;
    let mut empty =
        Producer::map(&socket, PLACES, offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t)?;
    let sent =
        Consumer::map(&socket, PLACES, offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t)?;
    for ix in 0..PLACES {
        empty.push(u64::from(ix) * place as u64);
    }
    empty.publish();
    bind(&socket, &SocketAddrXdp::new(SocketAddrXdpFlags::empty(), index, 0))?;
    let program = program::attach(index, socket.as_fd())?;
    let other = socket.try_clone()?;
    let receiver = Receiver {
        memory: Arc::clone(&memory),
        place,
        received,
        empty,
        missed_before: 0,
        socket,
        _program: program,
        _promiscuous: promiscuous(index)?,
    };
    let free = (PLACES..2 * PLACES).map(|ix| u64::from(ix) * place as u64).collect();
    Ok((receiver, Sender { socket: other, memory, to_send, sent, free }))
}

/// Receives what comes in at an interface.
pub(crate) struct Receiver {
    memory: Arc<Mapping>,
    place: usize,
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
        let count = self.received.available().min(BATCH as u32);
        if count == 0 {
            return Err(pending_error(&self.socket));
        }
        for _ in 0..count {
            let XdpDesc { addr, len, options } = self.received.pop();
            let (at, length) = (addr as usize, len as usize);
            let bytes = self.memory.at(at - TAG, TAG + length);
            // SAFETY: the kernel has handed the place over until it is pushed below, and keeps more bytes
            // free in front of a frame than a tag has.
            let room = unsafe { std::slice::from_raw_parts_mut(bytes, TAG + length) };
            let unfit = if options.contains(XdpDescOptions::XDP_PKT_CONTD) {
                Some(Loss::TooLong)
            } else {
                partial::is(&room[TAG..]).then_some(Loss::Offload)
            };
            take(Received { header: [0; HEADER], room, tag: None, unfit });
            self.empty.push((at & !(self.place - 1)) as u64);
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
    /// Places that are the gate's.
    free: Vec<u64>,
}

impl Sender {
    /// See [`super::Sender::send`]. What the kernel has taken and not yet sent goes with the next.
    pub(super) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        for _ in 0..self.sent.available() {
            self.free.push(self.sent.pop());
        }
        self.sent.release();
        let mut count = 0;
        for frame in frames.take(BATCH) {
            let Some(place) = self.free.pop() else { break };
            let bytes = self.memory.at(place as usize, frame.len());
            // SAFETY: the place is the gate's, longer than the longest frame, and no frame is in it.
            unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), bytes, frame.len()) };
            let options = XdpDescOptions::empty();
            self.to_send.push(XdpDesc { addr: place, len: frame.len() as u32, options });
            count += 1;
        }
        self.to_send.publish();
        let mut outcome = Ok(());
        for _ in 0..TRIES {
            outcome = send(&self.socket, &[], SendFlags::DONTWAIT).map(drop);
            // It is also "again" when there is nothing more to send.
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
