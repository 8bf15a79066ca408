//! Flows of a scenario that share their keys, as they were read.

use crate::error::Place;
pub use crate::keys::flow::WhenWarned;
use crate::policy::Chosen;
use crate::port::ContractSpec;
use crate::scenario::headers::HeadersSpec;
use crate::scenario::multipath::Paths;
use crate::source::Source;
use crate::stage_terms::StageTerms;
use std::borrow::Cow;
use std::sync::Arc;
use tidegate_core::aal5;
use tidegate_core::packet::Colour;
use tidegate_core::shaper::BuiltInShaper;
use tidegate_core::units::Span;

/// One `[[flow]]`, or one direction of a `[[connection]]`: `count` identical flows; or, if its flows
/// take several paths, a part of it whose flows take the same.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    /// The name of the `[[flow]]` or the direction, which only its other parts have.
    pub name: String,
    /// The group of flows that its own belong to in results; `None` for one with its name.
    pub group: Option<String>,
    /// Number of flows that it stands for, at least 1.
    pub count: u32,
    /// Number of its first flow among those of all parts, from 0.
    pub first: u32,
    /// Number of flows of all parts.
    pub of: u32,
    /// Index of the node that sends.
    pub from: usize,
    /// Indexes of the nodes that receive, at least one.
    pub to: Vec<usize>,
    /// Indexes of the links on the way: the stated route, or else the shortest. With several nodes
    /// that receive, the links of a tree in preorder, each followed by all links behind it. With
    /// several `paths`, the links of all, each once, the nearer ones first.
    pub route: Vec<usize>,
    /// The paths of which each packet takes one; `None` where all packets take the route.
    pub paths: Option<Arc<Paths>>,
    /// Rate in bit/s to which the load of a connection's transfers refers.
    pub load_rate: u64,
    /// With several nodes that receive, the number of links from the source to the end of each link
    /// of the route, that link included; empty with one.
    pub depths: Vec<u16>,
    /// Its contract with the ports on its way.
    pub contract: ContractSpec,
    /// Index of the profile that its packets are metered against; `None` for its own contract.
    pub profile: Option<usize>,
    /// The weight of each member among all flows of the profile, which is then divided by weights;
    /// `None` where they use it together.
    pub weight: Option<u32>,
    /// Colour that its source gives its packets.
    pub colour: Colour,
    /// Index of the class that it belongs to.
    pub class: Option<usize>,
    /// Rate that the flow never exceeds at a switch port, in bit/s.
    pub ceiling: Option<u64>,
    /// Packet sizes in bytes, drawn with equal chance; empty when the source brings its own.
    pub sizes: Vec<u32>,
    /// True if its packets are sent as ATM cells, by AAL5.
    pub aal5: bool,
    /// Time that the host takes for each packet before its cells.
    pub preparation: Span,
    /// The terms of stages on its way.
    pub stage_terms: StageTerms,
    /// Time at which it starts to send.
    pub start: Span,
    /// Time at which it stops sending; `None` for the end of the run.
    pub stop: Option<Span>,
    /// Mean time from one member's start to the next one's; `None` when all start at once.
    pub every: Option<Span>,
    /// Mean time from its start to its stop; `None` when `stop` says it.
    pub lasts: Option<Span>,
    /// Time at which the destination tears it down.
    pub hangup: Option<Span>,
    /// The response of its source to a warning.
    pub warned: WhenWarned,
    /// True if its packets are ECN-capable, though its source heeds no mark. For a connection its
    /// transport decides.
    pub ecn: bool,
    /// Changes of its contract, in chronological order.
    pub changes: Vec<ChangeSpec>,
    /// The headers of its packets; `None` unless it passes a gate and is not a capture.
    pub headers: Option<HeadersSpec>,
    /// The source of its traffic.
    pub source: Source,
    /// Shaper between the source and the network.
    pub envelope: Option<Chosen<BuiltInShaper>>,
    /// Place of its statement in the file.
    pub place: Place,
    /// Place of its reservation (of the group, when it has none).
    pub reserve_place: Place,
    /// Place of its average interval (of the group, when it has none).
    pub interval_place: Place,
    /// Place of its maximum workahead (of the group, when it has none).
    pub workahead_place: Place,
}

/// A change of a flow's reservation, requested while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeSpec {
    /// Time from the start of the run.
    pub at: Span,
    /// The new reservation, in bit/s.
    pub reserve: u64,
    /// The new average interval; `None` leaves it unchanged.
    pub interval: Option<Span>,
    /// The source's rate from then on, in bit/s; `None` leaves it unchanged.
    pub rate: Option<u64>,
}

/// One flow: a member of a group.
#[derive(Clone, Debug)]
pub struct Flow<'s> {
    /// The group's name, with `/1`, `/2` and so on when the group has several members.
    pub name: Cow<'s, str>,
    /// Index of its group.
    pub group_index: usize,
    /// Its number among the flows of all parts of the group, from 0.
    pub member: u32,
    /// Everything that it shares with the rest of its group.
    pub group: &'s FlowGroup,
}

impl FlowGroup {
    /// The name of the group of flows that its own belong to in results.
    pub fn result_group(&self) -> &str {
        self.group.as_ref().unwrap_or(&self.name)
    }

    /// The name of the member with this number, from 0.
    pub fn member_name(&self, member: u32) -> Cow<'_, str> {
        match self.of {
            1 => Cow::Borrowed(&self.name),
            _ => Cow::Owned(format!("{}/{}", self.name, u64::from(self.first) + u64::from(member) + 1)),
        }
    }

    /// The sizes of its packets on links, or of their cells when they are sent as cells; empty when
    /// the source has sizes of its own.
    pub fn link_sizes(&self) -> &[u32] {
        if self.aal5 { &[aal5::CELL] } else { &self.sizes }
    }

    /// The part of a flow's rate that passes the link at a place of the route.
    pub(in crate::scenario) fn share_at(&self, place: usize, rate: u64) -> u64 {
        self.paths.as_ref().map_or(rate, |paths| (rate as f64 * paths.share_of(place)).round() as u64)
    }

    /// Returns true if its packets on links have only the stated sizes.
    pub(in crate::scenario) fn states_sizes(&self) -> bool {
        let decides =
            matches!(self.source, Source::Sender { .. } | Source::Receiver { .. } | Source::Video { .. });
        self.aal5 || !decides
    }

    pub(in crate::scenario) fn members(&self, group_index: usize) -> impl Iterator<Item = Flow<'_>> {
        (0..self.count).map(move |member| Flow {
            name: self.member_name(member),
            group_index,
            member: self.first + member,
            group: self,
        })
    }
}
