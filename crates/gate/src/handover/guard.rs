//! The guard against duplicates: while a gate runs, its bridge sees no frame.
//!
//! Packet sockets come first, then a classifier at the interface, then the bridge. The classifier drops
//! what the gate has got. It belongs to the process, so that the kernel takes it away however that ends,
//! and the bridge goes on.
//!
//! When a gate takes over, a frame is either the bridge's or the gate's: one number in a map decides for
//! the classifiers and for filters on the gate's sockets alike, at every interface at once. Only a frame
//! that is just then between the two can be lost.

use super::error::HandoverError;
use crate::bpf::{self, Instruction, Kind};
use rustix::io::fcntl_dupfd_cloexec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Nothing is said of the packet (`TCX_NEXT`).
const GO_ON: i32 = -1;
/// The packet is dropped (`TCX_DROP`).
const DROP: i32 = 2;
/// A filter keeps so many bytes of a packet.
const NOTHING: i32 = 0;
const EVERYTHING: i32 = -1;

/// Links have descriptors from here on. Of a process that dies, the last are closed first, and closing a
/// packet socket takes many milliseconds.
const LAST: i32 = 256;

/// A guard on two interfaces, until it is dropped or the process ends.
pub(crate) struct Guard {
    /// Whether frames are the gate's.
    taken: OwnedFd,
    filter: OwnedFd,
    _links: [OwnedFd; 2],
}

impl Guard {
    /// A guard that lets everything pass to the bridge.
    ///
    /// # Errors
    /// Where the privilege is missing, or the kernel is too old.
    pub(super) fn attach(interfaces: [u32; 2]) -> Result<Guard, HandoverError> {
        let failed = |error: io::Error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => HandoverError::GuardPrivilege,
            Some(libc::ENOSYS) => HandoverError::GuardKernel,
            _ => HandoverError::system("a guard against duplicates", error),
        };
        let taken = bpf::flag().map_err(failed)?;
        let program = |kind, name, [not, yes]: [i32; 2]| {
            let [low, high] = Instruction::address(1, taken.as_fd());
            let code = [
                low,
                high,
                Instruction::load(1, 1),
                Instruction::set(0, not),
                Instruction::skip_if_zero(1, 1),
                Instruction::set(0, yes),
                Instruction::exit(),
            ];
            bpf::program(kind, name, &code).map_err(failed)
        };
        let classifier = program(Kind::Classifier, "tidegate_guard", [GO_ON, DROP])?;
        let filter = program(Kind::SocketFilter, "tidegate_take", [NOTHING, EVERYTHING])?;
        let link = |interface| {
            let link =
                bpf::attach(classifier.as_fd(), interface).map_err(|error| match error.raw_os_error() {
                    Some(libc::EINVAL) => HandoverError::GuardKernel,
                    _ => failed(error),
                })?;
            fcntl_dupfd_cloexec(&link, LAST).map_err(|error| failed(error.into()))
        };
        Ok(Guard { _links: [link(interfaces[0])?, link(interfaces[1])?], taken, filter })
    }

    /// Lets a socket receive only what the bridge does not see.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn hold(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::filter(socket, self.filter.as_fd())
    }

    /// From now on frames are the gate's.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn take(&self) -> io::Result<()> {
        bpf::set_flag(self.taken.as_fd(), 1)
    }

    /// Spares a socket the filter, which lets everything pass once frames are the gate's.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn release(socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::unfilter(socket)
    }
}

impl Drop for Guard {
    /// Gives both interfaces back at once: their links go one after the other.
    fn drop(&mut self) {
        // Should it fail, the links go all the same.
        let _ = bpf::set_flag(self.taken.as_fd(), 0);
    }
}
