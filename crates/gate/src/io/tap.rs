//! TAP devices: interfaces that the gate makes or opens, with the gate at the other end.
//!
//! The gate reads the frames that the host sends to such a device, and frames that the gate writes
//! come in at the host. The gate needs privileges in its network namespace only, so a user
//! namespace suffices. Frames have virtio-net headers, and their VLAN tags are in the frame.
//!
//! Source: the kernel's Documentation/networking/tuntap.rst and drivers/net/tun.c.

#![allow(unsafe_code)]

use super::received::{BATCH, MAX_FRAME, Received, TAG};
use crate::error::GateError;
use crate::frame::offload::HEADER;
use crate::stats::LossReason;
use crate::sys::calls::checked;
use crate::sys::interface::{Interface, request_about, set_up};
use libc::c_int;
use rustix::fs::{Mode, OFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const DEVICE: &str = "/dev/net/tun";
/// Bytes of the buffer: one more than the longest frame takes, so that a frame that fills it was
/// longer.
const BUFFER: usize = TAG + MAX_FRAME + 1;
/// Offloads that the kernel may leave to the gate: checksums and TCP segmentation.
const TCP: libc::c_uint = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
/// UDP segmentation, from Linux 6.2.
const UDP: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Makes the TAP device of this name, or opens the one that exists, and sets it up.
///
/// # Errors
/// When it cannot be made, is not a TAP device, or is used by another process.
pub(super) fn open(name: &str) -> Result<(Interface, Receiver, Sender), GateError> {
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            GateError::unsuitable(name, format!("there is no {DEVICE} here"), "modprobe tun")
        }
        Some(libc::EPERM | libc::EACCES) => GateError::unsuitable(
            name,
            "not permitted to make this TAP device",
            "run it as root, with the capability CAP_NET_ADMIN, or in a user namespace (unshare -Urn)",
        ),
        Some(libc::EBUSY) => {
            GateError::unsuitable(name, "this TAP device is in use by another process", "end that first")
        }
        Some(libc::EINVAL) => GateError::unsuitable(
            name,
            "this interface exists, and is not a TAP device that can be opened",
            "with io = \"tap\" the gate creates its interfaces: give it unused names",
        ),
        _ => GateError::system(format!("TAP device `{name}`"), error),
    };
    let device = attach(name).map_err(failed)?;
    set_up(name).map_err(failed)?;
    let interface = Interface::usable(name)?;
    let other = device.try_clone().map_err(failed)?;
    let missed_before = dropped(name);
    let receiver =
        Receiver { device, name: name.to_owned(), buffer: vec![0; BUFFER].into_boxed_slice(), missed_before };
    Ok((interface, receiver, Sender { device: other }))
}

/// Attaches to the device, with virtio-net headers.
fn attach(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(DEVICE, flags, Mode::empty())?;
    let mut query = request_about(name);
    query.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    let (fd, size) = (device.as_raw_fd(), HEADER as c_int);
    // SAFETY: each request reads the one value that it is given a pointer to, or a number.
    unsafe {
        checked(libc::ioctl(fd, libc::TUNSETIFF, &raw mut query))?;
        checked(libc::ioctl(fd, libc::TUNSETVNETHDRSZ, &raw const size))?;
        if libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(TCP | UDP)) < 0 {
            checked(libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(TCP)))?;
        }
    }
    Ok(device)
}

/// Frames that the device has dropped, as far as this network namespace shows it.
fn dropped(name: &str) -> u64 {
    /// The column of transmit drops, counted after the name.
    const COLUMN: usize = 11;
    let table = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(COLUMN)?.parse().ok()).unwrap_or(0)
}

/// Receives the frames that the host sends to a TAP device.
pub(crate) struct Receiver {
    device: OwnedFd,
    name: String,
    buffer: Box<[u8]>,
    missed_before: u64,
}

impl Receiver {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// See [`super::Receiver::receive`]. `EBADFD` when the device was removed.
    pub(super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        for count in 0..BATCH {
            let mut header = [0; HEADER];
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut self.buffer[TAG..])];
            match rustix::io::readv(&self.device, &mut parts) {
                Ok(length) => take(Received {
                    header,
                    bytes: &mut self.buffer[..TAG + length.saturating_sub(HEADER)],
                    stamp: None,
                    tag: None,
                    loss: (length == HEADER + BUFFER - TAG).then_some(LossReason::TooLong),
                }),
                Err(_) if count > 0 => return Ok(count),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(BATCH)
    }

    /// See [`super::Receiver::missed`].
    pub(super) fn missed(&mut self) -> u64 {
        let now = dropped(&self.name);
        now.saturating_sub(std::mem::replace(&mut self.missed_before, now))
    }
}

/// Sends frames to the host: they come in at its TAP device.
pub(crate) struct Sender {
    device: OwnedFd,
}

impl Sender {
    /// See [`super::Sender::send`].
    pub(super) fn send<'f>(&self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        let no_offloads = [0; HEADER];
        let mut sent = 0;
        for frame in frames.take(BATCH) {
            match rustix::io::writev(&self.device, &[IoSlice::new(&no_offloads), IoSlice::new(frame)]) {
                Ok(_) => sent += 1,
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }
}
