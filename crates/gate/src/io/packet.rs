//! Packet sockets (packet(7)): frames from and to one interface, in batches.
//!
//! Each interface has sockets that receive, and one that sends past the queueing discipline. A
//! virtio-net header precedes every frame: on receipt it describes the offloads that are left to
//! do, and on sending the segmentation of a super-packet.

#![allow(unsafe_code)]

use super::{BATCH, ETHERNET, MAX_FRAME, Received, TAG};
use crate::frame::offload::HEADER;
use crate::frame::super_packet::{MAX_HEAD, MOST, NO_OFFLOADS, SuperPacket};
use crate::stats::LossReason;
use crate::sys::calls::{checked, pending_error, set};
use libc::c_int;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes of the buffer for one frame.
const BUFFER: usize = (TAG + MAX_FRAME).next_multiple_of(64);
/// Receive buffer in bytes, of which the kernel allows twice as many, for super-packets that have
/// no room in a ring.
const RING_OVERFLOW_BUFFER: c_int = 16 << 20;
/// Send buffer in bytes, of which the kernel allows twice as many.
const SEND_BUFFER: c_int = 64 << 20;
/// Control messages with a `timespec` and a `tpacket_auxdata`, in whole words so that they are
/// aligned.
const CONTROL_WORDS: usize = 10;

/// Sets the size of a socket's buffer; without the privilege, up to the system's limit.
fn set_buffer(socket: &OwnedFd, [forced, plain]: [c_int; 2], bytes: c_int) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, forced, &bytes).or_else(|_| set(socket, libc::SOL_SOCKET, plain, &bytes))
}

/// A packet socket that receives nothing before it is bound.
fn open() -> io::Result<OwnedFd> {
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
pub(super) fn promiscuous(index: u32) -> io::Result<OwnedFd> {
    let socket = open()?;
    join(&socket, index)?;
    Ok(socket)
}

fn bind(socket: &OwnedFd, index: u32, protocol: c_int) -> io::Result<()> {
    // SAFETY: a `sockaddr_ll` is plain data, for which all zeros is a value.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index as c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is `length` readable bytes, of which the kernel makes a copy.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// A socket for the frames that come in at the interface with this index. `prepare` is called with
/// the socket before the first frame can come in.
///
/// # Errors
/// System errors: `EPERM` without CAP_NET_RAW.
pub(super) fn receiving(
    index: u32,
    buffer: c_int,
    prepare: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    let socket = open()?;
    let on: c_int = 1;
    for option in [libc::PACKET_VNET_HDR, libc::PACKET_AUXDATA, libc::PACKET_IGNORE_OUTGOING] {
        set(&socket, libc::SOL_PACKET, option, &on)?;
    }
    set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
    set_buffer(&socket, [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF], buffer)?;
    prepare(&socket)?;
    join(&socket, index)?;
    bind(&socket, index, libc::ETH_P_ALL)?;
    Ok(socket)
}

/// Frames that the kernel dropped since the last call because they were not read in time.
pub(super) fn missed(socket: &OwnedFd) -> u64 {
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

/// The kernel's description of a frame besides its bytes.
#[derive(Clone, Copy, Default)]
struct Described {
    length: usize,
    stamp: Option<u64>,
    tag: Option<[u8; TAG]>,
    truncated: bool,
}

/// Room for [`BATCH`] frames.
pub(super) struct Batch {
    bytes: Box<[u8]>,
    headers: Box<[[u8; HEADER]; BATCH]>,
    controls: Box<[[u64; CONTROL_WORDS]; BATCH]>,
    described: [Described; BATCH],
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            bytes: vec![0; BUFFER * BATCH].into_boxed_slice(),
            headers: Box::new([[0; HEADER]; BATCH]),
            controls: Box::new([[0; CONTROL_WORDS]; BATCH]),
            described: [Described::default(); BATCH],
        }
    }

    /// Receives up to `most` frames from a socket into the places from `first` on, and returns
    /// their number.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn fill(&mut self, socket: &OwnedFd, first: usize, most: usize) -> io::Result<usize> {
        // SAFETY: both are plain data, for which all zeros is a value.
        let (mut parts, mut messages): ([[libc::iovec; 2]; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { zeroed() };
        let most = most.min(BATCH - first);
        let buffers =
            self.bytes.chunks_exact_mut(BUFFER).zip(self.headers.iter_mut()).zip(self.controls.iter_mut());
        for (((buffer, header), control), (parts, message)) in
            buffers.skip(first).take(most).zip(parts.iter_mut().zip(&mut messages))
        {
            *parts = [
                libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: HEADER },
                libc::iovec { iov_base: buffer[TAG..].as_mut_ptr().cast(), iov_len: BUFFER - TAG },
            ];
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = parts.len() as _;
            message.msg_hdr.msg_control = control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = size_of_val(control) as _;
        }
        let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT as _);
        // SAFETY: the first `most` messages point to memory of this batch and of this frame of the
        // stack, which nothing else uses during the call, with its true lengths; no time-out is
        // passed.
        let count = checked(unsafe {
            libc::recvmmsg(fd, messages.as_mut_ptr(), most as libc::c_uint, flags, std::ptr::null_mut())
        })? as usize;
        let controls = self.controls[first..].iter();
        let described = self.described[first..].iter_mut();
        for ((described, control), message) in described.zip(controls).zip(&messages[..count]) {
            let (stamp, tag) = controls_of(control, message.msg_hdr.msg_controllen);
            *described = Described {
                length: (message.msg_len as usize).saturating_sub(HEADER).min(BUFFER - TAG),
                stamp,
                tag,
                truncated: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            };
        }
        Ok(count)
    }

    /// Receive time of the frame in a place; 0 if the kernel does not state it.
    pub(super) fn stamp(&self, place: usize) -> u64 {
        self.described[place].stamp.unwrap_or(0)
    }

    /// The frame in a place.
    pub(super) fn frame(&mut self, place: usize) -> Received<'_> {
        let Described { length, stamp, tag, truncated } = self.described[place];
        Received {
            header: self.headers[place],
            bytes: &mut self.bytes[place * BUFFER..][..TAG + length],
            stamp,
            tag,
            loss: truncated.then_some(LossReason::TooLong),
        }
    }
}

/// Receives the frames that come in at an interface; with a ring, those that have no room in it.
pub(crate) struct Receiver {
    socket: OwnedFd,
    batch: Batch,
}

impl Receiver {
    /// A receiver of the frames that come in at the interface with this index. `prepare` is called
    /// with the socket before the first frame can come in.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(super) fn open(index: u32, prepare: impl FnOnce(&OwnedFd) -> io::Result<()>) -> io::Result<Receiver> {
        Ok(Receiver { socket: receiving(index, RING_OVERFLOW_BUFFER, prepare)?, batch: Batch::new() })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Passes a frame to `take`.
    pub(super) fn receive_one(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<()> {
        for place in 0..self.batch.fill(&self.socket, 0, 1)? {
            take(self.batch.frame(place));
        }
        Ok(())
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The pending error; `EAGAIN` without one.
    pub(super) fn error(&self) -> io::Error {
        pending_error(&self.socket)
    }

    /// See [`super::Receiver::missed`].
    pub(super) fn missed(&self) -> u64 {
        missed(&self.socket)
    }
}

/// Reads the control messages in the first `length` bytes: the time at which the frame was
/// received, and its VLAN tag.
fn controls_of(control: &[u64; CONTROL_WORDS], length: usize) -> (Option<u64>, Option<[u8; TAG]>) {
    const HEADER_LENGTH: usize = size_of::<libc::cmsghdr>();
    let (mut stamp, mut tag, mut at) = (None, None, 0);
    let length = length.min(size_of_val(control));
    while at + HEADER_LENGTH <= length {
        let message = control[at / size_of::<u64>()..].as_ptr();
        // SAFETY: a header lies within the words that the kernel has written, aligned to them, and
        // is plain integers.
        let header = unsafe { message.cast::<libc::cmsghdr>().read() };
        let end = at + header.cmsg_len as usize;
        if end < at + HEADER_LENGTH || end > length {
            break;
        }
        let holds = |size: usize| end - at >= HEADER_LENGTH + size;
        // SAFETY: the data follows the header, which is made of whole words; it is read only when
        // the message holds all of it, and it is plain integers.
        unsafe {
            let data = message.cast::<u8>().add(HEADER_LENGTH);
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if holds(size_of::<libc::timespec>()) => {
                    let time = data.cast::<libc::timespec>().read();
                    stamp = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) if holds(size_of::<libc::tpacket_auxdata>()) => {
                    let data = data.cast::<libc::tpacket_auxdata>().read();
                    tag = vlan_tag(data.tp_status, data.tp_vlan_tci, data.tp_vlan_tpid);
                }
                _ => {}
            }
        }
        at = end.next_multiple_of(size_of::<u64>());
    }
    (stamp, tag)
}

/// The VLAN tag that the kernel has removed from a frame, if `status` marks one.
pub(super) fn vlan_tag(status: u32, tci: u16, protocol: u16) -> Option<[u8; TAG]> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => 0x8100,
        _ => protocol,
    };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), tci.to_be_bytes());
    Some([a, b, c, d])
}

/// The parts of the messages that are sent at once.
struct Parts {
    /// A virtio-net header and a frame for each message; a super-packet has its headers, and the
    /// payloads of its frames.
    slices: Vec<libc::iovec>,
    /// Number of slices and number of frames of each message.
    messages: Vec<(usize, usize)>,
    headers: Box<[[u8; HEADER]; BATCH]>,
    heads: Box<[[u8; MAX_HEAD]; BATCH]>,
}

// SAFETY: the pointers in `slices` are used only by the call that has put them there.
unsafe impl Send for Parts {}

impl Parts {
    fn new() -> Parts {
        Parts {
            slices: Vec::with_capacity(3 * MOST),
            messages: Vec::with_capacity(BATCH),
            headers: Box::new([NO_OFFLOADS; BATCH]),
            heads: Box::new([[0; MAX_HEAD]; BATCH]),
        }
    }

    /// Makes messages of frames; if `joined`, consecutive frames of a TCP connection become one
    /// message.
    fn fill<'f>(&mut self, mut frames: impl Iterator<Item = &'f [u8]>, longest: usize, joined: bool) {
        let slice =
            |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        self.slices.clear();
        self.messages.clear();
        let mut next = frames.next();
        for (header, head) in self.headers.iter_mut().zip(self.heads.iter_mut()) {
            let Some(first) = next else { return };
            let start = self.slices.len();
            // The place of the header, which is written last.
            self.slices.push(slice(&NO_OFFLOADS));
            self.slices.push(slice(first));
            let mut whole = SuperPacket::start(first).filter(|_| joined && first.len() <= longest);
            next = frames.next();
            if let Some(whole) = &mut whole {
                while let Some(frame) = next.filter(|frame| whole.frames() < MOST && whole.add(frame)) {
                    if whole.frames() == 2 {
                        self.slices.push(slice(&first[whole.payload()..]));
                    }
                    self.slices.push(slice(&frame[whole.payload()..]));
                    next = frames.next();
                }
            }
            let frames = whole.as_ref().map_or(1, SuperPacket::frames);
            match whole {
                Some(whole) if frames > 1 => {
                    *header = whole.write_head(head);
                    self.slices[start + 1] = slice(&head[..whole.payload()]);
                }
                _ => *header = NO_OFFLOADS,
            }
            self.slices[start] = slice(&*header);
            self.messages.push((self.slices.len() - start, frames));
        }
    }
}

/// Sends frames out at an interface, consecutive frames of a TCP connection as super-packets.
pub(crate) struct Sender {
    socket: OwnedFd,
    /// Bytes of the longest frame that the interface sends.
    longest: usize,
    /// True if the kernel takes super-packets.
    joins: bool,
    parts: Parts,
}

impl Sender {
    /// A sender to the interface with this index and MTU.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(super) fn open(index: u32, mtu: usize) -> io::Result<Sender> {
        let socket = open()?;
        let on: c_int = 1;
        for option in [libc::PACKET_QDISC_BYPASS, libc::PACKET_VNET_HDR] {
            set(&socket, libc::SOL_PACKET, option, &on)?;
        }
        set_buffer(&socket, [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF], SEND_BUFFER)?;
        bind(&socket, index, 0)?;
        Ok(Sender { socket, longest: ETHERNET + mtu, joins: true, parts: Parts::new() })
    }

    /// A second sender on the same socket.
    pub(super) fn try_clone(&self) -> io::Result<Sender> {
        let Sender { longest, joins, .. } = *self;
        Ok(Sender { socket: self.socket.try_clone()?, longest, joins, parts: Parts::new() })
    }

    /// A sender on a connected socket.
    #[cfg(test)]
    pub(crate) fn of(socket: OwnedFd) -> Sender {
        Sender { socket, longest: MAX_FRAME, joins: true, parts: Parts::new() }
    }

    /// See [`super::Sender::send`].
    pub(crate) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]> + Clone) -> io::Result<usize> {
        match self.send_joined(frames.clone()) {
            // The kernel has refused a super-packet.
            Err(error) if self.parts.messages.first().is_some_and(|(_, frames)| *frames > 1) => {
                if error.raw_os_error() == Some(libc::EINVAL) {
                    self.joins = false;
                }
                let joins = std::mem::replace(&mut self.joins, false);
                let sent = self.send_joined(frames);
                self.joins = joins;
                sent
            }
            result => result,
        }
    }

    fn send_joined<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        self.parts.fill(frames, self.longest, self.joins);
        let Parts { slices, messages: described, .. } = &mut self.parts;
        // SAFETY: a `mmsghdr` is plain data, for which all zeros is a value.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let mut slices = slices.as_mut_slice();
        for (message, (count, _)) in messages.iter_mut().zip(&*described) {
            let (own, rest) = slices.split_at_mut(*count);
            message.msg_hdr.msg_iov = own.as_mut_ptr();
            message.msg_hdr.msg_iovlen = own.len() as _;
            slices = rest;
        }
        let (fd, count) = (self.socket.as_raw_fd(), described.len() as libc::c_uint);
        // SAFETY: the messages point to `parts`, which point to its headers and to the frames. All
        // of these outlive the call, and the kernel only reads them.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _) };
        let sent = checked(sent)? as usize;
        Ok(described[..sent].iter().map(|(_, frames)| frames).sum())
    }
}
