//! The lock of an interface: one gate at a time uses it.

use std::io;
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A locked interface. The lock is the abstract name of a socket, which is unique in a network namespace and
/// is released when the process ends.
pub(super) struct Lock {
    _socket: UnixDatagram,
}

impl Lock {
    /// Locks the interface with this index.
    ///
    /// # Errors
    /// `AddrInUse` when another gate has locked it, or another system error.
    pub(super) fn take(interface: u32) -> io::Result<Lock> {
        let name = SocketAddr::from_abstract_name(format!("tidegate-gate/{interface}"))?;
        let socket = UnixDatagram::bind_addr(&name)?;
        // Nothing is ever sent to it.
        socket.shutdown(Shutdown::Both)?;
        Ok(Lock { _socket: socket })
    }
}
