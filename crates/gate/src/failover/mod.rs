//! Failover: forwarding while no gate runs.
//!
//! With `fail = "open"` both interfaces are ports of a kernel bridge, which forwards everything
//! unshaped while no gate runs. A running gate keeps frames from the bridge with a
//! [`DuplicateFilter`]. The duplicate filter belongs to the process, so the bridge takes over
//! however the process ends, even by SIGKILL. With `fail = "closed"` there is no bridge, and
//! nothing passes without a gate.
//!
//! AF_XDP takes frames before they reach the bridge, so it needs the bridge but no duplicate
//! filter.

mod bridge;
mod duplicate_filter;
mod lock;
mod netlink;

pub(crate) use bridge::Port;
pub(crate) use duplicate_filter::DuplicateFilter;

use crate::error::FailoverError;
use crate::sys::interface::Interface;
use lock::Lock;
use netlink::Netlink;
use std::io;
use tidegate_formats::{Fail, GateFile, Io};

/// A gate's hold on its interfaces, until this value is dropped or the process ends.
pub(crate) struct Failover {
    /// `None` when the gate fails closed, or uses AF_XDP.
    pub(crate) duplicate_filter: Option<DuplicateFilter>,
    _locks: [Lock; 2],
}

impl Failover {
    /// Prepares both interfaces of a gate file. With `fail = "open"` the bridge forwards until the
    /// duplicate filter is activated. After an error no new bridge is left behind.
    ///
    /// # Errors
    /// When another gate uses an interface, an interface has an address and the file does not list
    /// it as `addressed`, or the interfaces do not fit `fail`.
    pub(crate) fn prepare(file: &GateFile, ports: [Port<'_>; 2]) -> Result<Failover, FailoverError> {
        let locks = [lock(ports[0])?, lock(ports[1])?];
        let netlink = open()?;
        for port in ports.iter().filter(|port| file.addressed.iter().all(|name| name != port.name)) {
            let asked = netlink.is_addressed(port.index);
            let failed = |error| FailoverError::system(format!("the addresses of `{}`", port.name), error);
            if asked.map_err(failed)? {
                return Err(FailoverError::InterfaceAddressed(port.name.to_owned()));
            }
        }
        let duplicate_filter = match file.fail {
            Fail::Closed => {
                bridge::require_none(&netlink, ports)?;
                None
            }
            Fail::Open if file.io == Io::Xdp => {
                bridge::ensure(&netlink, ports)?;
                None
            }
            Fail::Open => {
                // The duplicate filter comes before the bridge: when the duplicate filter is
                // refused, nothing has changed.
                let duplicate_filter = DuplicateFilter::attach(ports.map(|port| port.index))?;
                bridge::ensure(&netlink, ports)?;
                Some(duplicate_filter)
            }
        };
        Ok(Failover { duplicate_filter, _locks: locks })
    }
}

fn lock(port: Port<'_>) -> Result<Lock, FailoverError> {
    Lock::take(port.index).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => FailoverError::InUse(port.name.to_owned()),
        _ => FailoverError::system(format!("holding interface `{}`", port.name), error),
    })
}

fn open() -> Result<Netlink, FailoverError> {
    Netlink::open().map_err(|error| FailoverError::system("a connection to the kernel", error))
}

/// Removes the bridge that a gate has made of these interfaces and returns its name; `None` when
/// there is none.
///
/// # Errors
/// When a gate runs on an interface, or the bridge cannot be removed.
pub(crate) fn remove(inside: &str, outside: &str) -> Result<Option<String>, FailoverError> {
    let port = |name| Some(Port { name, index: Interface::find(name).ok()?.index });
    // An interface may have been removed while its bridge remains.
    let ports: Vec<Port<'_>> = [inside, outside].into_iter().filter_map(port).collect();
    let _locks = ports.iter().copied().map(lock).collect::<Result<Vec<Lock>, FailoverError>>()?;
    bridge::remove(&open()?, inside, &ports)
}
