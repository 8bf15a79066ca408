//! Errors of failover, each with one message for the operator.

use std::io;

/// The reason why interfaces cannot be made ready for failover.
#[derive(Debug, thiserror::Error)]
pub enum FailoverError {
    /// Another gate uses an interface.
    #[error("another gate runs on interface `{0}`\n  help: stop it first")]
    InUse(String),
    /// The gate fails closed, but an interface is a port of a bridge or other master device.
    #[error(
        "interface `{port}` is a port of `{master}`, which would forward its frames too\n  help: {}; or set \
         `fail = \"open\"`",
        if *made { "`tidegate-gate down` with this file removes the bridge".to_owned() } else { format!("ip link set {port} nomaster") }
    )]
    Bridged {
        /// The interface.
        port: String,
        /// The device of which it is a port.
        master: String,
        /// True if a gate has made that bridge.
        made: bool,
    },
    /// Only one interface is a port of a bridge, or the two are ports of different bridges.
    #[error(
        "interface `{port}` is a port of `{master}`, and `{other}` is not\n  help: both must be ports of \
         one bridge, or of none; to remove it from the bridge: ip link set {port} nomaster"
    )]
    Apart {
        /// The interface that is a port.
        port: String,
        /// The device of which it is a port.
        master: String,
        /// The other interface.
        other: String,
    },
    /// The interfaces are ports of a device that is not a bridge.
    #[error(
        "interface `{port}` is a port of `{master}`, which is not a bridge\n  help: ip link set {port} nomaster"
    )]
    NoBridge {
        /// The interface.
        port: String,
        /// The device of which it is a port.
        master: String,
    },
    /// The bridge has a port besides the interfaces.
    #[error(
        "bridge `{bridge}` has a port `{port}`, which is not an interface of this gate\n  help: a gate \
         connects two interfaces; to remove the port: ip link set {port} nomaster"
    )]
    OtherPort {
        /// The bridge.
        bridge: String,
        /// The port.
        port: String,
    },
    /// The bridge is down, so it would not forward.
    #[error("bridge `{0}` is down, so no frame would pass without the gate\n  help: ip link set {0} up")]
    BridgeDown(String),
    /// The bridge has an address, which cannot be reached while the gate runs.
    #[error(
        "bridge `{0}` has an address, at which this host would be unreachable while the gate runs\n  help: \
         give the address to an interface that is not part of the gate"
    )]
    Addressed(String),
    /// An interface has an address, which cannot be reached while the gate runs.
    #[error(
        "interface `{0}` has an IP address, at which this host would be unreachable while the gate runs\n  help: `ip address flush \
         dev {0}` takes it away; to use the interface all the same: addressed = \"{0}\" under `[gate]`"
    )]
    InterfaceAddressed(String),
    /// Another interface has the name of the bridge to be made.
    #[error(
        "the gate needs the name `{0}` for its bridge, and something else has it\n  help: rename that \
         interface, or put both interfaces in a bridge of your own"
    )]
    NameTaken(String),
    /// The privilege to load a program into the kernel is missing.
    #[error(
        "not permitted to guard against duplicates, as `fail = \"open\"` does\n  help: run it as root or \
         with the capabilities CAP_BPF and CAP_NET_ADMIN, and in no user namespace; or set `fail = \
         \"closed\"` under `[gate]`"
    )]
    DuplicateFilterPrivilege,
    /// Before Linux 6.6 no program after the packet sockets can belong to a process.
    #[error(
        "this kernel cannot guard against duplicates, as `fail = \"open\"` does: Linux 6.6 and later can\n  \
         help: set `fail = \"closed\"` under `[gate]`"
    )]
    DuplicateFilterKernel,
    /// The privilege to change a bridge is missing.
    #[error("not permitted to {0}\n  help: run it as root, or with the capability CAP_NET_ADMIN")]
    BridgePrivilege(String),
    /// Another error of the operating system.
    #[error("{what}: {error}")]
    System {
        /// The action that failed.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl FailoverError {
    pub(crate) fn system(what: impl Into<String>, error: io::Error) -> FailoverError {
        FailoverError::System { what: what.into(), error }
    }
}
