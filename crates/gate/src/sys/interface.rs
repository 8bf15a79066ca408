//! Network interfaces: their properties, by ioctl(2).

#![allow(unsafe_code)]

use super::calls::checked;
use crate::error::GateError;
use libc::c_int;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

/// The transmit queue of a TAP device, in frames.
const QUEUE: c_int = 8192;

/// The properties of an interface when the gate starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    pub(crate) mtu: usize,
    pub(crate) up: bool,
    pub(crate) ethernet: bool,
    /// The link speed of a network card in bit/s; `None` when it is unknown, and for virtual
    /// interfaces.
    pub(crate) speed: Option<u64>,
}

impl Interface {
    /// Looks up an interface by its name.
    ///
    /// # Errors
    /// System errors: `ENODEV` when there is none.
    pub(crate) fn find(name: &str) -> io::Result<Interface> {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
        let index = rustix::net::netdevice::name_to_index(&socket, name)?;
        let ask = |request| -> io::Result<libc::ifreq> {
            let mut query = request_about(name);
            // SAFETY: these requests read and write one `ifreq`, which outlives the call.
            checked(unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut query) })?;
            Ok(query)
        };
        let (flags, mtu, kind) =
            (ask(libc::SIOCGIFFLAGS)?, ask(libc::SIOCGIFMTU)?, ask(libc::SIOCGIFHWADDR)?);
        // SAFETY: each request has filled the field that is read, and every field is plain data.
        let (flags, mtu, kind) = unsafe {
            (flags.ifr_ifru.ifru_flags, mtu.ifr_ifru.ifru_mtu, kind.ifr_ifru.ifru_hwaddr.sa_family)
        };
        Ok(Interface {
            index,
            mtu: usize::try_from(mtu).unwrap_or(0),
            up: c_int::from(flags) & libc::IFF_UP != 0,
            ethernet: kind == libc::ARPHRD_ETHER,
            speed: speed(&socket, name),
        })
    }

    /// Looks up an interface by its index, which it keeps when it is renamed. Returns its name, too.
    ///
    /// # Errors
    /// System errors: `ENODEV` when there is none.
    pub(crate) fn at(index: u32) -> io::Result<(String, Interface)> {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        let name = rustix::net::netdevice::index_to_name(&socket, index)?;
        let interface = Interface::find(&name)?;
        // Another may have got the name meanwhile.
        if interface.index == index { Ok((name, interface)) } else { Err(io::ErrorKind::Interrupted.into()) }
    }

    /// Looks up an interface that a gate can use.
    ///
    /// # Errors
    /// When it is missing, down, or not Ethernet.
    pub(crate) fn usable(name: &str) -> Result<Interface, GateError> {
        let interface = Interface::find(name).map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => GateError::NoInterface(name.to_owned()),
            _ => GateError::system(format!("interface `{name}`"), error),
        })?;
        if !interface.ethernet {
            return Err(GateError::NotEthernet(name.to_owned()));
        }
        if !interface.up {
            return Err(GateError::Down(name.to_owned()));
        }
        Ok(interface)
    }
}

/// The link speed that ethtool(8) shows, in bit/s. A virtual interface, which is on no bus, has
/// none.
fn speed(socket: &OwnedFd, name: &str) -> Option<u64> {
    let mut driver = [0_u8; DRIVER_INFO];
    driver[..4].copy_from_slice(&ETHTOOL_GDRVINFO.to_ne_bytes());
    ask_ethtool(socket, name, &mut driver)?;
    if driver[BUS] == 0 {
        return None;
    }
    let mut link = [0_u8; LINK];
    link[..4].copy_from_slice(&ETHTOOL_GSET.to_ne_bytes());
    ask_ethtool(socket, name, &mut link)?;
    let half = |at: usize| u64::from(u16::from_ne_bytes([link[at], link[at + 1]]));
    let megabits = half(SPEED) | half(SPEED_HIGH) << 16;
    (megabits > 0 && megabits < UNKNOWN).then_some(megabits * 1_000_000)
}

/// Requests, and the sizes and fields of the structures that they fill (linux/ethtool.h).
const ETHTOOL_GSET: u32 = 1;
const ETHTOOL_GDRVINFO: u32 = 3;
const DRIVER_INFO: usize = 196;
const BUS: usize = 4 + 3 * 32;
const LINK: usize = 44;
const SPEED: usize = 12;
const SPEED_HIGH: usize = 28;
/// The speed that a driver reports when it does not know.
const UNKNOWN: u64 = 0xffff_ffff;

/// `None` when the driver does not answer.
fn ask_ethtool(socket: &OwnedFd, name: &str, answer: &mut [u8]) -> Option<()> {
    let mut query = request_about(name);
    query.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
    // SAFETY: the request reads and writes `query` and the structure that it points to, whose first
    // field says which one it is; `answer` has its size, and both outlive the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut query) }).ok().map(drop)
}

/// An `ifreq` with the name of an interface and zeros.
pub(crate) fn request_about(name: &str) -> libc::ifreq {
    // SAFETY: an `ifreq` is plain data, for which all zeros is a value.
    let mut query: libc::ifreq = unsafe { zeroed() };
    for (place, byte) in query.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *place = byte as libc::c_char;
    }
    query
}

/// Brings up an interface that is down, with a transmit queue for frames that the gate has not read
/// yet.
///
/// # Errors
/// System errors: `ENODEV` when there is none, `EPERM` without CAP_NET_ADMIN.
pub(crate) fn set_up(name: &str) -> io::Result<()> {
    if Interface::find(name)?.up {
        return Ok(());
    }
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut queue = request_about(name);
    queue.ifr_ifru.ifru_metric = QUEUE;
    let mut flags = request_about(name);
    // SAFETY: these requests read, and the second writes, one `ifreq`, which outlives the call; it
    // has filled the field that is changed, which is plain data.
    unsafe {
        // This may fail, which does no harm: in a user namespace it is not permitted.
        let _ = libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFTXQLEN as _, &raw mut queue);
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut flags))?;
        flags.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut flags))?;
    }
    Ok(())
}
