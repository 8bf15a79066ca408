//! Why an interface cannot be handed over: one message for a person.

use std::io;

/// Why an interface cannot be handed over between a gate and a bridge.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// Another gate holds an interface.
    #[error("another gate runs on interface `{0}`\n  help: stop it first")]
    Busy(String),
    /// Fail-closed, but an interface is a port of something.
    #[error(
        "interface `{port}` is a port of `{master}`, which would forward its frames too\n  help: {}; or set `fail = \"open\"`",
        if *made { "`tidegate-gate down` with this file removes the bridge".to_owned() } else { format!("ip link set {port} nomaster") }
    )]
    Bridged {
        /// The interface.
        port: String,
        /// What it is a port of.
        master: String,
        /// Whether a gate has made that.
        made: bool,
    },
    /// The interfaces are not in one bridge, and not both free.
    #[error(
        "interface `{port}` is a port of `{master}`, and `{other}` is not\n  help: both have to be ports of one bridge, or of none; to take it out: ip link set {port} nomaster"
    )]
    Apart {
        /// The one that is a port.
        port: String,
        /// What it is a port of.
        master: String,
        /// The other one.
        other: String,
    },
    /// The interfaces are together in something else than a bridge.
    #[error(
        "interface `{port}` is a port of `{master}`, which is no bridge\n  help: ip link set {port} nomaster"
    )]
    NoBridge {
        /// The interface.
        port: String,
        /// What it is a port of.
        master: String,
    },
    /// A bridge has more ports than a gate has sides.
    #[error(
        "bridge `{bridge}` has a port `{port}`, which is no side of this gate\n  help: a gate stands between two interfaces; to take it out: ip link set {port} nomaster"
    )]
    OtherPort {
        /// The bridge.
        bridge: String,
        /// The port.
        port: String,
    },
    /// A bridge that would not forward.
    #[error("bridge `{0}` is down, so nothing would pass without the gate\n  help: ip link set {0} up")]
    BridgeDown(String),
    /// Someone wants to reach this host through the bridge.
    #[error(
        "bridge `{0}` has an address, at which nobody could reach this host while the gate runs\n  help: give the address to an interface that is no side of the gate"
    )]
    Addressed(String),
    /// The name of the bridge to be made is that of something else.
    #[error(
        "`{0}` is the name of the bridge to be made, and something else has it\n  help: rename that; or put both interfaces in a bridge of your own"
    )]
    NameTaken(String),
    /// Programs in the kernel take a privilege.
    #[error(
        "not permitted to guard against duplicates, as `fail = \"open\"` does\n  help: run it as root or with the capabilities CAP_BPF and CAP_NET_ADMIN, and in no user namespace; or set `fail = \"closed\"` under `[gate]`"
    )]
    GuardPrivilege,
    /// Before Linux 6.6 nothing ties a program after packet sockets to the life of a process.
    #[error(
        "this kernel cannot guard against duplicates, as `fail = \"open\"` does: Linux 6.6 and later can\n  help: set `fail = \"closed\"` under `[gate]`"
    )]
    GuardKernel,
    /// Bridges take a privilege.
    #[error("not permitted to {0}\n  help: run it as root, or with the capability CAP_NET_ADMIN")]
    BridgePrivilege(String),
    /// Whatever else the system says.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

impl HandoverError {
    pub(super) fn system(what: impl Into<String>, error: io::Error) -> HandoverError {
        HandoverError::System { what: what.into(), error }
    }
}
