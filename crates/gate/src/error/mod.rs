//! Errors of a gate, each with one message for the operator.

mod failover;

pub use failover::FailoverError;

use std::io;
use std::path::PathBuf;
use tidegate_core::contract::Refused;
use tidegate_formats::FormatErrors;
use tidegate_formats::units::show_rate;

/// The reason why a gate does not start, or stops by itself.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The file has errors.
    #[error("{0}")]
    File(#[from] FormatErrors),
    /// There is too little memory to read a file.
    #[error(
        "not enough memory: reading {} and the files that it names takes up to {} MB\n  help: shorter lists, or \
         more memory for the process", file.display(), needed.div_ceil(1_000_000)
    )]
    Memory {
        /// The gate file.
        file: PathBuf,
        /// In bytes.
        needed: usize,
    },
    /// The switch or a scheduler refuses the plan.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// An interface does not exist.
    #[error(
        "there is no interface `{0}` here\n  help: `ip link` lists the interfaces of this network namespace"
    )]
    NoInterface(String),
    /// An interface is not up.
    #[error("interface `{0}` is down\n  help: ip link set {0} up")]
    Down(String),
    /// A rate is above the link speed of the interface.
    #[error(
        "gate.{direction} is above what `{interface}` carries ({}): the queue would build up in the card, where it is not managed\n  \
         help: a few per cent below what the line carries", show_rate(*speed)
    )]
    RateTooHigh {
        /// `up` or `down`.
        direction: &'static str,
        /// The interface that frames leave by.
        interface: String,
        /// The link speed in bit/s.
        speed: u64,
    },
    /// An interface carries no Ethernet frames.
    #[error("interface `{0}` does not carry Ethernet frames, and a gate forwards only those")]
    NotEthernet(String),
    /// The privilege to open a packet socket is missing.
    #[error(
        "not permitted to open a packet socket on `{0}`\n  help: run it as root, or with the capabilities \
         CAP_NET_RAW and CAP_NET_ADMIN"
    )]
    Privilege(String),
    /// An interface is unsuitable for the file.
    #[error("interface `{name}`: {why}\n  help: {help}")]
    Unsuitable {
        /// The interface.
        name: String,
        /// The reason.
        why: String,
        /// A remedy for the operator.
        help: String,
    },
    /// A gate of this name runs already.
    #[error(
        "a gate named `{name}` runs already (it listens at {})\n  help: `tidegate-gate down` stops it; give one of \
         them another `name`", socket.display()
    )]
    AlreadyRunning {
        /// The gate's name.
        name: String,
        /// Its control socket.
        socket: PathBuf,
    },
    /// Something that is not a socket is at the control socket's path.
    #[error(
        "{} is there, and is no socket\n  help: a gate removes nothing but a socket that nobody listens at; \
         name another path in `control.socket`", .0.display()
    )]
    NoSocket(PathBuf),
    /// No gate listens at the control socket.
    #[error("no gate runs: no process listens at {}", .0.display())]
    NotRunning(PathBuf),
    /// A gate listens at the control socket and does not answer.
    #[error("the gate does not answer")]
    NoAnswer,
    /// A running gate rejected a request, with this message.
    #[error("{0}")]
    Rejected(String),
    /// A file does not name the interfaces of its gate.
    #[error(
        "{} does not say between which interfaces its gate stands, so its bridge cannot be found\n  \
         help: `tidegate-gate check` reports what is wrong with it", .0.display()
    )]
    NoInterfaces(PathBuf),
    /// The owner of the control socket does not exist.
    #[error("control.owner: {0}")]
    UnknownOwner(String),
    /// A changed key requires a restart.
    #[error("{0}\n  help: this needs a restart; nothing was changed")]
    TakesRestart(String),
    /// The interfaces cannot be made ready for failover.
    #[error("{0}")]
    Failover(#[from] FailoverError),
    /// A translation would not be as the files that it is made from.
    #[error(
        "nothing was written: {0}\n  help: change the files that were read, or write what there is with --accept-losses"
    )]
    Losses(String),
    /// A file would be replaced.
    #[error("{} is there already\n  help: name another folder, or replace the files in it with --force", .0.display())]
    FileExists(PathBuf),
    /// An interface was removed while the gate ran.
    #[error("interface `{0}` is gone")]
    InterfaceRemoved(String),
    /// Another error of the operating system.
    #[error("{what}: {error}")]
    System {
        /// The action that failed.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl GateError {
    pub(crate) fn unsuitable(name: &str, why: impl Into<String>, help: impl Into<String>) -> GateError {
        GateError::Unsuitable { name: name.to_owned(), why: why.into(), help: help.into() }
    }

    pub(crate) fn system(what: impl Into<String>, error: impl Into<io::Error>) -> GateError {
        GateError::System { what: what.into(), error: error.into() }
    }
}
