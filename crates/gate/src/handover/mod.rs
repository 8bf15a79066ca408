//! What becomes of traffic when there is no gate, and how it changes hands.
//!
//! With `fail = "open"` both interfaces are ports of a bridge of the kernel's, which passes everything
//! unshaped while no gate runs. A running gate keeps frames from it by a [`Guard`] that lives as long as
//! the process: `kill -9` hands over too, and nobody has to notice. With `fail = "closed"` there is no
//! bridge, and nothing passes without a gate.
//!
//! A way in that takes frames before packet sockets do (XDP) needs no guard, only the bridge.

mod bridge;
mod error;
mod guard;
mod lock;
mod netlink;

pub(crate) use bridge::Port;
pub use error::HandoverError;
pub(crate) use guard::Guard;

use crate::io::Interface;
use lock::Lock;
use netlink::Netlink;
use std::io;
use tidegate_spec::{Fail, GateFile, Io};

/// What a gate holds of its interfaces, until it is dropped or the process ends.
pub(crate) struct Handover {
    /// `None` when the gate fails closed, or takes frames before a bridge could.
    pub(crate) guard: Option<Guard>,
    _locks: [Lock; 2],
}

impl Handover {
    /// Makes ready to take both interfaces of a gate file. With `fail = "open"` a bridge still has them after this, and
    /// after an error everything is as before.
    ///
    /// # Errors
    /// When another gate has an interface, or it is not to be had as `fail` wants it.
    pub(crate) fn prepare(file: &GateFile, ports: [Port<'_>; 2]) -> Result<Handover, HandoverError> {
        let locks = [take(ports[0])?, take(ports[1])?];
        let netlink = open()?;
        let guard = match file.fail {
            Fail::Closed => {
                bridge::refuse(&netlink, ports)?;
                None
            }
            Fail::Open if file.io == Io::Xdp => {
                bridge::ensure(&netlink, ports)?;
                None
            }
            Fail::Open => {
                // Before the bridge is made: should it be refused, nothing was changed.
                let guard = Guard::attach(ports.map(|port| port.index))?;
                bridge::ensure(&netlink, ports)?;
                Some(guard)
            }
        };
        Ok(Handover { guard, _locks: locks })
    }
}

fn take(port: Port<'_>) -> Result<Lock, HandoverError> {
    Lock::take(port.index).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => HandoverError::Busy(port.name.to_owned()),
        _ => HandoverError::system(format!("holding interface `{}`", port.name), error),
    })
}

fn open() -> Result<Netlink, HandoverError> {
    Netlink::open().map_err(|error| HandoverError::system("a connection to the kernel", error))
}

/// Removes the bridge that a gate has made for this file, and gives its name; `None` when there is none.
///
/// # Errors
/// When a gate runs on an interface, or the bridge cannot be removed.
pub(crate) fn remove(file: &GateFile) -> Result<Option<String>, HandoverError> {
    let port = |name| Some(Port { name, index: Interface::find(name).ok()?.index });
    // An interface may be gone, and its bridge still there.
    let ports: Vec<Port<'_>> = [file.inside.as_str(), &file.outside].into_iter().filter_map(port).collect();
    let _locks = ports.iter().copied().map(take).collect::<Result<Vec<Lock>, HandoverError>>()?;
    bridge::remove(&open()?, &file.inside, &ports)
}
