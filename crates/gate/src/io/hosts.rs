//! Packet sockets for the frames that come in at an interface, each for a part of the hosts inside.
//!
//! When more frames come than the gate can read, they are lost before the scheduler sees them. With
//! a socket for each part of the hosts, read in turn, a host that floods the gate fills its own
//! socket, and its frames are dropped there at no cost. Frames that are not IP have a socket to
//! themselves: the link needs them. A host's frames are always in the same socket and stay in
//! order.
//!
//! Source: packet(7), PACKET_FANOUT; the kernel's net/packet/af_packet.c.

#![allow(unsafe_code)]

use super::packet::{Batch, missed, receiving};
use super::received::{BATCH, Received};
use crate::sys::calls::{checked, set};
use libc::{c_int, sock_filter};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use tidegate_core::classifier::rules::Direction;

/// Parts of the hosts: a power of two. Closing a socket takes the kernel some 10 ms.
const PARTS: u32 = 16;
/// Sockets: one for each part, and one for frames that are not IP.
const SOCKETS: usize = PARTS as usize + 1;
/// Receive buffer of a socket in bytes, of which the kernel allows twice as many: 5400 short
/// frames, or 1800 of 1514 bytes. An overloaded gate sends as many in less than 20 ms.
const BUFFER: c_int = 2 << 20;

/// Number of sockets read at once, enough that each gives a few frames. The kernel returns those
/// first that were read the longest time ago.
const AT_ONCE: usize = 4;

/// The kind of group in which a classic BPF program selects the socket that gets a frame.
const GROUP: u32 = libc::PACKET_FANOUT_CBPF | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;

/// Receives the frames that come in at an interface.
pub(crate) struct Receiver {
    sockets: [OwnedFd; SOCKETS],
    /// Readable when one of the sockets is.
    ready: OwnedFd,
    events: Vec<epoll::Event>,
    batch: Batch,
    /// The error that a socket has reported while others gave frames.
    failed: Option<io::Error>,
}

impl Receiver {
    /// A receiver of the frames that come in at the interface with this index and go in
    /// `direction`.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(super) fn open(index: u32, direction: Direction) -> io::Result<Receiver> {
        // Until all sockets are in the group, each would receive every frame.
        let nothing = [statement(libc::BPF_RET | libc::BPF_K, 0)];
        let open = || receiving(index, BUFFER, |socket| attach(socket, SOCKET_FILTER, &nothing));
        let sockets: Vec<OwnedFd> = (0..SOCKETS).map(|_| open()).collect::<io::Result<_>>()?;
        let sockets: [OwnedFd; SOCKETS] = sockets.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
        set(
            &sockets[0],
            libc::SOL_PACKET,
            libc::PACKET_FANOUT,
            &((GROUP | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16),
        )?;
        let number = group_number(&sockets[0])?;
        for socket in &sockets[1..] {
            set(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &(number | GROUP << 16))?;
        }
        attach(&sockets[0], (libc::SOL_PACKET, libc::PACKET_FANOUT_DATA), &part_of_host(direction))?;
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (ix, socket) in sockets.iter().enumerate() {
            epoll::add(&ready, socket, epoll::EventData::new_u64(ix as u64), epoll::EventFlags::IN)?;
            set::<c_int>(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0)?;
        }
        let events = Vec::with_capacity(AT_ONCE);
        Ok(Receiver { sockets, ready, events, batch: Batch::new(), failed: None })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(AsFd::as_fd)
    }

    /// See [`super::Receiver::receive`]. Sockets that have frames are read in turn. Frames that
    /// were read at once are passed on in the order in which they came.
    pub(super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.events.clear();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.ready, spare_capacity(&mut self.events), Some(&now))?;
        let Some(share) = BATCH.checked_div(self.events.len()) else {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        };
        let (mut count, mut more) = (0, self.events.len() == AT_ONCE);
        for event in &self.events {
            match self.batch.fill(&self.sockets[event.data.u64() as usize], count, share) {
                Ok(read) => (count, more) = (count + read, more | (read == share)),
                Err(error) => self.failed = Some(error),
            }
        }
        let mut places: [usize; BATCH] = std::array::from_fn(|place| place);
        if self.events.len() > 1 {
            places[..count].sort_by_key(|place| self.batch.stamp(*place));
        }
        for place in &places[..count] {
            take(self.batch.frame(*place));
        }
        match self.failed.take_if(|_| count == 0) {
            Some(error) => Err(error),
            None => Ok(more || self.failed.is_some()),
        }
    }

    /// See [`super::Receiver::missed`].
    pub(super) fn missed(&self) -> u64 {
        self.sockets.iter().map(missed).sum()
    }
}

/// The option that filters what a socket receives.
const SOCKET_FILTER: (c_int, c_int) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);

/// Gives a program to a socket.
fn attach(socket: &OwnedFd, (level, option): (c_int, c_int), code: &[sock_filter]) -> io::Result<()> {
    // The kernel reads the program and keeps a copy.
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    set(socket, level, option, &program)
}

/// The number of the group that a socket is in.
fn group_number(socket: &OwnedFd) -> io::Result<u32> {
    let mut group: u32 = 0;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `group`, which holds as many.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_FANOUT,
            (&raw mut group).cast(),
            &raw mut length,
        )
    })?;
    Ok(group & 0xffff)
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn skip_unless(value: u32, jf: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf, k: value }
}

/// The program that selects the socket of a frame: the part of the host inside, by its IPv4 address
/// or its IPv6 /64. The address is read from the network header, behind VLAN tags.
fn part_of_host(direction: Direction) -> [sock_filter; 14] {
    /// Offsets of the network header, and of the protocol that the kernel knows of a frame.
    const NETWORK: u32 = libc::SKF_NET_OFF as u32;
    const PROTOCOL: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32;
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    /// Odd, with its bits spread (the golden ratio of 2^32): the high bits of a product depend on
    /// all bits of a factor.
    const SPREAD: u32 = 0x9e37_79b1;
    const MULTIPLY: u32 = libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K;
    let (v4, v6) = match direction {
        Direction::Up => (12, 8),
        Direction::Down => (16, 24),
    };
    [
        statement(LOAD, PROTOCOL),
        skip_unless(libc::ETH_P_IP as u32, 2),
        statement(LOAD, NETWORK + v4),
        statement(libc::BPF_JMP | libc::BPF_JA, 6),
        skip_unless(libc::ETH_P_IPV6 as u32, 8),
        statement(LOAD, NETWORK + v6),
        statement(MULTIPLY, SPREAD),
        statement(libc::BPF_MISC | libc::BPF_TAX, 0),
        statement(LOAD, NETWORK + v6 + 4),
        statement(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0),
        statement(MULTIPLY, SPREAD),
        statement(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, u32::BITS - PARTS.ilog2()),
        statement(libc::BPF_RET | libc::BPF_A, 0),
        // Frames that are not IP.
        statement(libc::BPF_RET | libc::BPF_K, PARTS),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of the kernel's classic BPF machine for a packet of this protocol with this network
    /// header.
    fn run(code: &[sock_filter], protocol: u32, header: &[u8]) -> u32 {
        let (mut a, mut x, mut at) = (0_u32, 0_u32, 0);
        loop {
            let sock_filter { code, jt, jf, k } = code[at];
            at += 1;
            match u32::from(code) {
                0x20 if k == (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32 => a = protocol,
                0x20 => {
                    let from = k.wrapping_sub(libc::SKF_NET_OFF as u32) as usize;
                    a = u32::from_be_bytes(header[from..from + 4].try_into().unwrap());
                }
                0x05 => at += k as usize,
                0x15 => at += usize::from(if a == k { jt } else { jf }),
                0x24 => a = a.wrapping_mul(k),
                0x74 => a >>= k,
                0xac => a ^= x,
                0x07 => x = a,
                0x16 => return a,
                0x06 => return k,
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn a_host_has_one_part_and_a_network_has_them_all() {
        const V4: u32 = libc::ETH_P_IP as u32;
        const V6: u32 = libc::ETH_P_IPV6 as u32;
        let [up, down] = Direction::BOTH.map(part_of_host);
        let (mut parts4, mut parts6) = ([0; PARTS as usize], [0; PARTS as usize]);
        for host in 0..=255_u8 {
            let (mut to, mut from) = ([0x45; 40], [0x45; 40]);
            for (header, at) in [(&mut from, 12), (&mut to, 16)] {
                header[at..at + 4].copy_from_slice(&[192, 168, 7, host]);
            }
            let part = run(&up, V4, &from);
            assert_eq!(part, run(&down, V4, &to));
            // The other end's address makes no difference.
            from[16..20].copy_from_slice(&[host, 1, 2, 3]);
            assert_eq!(part, run(&up, V4, &from));
            parts4[part as usize] += 1;
            let (mut to, mut from) = ([0x60; 40], [0x60; 40]);
            for (header, at) in [(&mut from, 8), (&mut to, 24)] {
                header[at..at + 8].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 7, host, 0, host ^ 3]);
                // Behind the /64.
                header[at + 8] = host;
            }
            let part = run(&up, V6, &from);
            assert_eq!(part, run(&down, V6, &to));
            parts6[part as usize] += 1;
        }
        let even = 256 / PARTS;
        for part in parts4.into_iter().chain(parts6) {
            assert!((even / 2..=even * 2).contains(&part), "{parts4:?} {parts6:?}");
        }
        assert_eq!(run(&up, libc::ETH_P_ARP as u32, &[]), PARTS);
        assert_eq!(SOCKETS, PARTS as usize + 1);
    }
}
