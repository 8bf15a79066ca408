//! Sending of frames in batches, consecutive frames of a connection or flow as super-packets.

#![allow(unsafe_code)]

use super::socket::{bind, open, set_buffer};
use crate::frame::grouping::MOST;
use crate::frame::offload::HEADER;
use crate::frame::super_packet::{MAX_HEAD, NO_OFFLOADS, SuperPacket};
use crate::io::received::{BATCH, ETHERNET};
use crate::sys::calls::{checked, set};
use libc::c_int;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

/// Send buffer in bytes, of which the kernel allows twice as many.
const SEND_BUFFER: c_int = 64 << 20;

/// The kinds of super-packets that are made.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Joined {
    tcp: bool,
    udp: bool,
}

impl Joined {
    const NONE: Joined = Joined { tcp: false, udp: false };
    const BOTH: Joined = Joined { tcp: true, udp: true };

    /// True if this super-packet is of one of the kinds.
    fn has(self, whole: &SuperPacket<'_>) -> bool {
        if whole.is_udp() { self.udp } else { self.tcp }
    }
}

/// The parts of the messages that are sent at once.
struct Parts {
    /// A virtio-net header and a frame for each message; a super-packet has its headers, and the
    /// payloads of its frames.
    slices: Vec<libc::iovec>,
    /// Number of slices and number of frames of each message.
    messages: Vec<(usize, usize)>,
    /// True if the first message is a super-packet of UDP.
    udp_first: bool,
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
            udp_first: false,
            headers: Box::new([NO_OFFLOADS; BATCH]),
            heads: Box::new([[0; MAX_HEAD]; BATCH]),
        }
    }

    /// Makes messages of frames; consecutive frames that are `joined` become one message.
    fn fill<'f>(&mut self, mut frames: impl Iterator<Item = &'f [u8]>, longest: usize, joined: Joined) {
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
            let mut whole =
                SuperPacket::start(first).filter(|whole| joined.has(whole) && first.len() <= longest);
            if start == 0 {
                self.udp_first = whole.as_ref().is_some_and(SuperPacket::is_udp);
            }
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

/// Sends frames out at an interface, consecutive frames of a connection or flow as super-packets.
pub(crate) struct Sender {
    socket: OwnedFd,
    /// Bytes of the longest frame that the interface sends.
    longest: usize,
    /// The super-packets that the kernel takes, as far as it is known.
    joins: Joined,
    parts: Parts,
    /// Hands messages to the kernel; a test has an older one.
    hand_over: HandOver,
}

/// Hands messages over at a socket, and returns the number of those that the kernel has taken.
type HandOver = fn(c_int, &mut [libc::mmsghdr]) -> io::Result<usize>;

fn hand_over(socket: c_int, messages: &mut [libc::mmsghdr]) -> io::Result<usize> {
    let count = messages.len() as libc::c_uint;
    // SAFETY: the messages point to parts and frames, which outlive the call, and the kernel only
    // reads them.
    let sent = unsafe { libc::sendmmsg(socket, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _) };
    Ok(checked(sent)? as usize)
}

impl Sender {
    /// A sender to the interface with this index and MTU.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(in crate::io) fn open(index: u32, mtu: usize) -> io::Result<Sender> {
        let socket = open()?;
        let on: c_int = 1;
        for option in [libc::PACKET_QDISC_BYPASS, libc::PACKET_VNET_HDR] {
            set(&socket, libc::SOL_PACKET, option, &on)?;
        }
        set_buffer(&socket, [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF], SEND_BUFFER)?;
        bind(&socket, index, 0)?;
        Ok(Sender::at(socket, ETHERNET + mtu))
    }

    fn at(socket: OwnedFd, longest: usize) -> Sender {
        Sender { socket, longest, joins: Joined::BOTH, parts: Parts::new(), hand_over }
    }

    /// A second sender on the same socket.
    pub(in crate::io) fn try_clone(&self) -> io::Result<Sender> {
        let Sender { longest, joins, hand_over, .. } = *self;
        Ok(Sender { socket: self.socket.try_clone()?, longest, joins, parts: Parts::new(), hand_over })
    }

    /// A sender on a connected socket.
    #[cfg(test)]
    pub(crate) fn of(socket: OwnedFd) -> Sender {
        Sender::at(socket, crate::io::received::MAX_FRAME)
    }

    /// A sender to nowhere, which makes the messages.
    #[cfg(feature = "bench")]
    pub(crate) fn null() -> io::Result<Sender> {
        let socket = std::fs::File::open("/dev/null")?.into();
        Ok(Sender::at(socket, crate::io::received::MAX_FRAME))
    }

    /// Makes the messages that frames are sent as, and returns the number of frames.
    #[cfg(feature = "bench")]
    pub(crate) fn make_messages<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> usize {
        self.parts.fill(frames, self.longest, self.joins);
        std::hint::black_box(&self.parts.slices);
        self.parts.messages.iter().map(|(_, frames)| frames).sum()
    }

    /// See [`crate::io::Sender::send`].
    pub(crate) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]> + Clone) -> io::Result<usize> {
        match self.send_joined(frames.clone()) {
            // The kernel has refused a super-packet.
            Err(error) if self.parts.messages.first().is_some_and(|(_, frames)| *frames > 1) => {
                if error.raw_os_error() == Some(libc::EINVAL) {
                    // Linux before 6.2 knows none of UDP.
                    let kind = if self.parts.udp_first { &mut self.joins.udp } else { &mut self.joins.tcp };
                    *kind = false;
                }
                let joins = std::mem::replace(&mut self.joins, Joined::NONE);
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
        let sent = (self.hand_over)(self.socket.as_raw_fd(), &mut messages[..described.len()])?;
        Ok(described[..sent].iter().map(|(_, frames)| frames).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::offload::GSO_UDP;
    use crate::frame::super_packet::tests::{datagrams, segments};
    use std::os::unix::net::UnixDatagram;

    /// Linux before 6.2: `virtio_net_hdr_to_skb` answers a super-packet of UDP with EINVAL, and
    /// `sendmmsg` returns the number of messages before it, if there are some.
    fn before_6_2(socket: c_int, messages: &mut [libc::mmsghdr]) -> io::Result<usize> {
        // SAFETY: the first part of each message is its virtio-net header.
        let kind =
            |message: &libc::mmsghdr| unsafe { *(*message.msg_hdr.msg_iov).iov_base.cast::<[u8; HEADER]>() };
        let is_udp = |message: &libc::mmsghdr| kind(message)[1] == GSO_UDP;
        match messages.iter().position(is_udp) {
            Some(0) => Err(io::Error::from_raw_os_error(libc::EINVAL)),
            Some(first) => hand_over(socket, &mut messages[..first]),
            None => hand_over(socket, messages),
        }
    }

    /// The messages that a sender makes of frames, as numbers of their frames. They have the
    /// payloads of the frames in order.
    fn sent(sender: &mut Sender, far: &UnixDatagram, frames: &[Vec<u8>]) -> Vec<usize> {
        let mut counts = Vec::new();
        let (mut next, mut bytes) = (0, vec![0; 70_000]);
        while next < frames.len() {
            let done = sender.send(frames[next..].iter().map(Vec::as_slice)).unwrap();
            let mut rest = &frames[next..next + done];
            while !rest.is_empty() {
                let length = far.recv(&mut bytes).unwrap();
                let message = &bytes[HEADER..length];
                if bytes[..HEADER] == NO_OFFLOADS {
                    assert_eq!(message, rest[0]);
                    counts.push(1);
                } else {
                    let head = usize::from(u16::from_ne_bytes([bytes[2], bytes[3]]));
                    let payloads = message[head..].len();
                    let count = payloads.div_ceil(rest[0].len() - head);
                    let expected: Vec<u8> =
                        rest[..count].iter().flat_map(|frame| &frame[head..]).copied().collect();
                    assert_eq!(message[head..], expected);
                    counts.push(count);
                }
                rest = &rest[counts[counts.len() - 1]..];
            }
            next += done;
        }
        counts
    }

    /// Datagrams go one by one to a kernel that refuses them together, and nothing is lost, sent twice
    /// or out of order; segments go together all the same. The kernel is asked once.
    #[test]
    fn a_kernel_without_super_packets_of_udp_gets_datagrams_alone() {
        let (near, far) = UnixDatagram::pair().unwrap();
        let mut sender = Sender::of(near.into());
        let mixed = [datagrams(4), segments(5), datagrams(3)].concat();
        assert_eq!(sent(&mut sender, &far, &mixed), [4, 5, 3]);

        sender.hand_over = before_6_2;
        // Segments that stand before them have gone by then.
        let behind = [segments(5), datagrams(4)].concat();
        assert_eq!(sent(&mut sender, &far, &behind), [5, 1, 1, 1, 1]);
        assert!(sender.joins == Joined { tcp: true, udp: false });
        let usual = [1, 1, 1, 1, 5, 1, 1, 1];
        assert_eq!(sent(&mut sender, &far, &mixed), usual);
        let mut second = sender.try_clone().unwrap();
        assert_eq!(sent(&mut second, &far, &mixed), usual);

        // All that one call has goes alone where it begins with datagrams.
        let mut first = Sender { joins: Joined::BOTH, ..sender };
        assert_eq!(sent(&mut first, &far, &mixed), [1; 12]);
        assert_eq!(sent(&mut first, &far, &mixed), usual);
    }

    /// A refusal for want of room tells nothing about the kernel: later datagrams go together.
    #[test]
    fn datagrams_are_joined_again_after_a_lack_of_room() {
        let (near, far) = UnixDatagram::pair().unwrap();
        let buffer = near.try_clone().unwrap();
        let mut sender = Sender::of(near.into());
        let frames = datagrams(8);
        assert_eq!(sent(&mut sender, &far, &frames), [8]);
        let usual = rustix::net::sockopt::socket_send_buffer_size(&buffer).unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&buffer, 4096).unwrap();
        // The first ones go alone, until the rest has room.
        assert_eq!(sent(&mut sender, &far, &frames)[..3], [1; 3]);
        assert!(sender.joins == Joined::BOTH);
        rustix::net::sockopt::set_socket_send_buffer_size(&buffer, usual / 2).unwrap();
        assert_eq!(sent(&mut sender, &far, &frames), [8]);
    }
}
