//! A null device, for benchmarks: its frames are always there, and come from memory without a
//! system call.

use super::received::{BATCH, Received, TAG};
use crate::frame::offload::HEADER;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Receives the same frames again and again.
pub(crate) struct Receiver {
    /// The frames, each behind room for a tag.
    frames: Vec<Vec<u8>>,
    next: usize,
    /// Their time stamps.
    clock: fn() -> u64,
    /// Always readable, unless there are no frames.
    ready: OwnedFd,
}

impl Receiver {
    /// A receiver of these frames, at times in nanoseconds of CLOCK_REALTIME.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn of(frames: &[Vec<u8>], clock: fn() -> u64) -> io::Result<Receiver> {
        let with_room = |frame: &Vec<u8>| [&[0; TAG], frame.as_slice()].concat();
        let frames: Vec<Vec<u8>> = frames.iter().map(with_room).collect();
        let ready = eventfd(u32::from(!frames.is_empty()), EventfdFlags::CLOEXEC)?;
        Ok(Receiver { frames, next: 0, clock, ready })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    /// See [`super::Receiver::receive`].
    pub(crate) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<bool> {
        let stamp = Some((self.clock)());
        if self.frames.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        for _ in 0..BATCH {
            let bytes = &mut self.frames[self.next];
            take(Received { header: [0; HEADER], bytes, stamp, tag: None, loss: None });
            self.next += 1;
            if self.next == self.frames.len() {
                self.next = 0;
            }
        }
        Ok(true)
    }
}
