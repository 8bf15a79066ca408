//! One gate at a time on an interface.

use std::io;
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// What a gate holds of an interface while it runs. It is a name of a socket, which exists once in a
/// network namespace and goes with the process.
pub(super) struct Lock {
    _socket: UnixDatagram,
}

impl Lock {
    /// Takes the interface with this index.
    ///
    /// # Errors
    /// `AddrInUse` when another gate has it, or the system's.
    pub(super) fn take(interface: u32) -> io::Result<Lock> {
        let name = SocketAddr::from_abstract_name(format!("tidegate-gate/{interface}"))?;
        let socket = UnixDatagram::bind_addr(&name)?;
        // It is only a name: nobody has anything to say to it.
        socket.shutdown(Shutdown::Both)?;
        Ok(Lock { _socket: socket })
    }
}
