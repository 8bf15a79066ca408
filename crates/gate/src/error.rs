//! Why a gate does not start, or stops by itself: one message for a person.

use crate::handover::HandoverError;
use std::io;
use std::path::PathBuf;
use tidegate_core::contract::Refused;
use tidegate_spec::SpecErrors;
use tidegate_spec::units::show_rate;

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
    /// A rate is above what the interface carries.
    #[error(
        "gate.{direction} is above what `{interface}` carries ({}): the queue would be in the card, where nobody manages it\n  \
         help: a few per cent below what the line carries", show_rate(*carries)
    )]
    TooFast {
        /// `up` or `down`.
        direction: &'static str,
        /// Where it would go out.
        interface: String,
        /// Bits per second.
        carries: u64,
    },
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
    /// A gate of this name runs.
    #[error(
        "a gate named `{name}` runs already (it listens at {})\n  help: `tidegate-gate down` stops it; give one of \
         them another `name`", socket.display()
    )]
    Busy {
        /// The gate's name.
        name: String,
        /// Its control socket.
        socket: PathBuf,
    },
    /// No gate listens there.
    #[error("no gate runs there: nobody listens at {}", .0.display())]
    NotRunning(PathBuf),
    /// A gate listens, and gives no answer.
    #[error("the gate does not answer")]
    Silent,
    /// What a gate said to a request.
    #[error("{0}")]
    Told(String),
    /// The owner of the control socket is not known.
    #[error("control.owner: {0}")]
    NoOwner(String),
    /// A key was changed that a running gate cannot follow.
    #[error("{0}\n  help: this takes a new start; nothing was changed")]
    Fixed(String),
    /// The interfaces cannot be handed over between the gate and a bridge.
    #[error("{0}")]
    Handover(#[from] HandoverError),
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
