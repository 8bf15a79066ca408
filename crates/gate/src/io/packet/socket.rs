//! Packet sockets: opening, settings and counts.

#![allow(unsafe_code)]

use crate::sys::calls::{checked, set};
use libc::c_int;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

/// Sets the size of a socket's buffer; without the privilege, up to the system's limit.
pub(super) fn set_buffer(socket: &OwnedFd, [forced, plain]: [c_int; 2], bytes: c_int) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, forced, &bytes).or_else(|_| set(socket, libc::SOL_SOCKET, plain, &bytes))
}

/// A packet socket that receives nothing before it is bound.
pub(in crate::io) fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?)
}

/// Makes an interface promiscuous as long as the socket is open.
fn join(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Makes an interface promiscuous with a socket that has no other use.
#[cfg(feature = "xdp")]
pub(in crate::io) fn promiscuous(index: u32) -> io::Result<OwnedFd> {
    let socket = open()?;
    join(&socket, index)?;
    Ok(socket)
}

pub(super) fn bind(socket: &OwnedFd, index: u32, protocol: c_int) -> io::Result<()> {
    // SAFETY: a `sockaddr_ll` is plain data, for which all zeros is a value.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index as c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is `length` readable bytes, of which the kernel makes a copy.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// Lets an open socket receive the frames that come in at the interface with this index. `prepare`
/// is called with the socket before the first frame can come in.
///
/// # Errors
/// System errors: `EPERM` without CAP_NET_RAW.
pub(in crate::io) fn receive_at(
    socket: &OwnedFd,
    index: u32,
    buffer: c_int,
    prepare: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> io::Result<()> {
    let on: c_int = 1;
    for option in [libc::PACKET_VNET_HDR, libc::PACKET_AUXDATA, libc::PACKET_IGNORE_OUTGOING] {
        set(socket, libc::SOL_PACKET, option, &on)?;
    }
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
    set_buffer(socket, [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF], buffer)?;
    prepare(socket)?;
    join(socket, index)?;
    bind(socket, index, libc::ETH_P_ALL)
}

/// Frames that the kernel dropped since the last call because they were not read in time.
pub(in crate::io) fn missed(socket: &OwnedFd) -> u64 {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `stats`, which holds as many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut length,
        )
    };
    if result < 0 { 0 } else { u64::from(stats.tp_drops) }
}

/// Takes a socket without a ring out of its group and adds it again, as the last member. What it
/// has received is lost.
pub(in crate::io) fn rejoin(socket: &OwnedFd) -> io::Result<()> {
    // A change of rings does this, even from none to none.
    let none = libc::tpacket_req { tp_block_size: 0, tp_block_nr: 0, tp_frame_size: 0, tp_frame_nr: 0 };
    set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &none)
}
