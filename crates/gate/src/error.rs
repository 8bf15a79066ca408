//! Why a gate does not start, or stops by itself: one message for a person.

use std::io;
use tidegate_core::contract::Refused;
use tidegate_spec::SpecErrors;

/// Why a gate does not start, or stops by itself.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The file holds mistakes.
    #[error("{0}")]
    File(#[from] SpecErrors),
    /// The switch or a scheduler refuses what the file asks for.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// An interface is not there.
    #[error(
        "there is no interface `{0}` here\n  help: `ip link` lists the interfaces of this network namespace"
    )]
    NoInterface(String),
    /// An interface is not up.
    #[error("interface `{0}` is down\n  help: ip link set {0} up")]
    Down(String),
    /// An interface carries something else than Ethernet frames.
    #[error("interface `{0}` carries no Ethernet frames, and a gate forwards nothing else")]
    NotEthernet(String),
    /// Packet sockets take a privilege.
    #[error(
        "not permitted to open a packet socket on `{0}`\n  help: run it as root, or with the capabilities CAP_NET_RAW and CAP_NET_ADMIN"
    )]
    Privilege(String),
    /// An interface cannot be used as the file asks.
    #[error("interface `{name}`: {why}\n  help: {help}")]
    Unfit {
        /// The interface.
        name: String,
        /// What it lacks.
        why: String,
        /// What to do.
        help: String,
    },
    /// An interface was removed while the gate ran.
    #[error("interface `{0}` is gone")]
    Gone(String),
    /// Whatever else the system says.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

impl GateError {
    pub(crate) fn unfit(name: &str, why: impl Into<String>, help: impl Into<String>) -> GateError {
        GateError::Unfit { name: name.to_owned(), why: why.into(), help: help.into() }
    }

    pub(crate) fn system(what: impl Into<String>, error: impl Into<io::Error>) -> GateError {
        GateError::System { what: what.into(), error: error.into() }
    }
}
