//! The receive buffer of a socket, adapted to the rate at which its frames are read.
//!
//! A buffer that is full makes every frame wait for as long as the gate takes to read what is in
//! it. How long that is depends on the length of the frames, and on how many other sockets the gate
//! reads in turn. So the buffer is cut when frames have waited too long, and grows again later. The
//! kernel drops the frames for which there is no room, at no cost to the gate.

#![allow(unsafe_code)]

use super::socket::set_buffer;
use crate::sys::calls::checked;
use libc::c_int;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, OwnedFd};

/// Longest time in nanoseconds for which a frame is to wait in a socket.
const LONGEST_WAIT: u64 = 20_000_000;
/// Time in nanoseconds until a buffer grows whose frames wait for less than a quarter of that.
const GROWTH: u64 = 100_000_000;

/// The receive buffer of a socket.
pub(in crate::io) struct Buffer {
    /// Size in bytes, of which the kernel allows twice as many.
    bytes: c_int,
    /// Time of the last cut.
    cut_at: u64,
    /// Time at which it may grow.
    grows_at: u64,
}

impl Buffer {
    /// The size of a buffer that was not cut: 5400 short frames, or 1800 of 1514 bytes.
    pub(in crate::io) const MOST: c_int = 2 << 20;
    /// The size below which no buffer is cut: 340 short frames, or two super-packets.
    const LEAST: c_int = 128 << 10;

    pub(in crate::io) fn new() -> Buffer {
        Buffer { bytes: Buffer::MOST, cut_at: 0, grows_at: 0 }
    }

    /// Adapts the buffer of `socket`, the first of whose frames that were read `now` had waited for
    /// so long. Times are in nanoseconds of CLOCK_REALTIME.
    pub(in crate::io) fn adapt(&mut self, socket: &OwnedFd, now: u64, waited: u64) {
        if let Some(bytes) = self.adapted(now, waited, || held(socket)) {
            // Without privileges a buffer grows up to the system's limit only.
            let _ = set_buffer(socket, [libc::SO_RCVBUF; 2], bytes);
        }
    }

    /// The new size, if it changes. `held` returns the bytes that are held now, as the kernel
    /// counts them.
    fn adapted(&mut self, now: u64, waited: u64, held: impl FnOnce() -> u64) -> Option<c_int> {
        let before = self.bytes;
        if waited > LONGEST_WAIT / 4 {
            self.grows_at = now + GROWTH;
            // Frames that came before the last cut say nothing about it.
            if waited > LONGEST_WAIT && now.saturating_sub(waited) >= self.cut_at {
                let part = held() as u128 / 2 * u128::from(LONGEST_WAIT) / u128::from(waited);
                self.bytes = (part as u64).clamp(Buffer::LEAST as u64, before as u64) as c_int;
                self.cut_at = now;
            }
        } else if before < Buffer::MOST && now >= self.grows_at {
            self.bytes = before.saturating_mul(2).min(Buffer::MOST);
            self.grows_at = now + GROWTH;
        }
        (self.bytes != before).then_some(self.bytes)
    }
}

/// The bytes that the kernel counts for the frames in a socket; 0 if it does not say.
fn held(socket: &OwnedFd) -> u64 {
    /// Numbers of SO_MEMINFO up to SK_MEMINFO_RMEM_ALLOC, the first.
    const NUMBERS: usize = 1;
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `numbers`, which holds as many.
    let result = checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    });
    if result.is_ok() { u64::from(numbers[0]) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that is always full, of which the gate reads so many bytes (as the kernel counts
    /// them) in a second, until `end` nanoseconds; returns the size of its buffer and the longest
    /// wait in the last half.
    fn full(buffer: &mut Buffer, rate: u64, start: u64, end: u64) -> (c_int, u64) {
        let (mut now, mut longest, mut queue) = (start, 0, std::collections::VecDeque::new());
        let frame = 768;
        while now < end {
            let mut held = queue.len() as u64 * frame;
            while held < 2 * buffer.bytes as u64 {
                queue.push_back(now);
                held += frame;
            }
            now += 8 * frame * 1_000_000_000 / rate;
            let waited = now - queue[0];
            queue.drain(..8);
            buffer.adapted(now, waited, || queue.len() as u64 * frame);
            if now > start.midpoint(end) {
                longest = longest.max(waited);
            }
        }
        (buffer.bytes, longest)
    }

    #[test]
    fn frames_wait_for_no_longer_than_intended_unless_the_least_buffer_takes_longer() {
        const SECOND: u64 = 1_000_000_000;
        let mut buffer = Buffer::new();
        // Short frames, of which the kernel counts 768 bytes: 350,000 a second, all from this
        // socket, and then a seventeenth of them.
        let (alone, waited) = full(&mut buffer, 350_000 * 768, SECOND, 2 * SECOND);
        assert_eq!(alone, Buffer::MOST);
        assert!(waited < LONGEST_WAIT, "{waited}");
        let (shared, waited) = full(&mut buffer, 350_000 * 768 / 17, 2 * SECOND, 4 * SECOND);
        assert!(shared < Buffer::MOST / 8, "{shared}");
        assert!(waited < LONGEST_WAIT * 5 / 4, "{waited}");
        // Nothing but a slow gate makes frames wait longer.
        let (least, _) = full(&mut buffer, 1_000_000, 4 * SECOND, 9 * SECOND);
        assert_eq!(least, Buffer::LEAST);
        let (grown, waited) = full(&mut buffer, 350_000 * 768, 9 * SECOND, 12 * SECOND);
        assert!(grown > Buffer::MOST / 8 && waited < LONGEST_WAIT, "{grown} {waited}");
    }

    #[test]
    fn any_times_and_sizes_are_taken() {
        let mut buffer = Buffer::new();
        for now in [0, 1, LONGEST_WAIT, u64::MAX / 2] {
            for waited in [0, LONGEST_WAIT / 4, LONGEST_WAIT + 1, u64::MAX] {
                for held in [0, u64::from(u32::MAX), u64::MAX] {
                    buffer.adapted(now, waited, || held);
                    assert!((Buffer::LEAST..=Buffer::MOST).contains(&buffer.bytes));
                }
            }
        }
    }
}
