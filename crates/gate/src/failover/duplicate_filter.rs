//! Filter against duplicates: while a gate runs, its bridge sees no frames.
//!
//! An incoming frame reaches packet sockets first, then a classifier at the interface (tcx), then
//! the bridge. The classifier drops the frame, which the gate's socket has already received. The
//! classifier belongs to the process: the kernel removes it however the process ends, and the
//! bridge forwards again.
//!
//! During a takeover each frame is forwarded once, by the bridge or by the gate. One flag in a map
//! decides for both the classifiers and the socket filters, at both interfaces at once. Only a
//! frame that is between socket filter and classifier when the flag changes can be lost.

use crate::error::FailoverError;
use crate::sys::bpf::{self, Instruction, Kind};
use rustix::io::fcntl_dupfd_cloexec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The packet goes on (`TCX_NEXT`).
const NEXT: i32 = -1;
/// The packet is dropped (`TCX_DROP`).
const DROP: i32 = 2;
/// Number of bytes of a packet that a socket filter keeps.
const NOTHING: i32 = 0;
const EVERYTHING: i32 = -1;

/// The lowest descriptor of a tcx link. When a process ends, the highest descriptors are closed
/// first, and closing a packet socket takes many milliseconds.
const FIRST_LINK: i32 = 256;

/// The filter on two interfaces, until it is dropped or the process ends.
pub(crate) struct DuplicateFilter {
    /// The flag, which is set while the gate forwards.
    active: OwnedFd,
    filter: OwnedFd,
    _links: [OwnedFd; 2],
}

impl DuplicateFilter {
    /// Attaches an inactive duplicate filter: the bridge still sees every frame.
    ///
    /// # Errors
    /// When the privilege is missing, or the kernel is too old.
    pub(super) fn attach(interfaces: [u32; 2]) -> Result<DuplicateFilter, FailoverError> {
        let failed = |error: io::Error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => FailoverError::DuplicateFilterPrivilege,
            Some(libc::ENOSYS) => FailoverError::DuplicateFilterKernel,
            _ => FailoverError::system("a filter against duplicates", error),
        };
        let active = bpf::flag().map_err(failed)?;
        let program = |kind, name, [not, yes]: [i32; 2]| {
            let [low, high] = Instruction::address(1, active.as_fd());
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
        let classifier = program(Kind::Classifier, "tidegate_guard", [NEXT, DROP])?;
        let filter = program(Kind::SocketFilter, "tidegate_take", [NOTHING, EVERYTHING])?;
        let link = |interface| {
            let link =
                bpf::attach(classifier.as_fd(), interface).map_err(|error| match error.raw_os_error() {
                    Some(libc::EINVAL) => FailoverError::DuplicateFilterKernel,
                    _ => failed(error),
                })?;
            fcntl_dupfd_cloexec(&link, FIRST_LINK).map_err(|error| failed(error.into()))
        };
        Ok(DuplicateFilter { _links: [link(interfaces[0])?, link(interfaces[1])?], active, filter })
    }

    /// Attaches the filter to a socket, which then receives only frames that the bridge does not
    /// see.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn filter(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::filter(socket, self.filter.as_fd())
    }

    /// Activates the duplicate filter: from now on the gate receives the frames, and the bridge
    /// does not.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn activate(&self) -> io::Result<()> {
        bpf::set_flag(self.active.as_fd(), 1)
    }

    /// Detaches the filter from a socket; once the duplicate filter is active, the socket filter
    /// passes everything.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn unfilter(socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::unfilter(socket)
    }
}

impl Drop for DuplicateFilter {
    /// Gives both interfaces back to the bridge at once; their links are then closed one after the
    /// other.
    fn drop(&mut self) {
        // If this fails, the links are still closed.
        let _ = bpf::set_flag(self.active.as_fd(), 0);
    }
}
