//! System calls shared by several kinds of input and output.

#![allow(unsafe_code)]

use libc::{c_int, c_void};
use rustix::io::Errno;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

/// The result of a system call, or its error.
pub(crate) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets a socket option, which is plain data.
pub(crate) fn set<T: Copy>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let (place, length) = ((&raw const *value).cast::<c_void>(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `place` is `length` readable bytes, of which the kernel makes a copy.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, place, length) }).map(drop)
}

/// The pending error of a socket; `EAGAIN` without one.
pub(crate) fn pending_error(socket: &OwnedFd) -> io::Error {
    let failed = rustix::net::sockopt::socket_error(socket);
    io::Error::from(failed.map_or_else(|error| error, |pending| pending.err().unwrap_or(Errno::AGAIN)))
}

/// A memory mapping that is shared with the kernel; it is unmapped when it is dropped.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to this value alone, as a box's would, and to no thread.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives the address only; the code that uses the memory excludes other
// users.
#[cfg(feature = "xdp")]
unsafe impl Sync for Mapping {}

impl Mapping {
    /// An empty mapping.
    pub(crate) const fn none() -> Mapping {
        Mapping { start: NonNull::dangling(), length: 0 }
    }

    /// Maps `length` bytes that a socket shares.
    pub(crate) fn of(socket: &OwnedFd, length: usize, offset: libc::off_t) -> io::Result<Mapping> {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
    }

    /// Zeroed memory of this process.
    #[cfg(feature = "xdp")]
    pub(crate) fn anonymous(length: usize) -> io::Result<Mapping> {
        Mapping::new(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn new(length: usize, flags: c_int, fd: c_int, offset: libc::off_t) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses where, so nothing that is in use is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, length })
    }

    /// The address of the `length` bytes from `offset` on.
    ///
    /// # Panics
    /// When they are not all within the mapping.
    pub(crate) fn at(&self, offset: usize, length: usize) -> *mut u8 {
        assert!(offset + length <= self.length);
        // SAFETY: the address is within the mapping, as the assertion ensures.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: this was mapped as a whole, and no reference into it outlives it.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
        }
    }
}
