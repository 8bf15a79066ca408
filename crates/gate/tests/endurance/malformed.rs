//! Frames of every kind that nobody should send, and a socket that sends them.

#![allow(unsafe_code, reason = "packet sockets with a virtio-net header have no safe interface")]

use rustix::net::{AddressFamily, Protocol, SendFlags, SocketFlags, SocketType, send, socket_with};
use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use tidegate_core::rng::Rng;

/// A packet socket that sends whole frames at an interface.
pub struct Raw(OwnedFd);

impl Raw {
    /// With `virtio`, each frame stands behind a virtio-net header.
    pub fn open(interface: &str, virtio: bool) -> Raw {
        let none: Option<Protocol> = None;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, none).unwrap();
        let name = CString::new(interface).unwrap();
        let on = i32::from(virtio);
        // SAFETY: a name that ends with a zero; an option and an address of plain data, each with
        // its length, of which the kernel makes copies. An address of zeroes is one.
        let done = unsafe {
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let (option, fd) = ((&raw const on).cast(), socket.as_raw_fd());
            let length = size_of::<i32>() as libc::socklen_t;
            libc::setsockopt(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, option, length)
                | libc::bind(
                    fd,
                    (&raw const address).cast(),
                    size_of::<libc::sockaddr_ll>() as libc::socklen_t,
                )
        };
        assert_eq!(done, 0, "{interface}: {}", io::Error::last_os_error());
        Raw(socket)
    }

    /// Sends a frame, unless the kernel refuses it: such a frame never gets onto a wire.
    pub fn send(&self, frame: &[u8]) {
        let _ = send(&self.0, frame, SendFlags::DONTWAIT);
    }
}

/// A virtio-net header: mostly what might go with a frame of [`frame`], sometimes anything.
pub fn virtio_header(rng: &mut Rng) -> [u8; 10] {
    let word = |value: u64| (value as u16).to_ne_bytes();
    let (size, start) = match rng.below(3) {
        0 => (rng.below(1500), [34, 38, 54, 58][rng.below(4) as usize]),
        1 => (rng.below(20), rng.below(100)),
        _ => (rng.below(1 << 16), rng.below(1 << 16)),
    };
    let kind = [0, 1, 1, 3, 4, 5, 0x81, rng.below(256) as u8][rng.below(8) as usize];
    let [size, start] = [size, start].map(word);
    let length = word(rng.below(100));
    let offset = word([6, 16, rng.below(1 << 16)][rng.below(3) as usize]);
    [
        rng.below(4) as u8,
        kind,
        length[0],
        length[1],
        size[0],
        size[1],
        start[0],
        start[1],
        offset[0],
        offset[1],
    ]
}

/// An Ethernet frame with a mistake: truncated, with wrong lengths, many tags, many extension
/// headers, fragments, or noise. Now and then it is right.
pub fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 1];
    // Sometimes broadcast, so that hosts examine it, too.
    if rng.chance(0.1) {
        frame[..6].fill(0xff);
    }
    for _ in 0..[0, 0, 0, 1, 2, rng.below(40)][rng.below(6) as usize] {
        let tag = [[0x81, 0], [0x88, 0xa8], [0x91, 0]][rng.below(3) as usize];
        frame.extend(tag);
        frame.extend((rng.below(1 << 16) as u16).to_be_bytes());
    }
    let length = [0, 1, 4, 20, 100, 1400][rng.below(6) as usize];
    let mut body = noise(rng, length);
    match rng.below(8) {
        0 => frame.extend([8, 6]),
        1 => frame.extend((rng.below(1 << 16) as u16).to_be_bytes()),
        2 => {
            frame.extend([0x88, 0x47]);
            for _ in 0..rng.below(30) {
                frame.extend([0, 1, u8::from(rng.chance(0.1)), 64]);
            }
        }
        3 | 4 => {
            frame.extend([0x86, 0xdd]);
            body = six(rng, body);
        }
        _ => {
            frame.extend([8, 0]);
            body = four(rng, body);
        }
    }
    frame.extend(body);
    // A device takes no more than its MTU, and no less than an Ethernet header.
    frame.truncate(1514);
    if rng.chance(0.3) {
        frame.truncate(14 + rng.below(60) as usize);
    }
    frame
}

fn noise(rng: &mut Rng, length: u64) -> Vec<u8> {
    (0..length).map(|_| rng.below(256) as u8).collect()
}

/// A length that is right, or not.
fn length(rng: &mut Rng, right: usize) -> [u8; 2] {
    let length = if rng.chance(0.7) { right as u64 } else { rng.below(1 << 16) };
    (length as u16).to_be_bytes()
}

fn four(rng: &mut Rng, body: Vec<u8>) -> Vec<u8> {
    let words = if rng.chance(0.7) { 5 } else { rng.below(16) as u8 };
    let mut packet = vec![0x40 | words, rng.below(256) as u8];
    packet.extend(length(rng, 20 + 8 + body.len()));
    let fragment = if rng.chance(0.7) { 0 } else { rng.below(1 << 16) as u16 };
    packet.extend([0, 7]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, [1, 6, 17, 51, 4, 132][rng.below(6) as usize], 0, 0]);
    packet.extend([10, 7, 0, rng.below(256) as u8, 10, 7, 0, rng.below(256) as u8]);
    packet.extend([0, rng.below(256) as u8, 0, 80]);
    packet.extend(length(rng, 8 + body.len()));
    packet.extend([0, 0]);
    packet.extend(body);
    packet
}

fn six(rng: &mut Rng, body: Vec<u8>) -> Vec<u8> {
    const NEXT: [u8; 9] = [0, 43, 44, 60, 51, 135, 6, 17, 58];
    let mut rest = Vec::new();
    let first = NEXT[rng.below(9) as usize];
    for _ in 0..rng.below(20) {
        let words = if rng.chance(0.7) { 0 } else { rng.below(256) as u8 };
        rest.extend([NEXT[rng.below(9) as usize], words]);
        rest.extend(noise(rng, 6));
    }
    rest.extend(body);
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(length(rng, rest.len()));
    packet.extend([first, 64]);
    packet.extend([0xfd, 0x07, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, rng.below(256) as u8]);
    packet.extend([0xfd, 0x07, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    packet.extend(rest);
    packet
}
