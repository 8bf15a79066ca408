//! TAP devices: interfaces that the gate makes, or opens, and is the wire of.
//!
//! What the host sends to such a device is read here, and what is written here comes in at the host. It
//! takes no privilege but over the network namespace, so a user namespace of one's own will do. Frames
//! come with virtio-net headers and with their VLAN tags in place.
//!
//! Source: the kernel's Documentation/networking/tuntap.rst and drivers/net/tun.c.

#![allow(unsafe_code)]

use super::interface::{Interface, set_up};
use super::system::checked;
use super::{BATCH, LONGEST, Received, TAG};
use crate::engine::Loss;
use crate::error::GateError;
use crate::offload::HEADER;
use libc::c_int;
use rustix::fs::{Mode, OFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const DEVICE: &str = "/dev/net/tun";
/// One byte more than the longest frame: what fills it was longer.
const PLACE: usize = TAG + LONGEST + 1;
/// What the kernel may leave undone: checksums, and the cutting of TCP; and of UDP, from kernel 6.2.
const TCP: libc::c_uint = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
const UDP: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Makes the TAP device of this name, or opens the one that is there, and sets it up.
///
/// # Errors
/// When it cannot be made, is another kind of interface, or another's.
pub(super) fn open(name: &str) -> Result<(Interface, Receiver, Sender), GateError> {
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            GateError::unfit(name, format!("there is no {DEVICE} here"), "modprobe tun")
        }
        Some(libc::EPERM | libc::EACCES) => GateError::unfit(
            name,
            "not permitted to make this TAP device",
            "run it as root, with the capability CAP_NET_ADMIN, or in a user namespace (unshare -Urn)",
        ),
        Some(libc::EBUSY) => {
            GateError::unfit(name, "this TAP device is in use by another process", "end that first")
        }
        Some(libc::EINVAL) => GateError::unfit(
            name,
            "this interface is there, and is no TAP device that can be opened",
            "with io = \"tap\" the gate makes its interfaces: give it names that are free",
        ),
        _ => GateError::system(format!("TAP device `{name}`"), error),
    };
    let device = attach(name).map_err(failed)?;
    set_up(name).map_err(failed)?;
    let interface = Interface::usable(name)?;
    let other = device.try_clone().map_err(failed)?;
    let missed_before = dropped(name);
    let receiver =
        Receiver { device, name: name.to_owned(), place: vec![0; PLACE].into_boxed_slice(), missed_before };
    Ok((interface, receiver, Sender { device: other }))
}

/// The device, with virtio-net headers.
fn attach(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(DEVICE, flags, Mode::empty())?;
    let mut query = super::interface::request_about(name);
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

/// Frames that the device has dropped, as far as this network namespace knows of it.
fn dropped(name: &str) -> u64 {
    /// What is dropped while it is sent, in the table's columns behind the name.
    const COLUMN: usize = 11;
    let table = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(COLUMN)?.parse().ok()).unwrap_or(0)
}

/// Receives what the host sends to a TAP device.
pub(crate) struct Receiver {
    device: OwnedFd,
    name: String,
    place: Box<[u8]>,
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
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut self.place[TAG..])];
            match rustix::io::readv(&self.device, &mut parts) {
                Ok(length) => take(Received {
                    header,
                    room: &mut self.place[..TAG + length.saturating_sub(HEADER)],
                    tag: None,
                    unfit: (length == HEADER + PLACE - TAG).then_some(Loss::TooLong),
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

/// Hands frames to the host as if they came in at a TAP device.
pub(crate) struct Sender {
    device: OwnedFd,
}

impl Sender {
    /// See [`super::Sender::send`].
    pub(super) fn send<'f>(&self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        let whole = [0; HEADER];
        let mut sent = 0;
        for frame in frames.take(BATCH) {
            match rustix::io::writev(&self.device, &[IoSlice::new(&whole), IoSlice::new(frame)]) {
                Ok(_) => sent += 1,
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }
}
