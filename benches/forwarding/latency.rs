//! Latency of single frames at a low rate.

use crate::generator::Generator;
use crate::net::Net;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::mem::{size_of, zeroed};
use std::thread::JoinHandle;
use std::time::Duration;

const FRAMES: usize = 2000;
const GAP: Duration = Duration::from_millis(1);
/// Time without a frame after which all have come.
pub const PATIENCE: Duration = Duration::from_millis(500);
/// Position of the number in a frame.
const NUMBER: usize = 42;

fn nanoseconds() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn checked(result: i64) -> usize {
    assert!(result >= 0, "{}", io::Error::last_os_error());
    result as usize
}

/// Sends frames with numbers, one after the other, and returns the time of each.
pub fn send(generator: &mut Generator, frame: &[u8]) -> Vec<i64> {
    let mut frame = frame.to_vec();
    let send = |number: usize| {
        frame[NUMBER..NUMBER + 4].copy_from_slice(&(number as u32).to_be_bytes());
        let at = nanoseconds();
        generator.send(&frame, 1);
        std::thread::sleep(GAP);
        at
    };
    (0..FRAMES).map(send).collect()
}

/// Receives frames with numbers, on a thread that listens already.
pub fn watch(net: &Net) -> JoinHandle<Vec<(usize, i64)>> {
    let socket = net.spawn("b", 0, listen).join().expect("a listener");
    net.spawn("b", 0, move || read(socket))
}

/// Returns the median and the 99 % quantile of the time, in seconds, from before a frame was sent
/// until the far end's kernel had it.
pub fn quantiles(sent: &[i64], seen: &[(usize, i64)]) -> [f64; 2] {
    let mut spans: Vec<i64> = seen.iter().filter_map(|(number, at)| Some(at - sent.get(*number)?)).collect();
    assert!(spans.len() > FRAMES * 9 / 10, "{} of {FRAMES} frames arrived", spans.len());
    spans.sort_unstable();
    [0.5, 0.99].map(|share| spans[(spans.len() as f64 * share) as usize] as f64 * 1e-9)
}

/// Opens a packet socket for frames that come in at b0, with their arrival times.
fn listen() -> libc::c_int {
    let on: libc::c_int = 1;
    // SAFETY: each call reads the value that it is given a pointer to, with its true length.
    unsafe {
        let socket = checked(libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0).into())
            as libc::c_int;
        for option in [libc::SO_TIMESTAMPNS, libc::SO_RCVBUFFORCE] {
            let value: libc::c_int = if option == libc::SO_TIMESTAMPNS { on } else { 16 << 20 };
            checked(libc::setsockopt(socket, libc::SOL_SOCKET, option, (&raw const value).cast(), 4).into());
        }
        let patience = libc::timeval { tv_sec: 0, tv_usec: PATIENCE.as_micros() as libc::suseconds_t };
        let length = size_of::<libc::timeval>() as libc::socklen_t;
        checked(
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const patience).cast(),
                length,
            )
            .into(),
        );
        let mut address: libc::sockaddr_ll = zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        address.sll_ifindex = libc::if_nametoindex(c"b0".as_ptr()) as libc::c_int;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        checked(libc::bind(socket, (&raw const address).cast(), length).into());
        socket
    }
}

/// Returns the numbers of the frames that come, until none comes for a while, with the times at
/// which the kernel had them.
fn read(socket: libc::c_int) -> Vec<(usize, i64)> {
    let mut seen = Vec::with_capacity(FRAMES);
    let (mut bytes, mut control) = ([0_u8; 2048], [0_u64; 16]);
    loop {
        // SAFETY: the message points to memory of this function with its true length, which the
        // kernel fills; the part read of the control message is written by SO_TIMESTAMPNS.
        unsafe {
            let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            let mut message: libc::msghdr = zeroed();
            (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
            (message.msg_control, message.msg_controllen) =
                (control.as_mut_ptr().cast(), size_of_val(&control));
            if libc::recvmsg(socket, &raw mut message, 0) < 0 {
                libc::close(socket);
                return seen;
            }
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            if bytes[12..14] == [8, 0] && !header.is_null() && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let at = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                let number = u32::from_be_bytes([
                    bytes[NUMBER],
                    bytes[NUMBER + 1],
                    bytes[NUMBER + 2],
                    bytes[NUMBER + 3],
                ]);
                seen.push((number as usize, at.tv_sec * 1_000_000_000 + at.tv_nsec));
            }
        }
    }
}
