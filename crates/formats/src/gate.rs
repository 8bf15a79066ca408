//! A gate file: read and checked, ready to be run.
//!
//! `read` makes a [`GateFile`] of a text; the other files work on the finished gate or on one of
//! its parts.

mod changes;
mod circuits;
mod emulation;
mod flows;
mod io;
mod lists;
mod matching;
mod named;
mod names;
mod operation;
mod outline;
mod plan;
pub(crate) mod policies;
mod promises;
mod read;
mod reservations;
mod shares;
mod terms;

pub use changes::KeyChange;
pub use flows::GateFlow;
pub use io::Io;
pub use named::Named;
pub use operation::{Operation, Owner};
pub use outline::GateOutline;
pub use promises::{LONGEST_FRAME, Promise};
pub use terms::{DirectionTerms, GateClass};

use crate::error::{Complaint, FormatError, MAX_REPORTED, Origin, Place};
pub use crate::keys::gate::{Fail, Within};
use crate::port::PortSpec;
use tidegate_core::link::{Framing, LinePlan};
use tidegate_core::params::Limit;
use tidegate_core::units::Rate;

/// A gate file that was read without a mistake: every name is resolved, every default filled in.
#[derive(Clone, Debug)]
pub struct GateFile {
    /// Its name; the file's name without its ending unless it has one of its own.
    pub name: String,
    /// Interface towards the hosts that the link serves.
    pub inside: String,
    /// Interface towards the rest of the world.
    pub outside: String,
    /// Input and output of frames.
    pub io: Io,
    /// The rate of each direction, up first; with a trace, its mean.
    pub rates: [Rate; 2],
    /// The link that is emulated in each direction, up first; `None` where a real link follows.
    pub emulated: [Option<LinePlan>; 2],
    /// Seed of the losses and the jitter of emulated links.
    pub emulation_seed: u64,
    /// The length that a frame is charged.
    pub framing: Framing,
    /// The most flows that rules with `each` make in each direction.
    pub most_flows: usize,
    /// Interfaces that the gate takes although they have an IP address.
    pub addressed: Vec<String>,
    /// The treatment of traffic without the gate.
    pub fail: Fail,
    /// The memory of each direction.
    pub buffer: Limit,
    /// The output port of each direction.
    pub port: PortSpec,
    /// Classes of flows, in the order of the file.
    pub classes: Vec<GateClass>,
    /// Flows, in the order of the file: a packet belongs to the first that matches.
    pub flows: Vec<GateFlow>,
    /// Reservations of flows and classes on the link in each direction, up first, in bit/s; that of
    /// a flow with `each` counts once.
    pub reserved: [u64; 2],
    /// Operation of the gate: control socket and metrics.
    pub operation: Operation,
    /// Differences from the files of LibreQoS that flows name, which `accept_losses` allows.
    pub losses: Vec<FormatError>,
    effective: String,
    origin: Origin,
}

impl GateFile {
    /// The file's text with the overrides applied, comments kept.
    pub fn to_toml(&self) -> &str {
        &self.effective
    }

    /// The losses as they are shown: the first [`MAX_REPORTED`], and the number of the others.
    pub fn shown_losses(&self) -> Vec<FormatError> {
        let more = self.losses.len().saturating_sub(MAX_REPORTED);
        let message = format!("{more} more things are not as in LibreQoS's files");
        let rest = (more > 0).then(|| self.error_at(Place::File, message));
        self.losses.iter().take(MAX_REPORTED).cloned().chain(rest).collect()
    }

    /// A mistake found only later, at a place that the file remembers.
    pub fn error_at(&self, place: Place, message: impl Into<String>) -> FormatError {
        self.origin.error(place, Complaint::new(message))
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
