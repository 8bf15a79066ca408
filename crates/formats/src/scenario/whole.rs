//! A scenario as data.

use super::admission::Admission;
use super::assurance::Assurance;
use super::flows::FlowGroup;
use super::network::{Link, Node};
use super::placed::StageSpec;
use super::profiles::Profile;
use crate::error::Origin;
use crate::gate::GateFile;
use crate::port::Class;
use tidegate_core::switch::plan::PushOut;
use tidegate_core::units::Span;

/// A scenario that was read without a mistake: every name is resolved, every default filled in.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name; the file's name without its ending unless it has one of its own.
    pub name: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulated time, above zero.
    pub duration: Span,
    /// Packets sent before this are carried but not measured; shorter than `duration`.
    pub warmup: Span,
    /// Sampling interval of the series of queues, utilisation and throughput, above zero.
    pub sample: Span,
    /// Every node: those of the topology first, then `[[node]]`, in order.
    pub nodes: Vec<Node>,
    /// Every direction of every link: those of the topology first, then `[[link]]`, in order; a
    /// duplex link is two, there and back.
    pub links: Vec<Link>,
    /// True if flows take several of the shortest paths.
    pub(super) has_multipath: bool,
    /// The packet to drop when a switch's pool is exhausted.
    pub push_out: PushOut,
    /// The gate that the links with a direction of it are, its policies as they hold here.
    pub gate: Option<GateFile>,
    /// Classes of flows, in the order of the file.
    pub classes: Vec<Class>,
    /// Contracts that several flows share, in the order of the file.
    pub profiles: Vec<Profile>,
    /// Admission of flows before they send; `None` when all are set up from the start.
    pub admission: Option<Admission>,
    /// The measurement of the probability of assurance; `None` for none.
    pub assurance: Option<Assurance>,
    /// Flows as the file groups them; [`Scenario::flows`] lists every member.
    pub groups: Vec<FlowGroup>,
    /// Stages beside nodes, in the order in which packets pass them.
    pub stages: Vec<StageSpec>,
    /// Its text with the overrides applied.
    pub(super) effective: String,
    /// Every text that is a value in its file.
    pub(super) texts: Vec<String>,
    pub(super) origin: Origin,
}
