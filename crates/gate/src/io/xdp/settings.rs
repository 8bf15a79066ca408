//! Settings of an interface that change frames before AF_XDP hands them over.
//!
//! Source: ethtool(8), and the kernel's include/uapi/linux/ethtool.h.

#![allow(unsafe_code)]

use crate::error::GateError;
use crate::sys::calls::checked;
use crate::sys::interface::request_about;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::AsRawFd;

const GET_FLAGS: u32 = 0x25;
const GET_GRO: u32 = 0x2b;
const GET_CHANNELS: u32 = 0x3c;
const STRIPS_TAGS: u32 = 1 << 8;
const LRO: u32 = 1 << 15;

/// Checks that an interface hands frames over as they were on the wire, and at one queue.
///
/// # Errors
/// When it does not; the error states which setting to change.
pub(super) fn check(name: &str) -> Result<(), GateError> {
    let failed = |error| GateError::system(format!("what interface `{name}` does"), error);
    let flags = ask::<2>(name, GET_FLAGS).map_err(failed)?[1];
    let gro = ask::<2>(name, GET_GRO).map_err(failed)?[1] != 0;
    let off: Vec<&str> =
        [(gro, "gro off"), (flags & LRO != 0, "lro off"), (flags & STRIPS_TAGS != 0, "rxvlan off")]
            .into_iter()
            .filter_map(|(on, off)| on.then_some(off))
            .collect();
    if !off.is_empty() {
        return Err(GateError::unsuitable(
            name,
            "it joins frames or takes VLAN tags out of them, which AF_XDP does not report",
            format!("ethtool -K {name} {}", off.join(" ")),
        ));
    }
    // The maxima and then the numbers of channels: receiving, sending, other, combined.
    let [.., receiving, _, _, combined] = ask::<9>(name, GET_CHANNELS).map_err(failed)?;
    if receiving + combined > 1 {
        let which = if combined > 0 { "combined" } else { "rx" };
        return Err(GateError::unsuitable(
            name,
            "it has several receive queues, and the gate reads one",
            format!("ethtool -L {name} {which} 1"),
        ));
    }
    Ok(())
}

/// An ethtool request and its answer, as words of which the first is the request. The others are
/// zero when the interface does not support it.
fn ask<const WORDS: usize>(name: &str, command: u32) -> io::Result<[u32; WORDS]> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut words = [0; WORDS];
    words[0] = command;
    let mut query = request_about(name);
    query.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the request reads one `ifreq` and fills the words that it points to, as many as the
    // command has; both outlive the call.
    match checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut query) }) {
        Ok(_) => Ok(words),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok([0; WORDS]),
        Err(error) => Err(error),
    }
}
