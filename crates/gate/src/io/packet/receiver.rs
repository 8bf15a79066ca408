//! Receipt of frames in batches, with their time stamps and VLAN tags.

#![allow(unsafe_code)]

use super::buffer::Buffer;
use super::socket::{missed, receive_at};
use crate::frame::offload::HEADER;
use crate::io::received::{BATCH, MAX_FRAME, Received, TAG};
use crate::stats::LossReason;
use crate::sys::calls::checked;
use libc::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of the buffer for one frame.
const BUFFER: usize = (TAG + MAX_FRAME).next_multiple_of(64);
/// Control messages with a `timespec` and a `tpacket_auxdata`, in whole words so that they are
/// aligned.
const CONTROL_WORDS: usize = 10;

/// The kernel's description of a frame besides its bytes.
#[derive(Clone, Copy, Default)]
struct Described {
    length: usize,
    stamp: Option<u64>,
    tag: Option<[u8; TAG]>,
    truncated: bool,
}

/// Room for [`BATCH`] frames.
pub(in crate::io) struct Batch {
    bytes: Box<[u8]>,
    headers: Box<[[u8; HEADER]; BATCH]>,
    controls: Box<[[u64; CONTROL_WORDS]; BATCH]>,
    described: Box<[Described; BATCH]>,
}

impl Batch {
    pub(in crate::io) fn new() -> Batch {
        Batch {
            bytes: vec![0; BUFFER * BATCH].into_boxed_slice(),
            headers: Box::new([[0; HEADER]; BATCH]),
            controls: Box::new([[0; CONTROL_WORDS]; BATCH]),
            described: Box::new([Described::default(); BATCH]),
        }
    }

    /// Receives up to `most` frames from a socket into the places from `first` on, and returns
    /// their number.
    ///
    /// # Errors
    /// System errors.
    pub(in crate::io) fn fill(&mut self, socket: &OwnedFd, first: usize, most: usize) -> io::Result<usize> {
        self.read(socket, first, most, libc::MSG_DONTWAIT)
    }

    /// Receive time of the next frame of a socket, which stays there. Uses a place.
    ///
    /// # Errors
    /// System errors.
    pub(in crate::io) fn peek(&mut self, socket: &OwnedFd, place: usize) -> io::Result<u64> {
        self.read(socket, place, 1, libc::MSG_DONTWAIT | libc::MSG_PEEK).map(|_| self.stamp(place))
    }

    fn read(&mut self, socket: &OwnedFd, first: usize, most: usize, flags: c_int) -> io::Result<usize> {
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
        let (fd, flags) = (socket.as_raw_fd(), flags as _);
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
    pub(in crate::io) fn stamp(&self, place: usize) -> u64 {
        self.described[place].stamp.unwrap_or(0)
    }

    /// The frame in a place.
    pub(in crate::io) fn frame(&mut self, place: usize) -> Received<'_> {
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

/// Receives the frames that have no room in a ring.
pub(crate) struct Receiver {
    socket: OwnedFd,
    batch: Batch,
}

impl Receiver {
    /// The receiver beside the ring of an open socket, for the frames that come in at the interface
    /// with this index. `prepare` is called with the socket before the first frame can come in.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(in crate::io) fn new(
        socket: OwnedFd,
        index: u32,
        prepare: impl FnOnce(&OwnedFd) -> io::Result<()>,
    ) -> io::Result<Receiver> {
        receive_at(&socket, index, Buffer::MOST, prepare)?;
        Ok(Receiver { socket, batch: Batch::new() })
    }

    /// Passes a frame to `take`.
    pub(in crate::io) fn receive_one(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<()> {
        for place in 0..self.batch.fill(&self.socket, 0, 1)? {
            take(self.batch.frame(place));
        }
        Ok(())
    }

    pub(in crate::io) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// See [`crate::io::Receiver::missed`].
    pub(in crate::io) fn missed(&self) -> u64 {
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
pub(in crate::io) fn vlan_tag(status: u32, tci: u16, protocol: u16) -> Option<[u8; TAG]> {
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
