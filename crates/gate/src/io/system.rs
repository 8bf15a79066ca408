//! What the ways of input and output share of the system's calls.

#![allow(unsafe_code)]

use libc::{c_int, c_void};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};

/// A system call's result, or its error.
pub(super) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets a socket's option, which is plain data.
pub(super) fn set<T: Copy>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let (place, length) = ((&raw const *value).cast::<c_void>(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `place` is `length` readable bytes, of which the kernel makes a copy.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, place, length) }).map(drop)
}
