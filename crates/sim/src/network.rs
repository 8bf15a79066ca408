//! The plan of a world: nodes, links and flows, with every name resolved.

use crate::assurance::AssurancePlan;
use crate::source::Traffic;
use crate::stage::StageFactory;
use crate::watch::WatchTerms;
use core::ops::{Deref, DerefMut};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::admission::Policy;
use tidegate_core::contract::Contract;
use tidegate_core::headers::Headers;
use tidegate_core::link;
use tidegate_core::packet::{Colour, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::shaper::ShaperPlan;
use tidegate_core::steering::EdgePlan;
use tidegate_core::switch::plan::{FlowPlan, PacketSizes, PortPlan, PushOut, Shared};
use tidegate_core::units::{Rate, Span};
use tidegate_formats::{Paths, StageTerms, WhenWarned};

/// A node: a switch with one output port for every link that leaves it. A host is one too.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its name; also names its random stream.
    pub name: String,
    /// Memory shared by its ports; `None` for unlimited.
    pub buffer: Option<Limit>,
}

/// One direction of a link, with the port that feeds it.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// The line; with a trace its rate is the trace's average, and with changes the first.
    pub line: link::LinePlan,
    /// The bytes that a packet takes of the rate, and counts at the port.
    pub framing: link::Framing,
    /// The port in front of it.
    pub port: Shared<PortPlan>,
}

impl Deref for LinkPlan {
    type Target = link::LinePlan;

    fn deref(&self) -> &link::LinePlan {
        &self.line
    }
}

impl DerefMut for LinkPlan {
    fn deref_mut(&mut self) -> &mut link::LinePlan {
        &mut self.line
    }
}

/// A flow: its traffic, and the terms that it shares with other members of its group.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Its name; also names its random stream.
    pub name: String,
    /// Index of the flow in the other direction of its connection: the sender of one receives the
    /// other.
    pub peer: Option<usize>,
    /// Times and sizes of its packets.
    pub traffic: Traffic,
    /// Headers of its packets as a gate sees them; `None` without a gate on the route.
    pub headers: Option<Box<Headers>>,
    /// Everything else. A flow that changes its own terms gets a copy.
    pub shared: Arc<FlowTerms>,
}

/// A route, and the statements of a flow to the ports on the way.
#[derive(Clone, Debug)]
pub struct FlowTerms {
    /// Index of its group.
    pub group: usize,
    /// Index of the scenario's entry that it is a member of.
    pub entry: usize,
    /// Index of its group's part in the scenario: of the flows with the same path.
    pub part: usize,
    /// Indexes of the links on the way, at least one. For a multicast flow: the links of its tree
    /// in preorder, each link followed by all links behind it.
    /// With `paths`, the links of all, each once.
    pub route: Vec<usize>,
    /// The paths of which each packet takes one; `None` where all packets take the route.
    pub paths: Option<Arc<Paths>>,
    /// For a multicast flow, the number of links between its source and the end of each link of the
    /// route, that link included; empty for a flow with one destination.
    pub depths: Vec<u16>,
    /// Its plan at each link of the route.
    pub plans: Vec<FlowPlan>,
    /// The user-behaviour envelope, in front of the first port.
    pub envelope: Option<ShaperPlan>,
    /// The sizes of the packets that it sends over links; `None` where they are not known.
    pub sizes: Option<PacketSizes>,
    /// True if its packets are sent as ATM cells, using AAL5.
    pub aal5: bool,
    /// Preparation time of its host for each packet before its cells, once the previous packet has
    /// left; zero for none.
    pub preparation: Span,
    /// Terms that it states for stages on its way.
    pub stage_terms: StageTerms,
    /// Reaction of its source to a warning.
    pub when_warned: WhenWarned,
    /// True if its packets are ECN-capable; a transport decides for its own packets.
    pub ecn_capable: bool,
    /// Colour that its source gives its packets.
    pub colour: Colour,
    /// Its start, changes and end.
    pub life: Life,
}

impl Deref for FlowSetup {
    type Target = FlowTerms;

    fn deref(&self) -> &FlowTerms {
        &self.shared
    }
}

impl DerefMut for FlowSetup {
    fn deref_mut(&mut self) -> &mut FlowTerms {
        Arc::make_mut(&mut self.shared)
    }
}

impl FlowSetup {
    /// Returns the largest packet that it sends over links, in bytes; 0 where that is not known.
    pub fn largest(&self) -> u32 {
        self.sizes.map_or(0, |sizes| sizes.largest)
    }

    /// Returns the place in the route of each of its hops: its links in their order, or those of
    /// its paths, path after path.
    pub(crate) fn hops(&self) -> impl Iterator<Item = usize> {
        let places = |hop: usize| self.paths.as_ref().map_or(hop, |paths| paths.places[hop] as usize);
        (0..self.hop_count()).map(places)
    }

    /// Returns the number of its hops.
    pub(crate) fn hop_count(&self) -> usize {
        self.paths.as_ref().map_or(self.route.len(), |paths| paths.places.len())
    }

    /// Returns the number of hops of each of its paths; of all its route without several.
    pub(crate) fn path_length(&self) -> usize {
        self.paths.as_ref().map_or(self.route.len(), |paths| paths.length)
    }

    /// Returns the hop over which packets come to a hop.
    pub(crate) fn before(&self, hop: usize) -> Option<usize> {
        match self.depths.get(hop) {
            Some(depth) => (0..hop).rev().find(|before| self.depths[*before] < *depth),
            None => hop.checked_sub(1).filter(|_| !hop.is_multiple_of(self.path_length())),
        }
    }

    /// Returns true if a hop is the last one on the way to a destination.
    pub fn is_last(&self, hop: usize) -> bool {
        match (self.depths.get(hop), self.depths.get(hop + 1)) {
            (Some(depth), Some(next)) => next <= depth,
            (Some(_), None) => true,
            _ => (hop + 1).is_multiple_of(self.path_length()),
        }
    }

    /// Returns the number of destinations behind each link of a multicast flow's route; nothing for
    /// one destination.
    pub(crate) fn destinations_behind(&self) -> Vec<u32> {
        let deepest = self.depths.iter().copied().max().map_or(0, usize::from);
        // Destinations at each depth, for the next link nearer to the source.
        let mut behind = vec![0; deepest + 2];
        let mut all = vec![0; self.depths.len()];
        for (ix, depth) in self.depths.iter().map(|depth| usize::from(*depth)).enumerate().rev() {
            all[ix] = core::mem::take(&mut behind[depth + 1]).max(1);
            behind[depth] += all[ix];
        }
        all
    }

    /// Returns the number of destinations of its packets.
    pub fn destinations(&self) -> u32 {
        if self.depths.is_empty() {
            return 1;
        }
        (0..self.route.len()).filter(|hop| self.is_last(*hop)).count() as u32
    }

    /// Returns its traffic terms, the greatest of all its contracts; `None` for a datagram flow.
    pub(crate) fn terms(&self) -> Option<WatchTerms> {
        let first = (self.plans.first()?.contract, self.envelope);
        let changes = self.life.changes.iter().map(|change| (change.contract, change.envelope));
        let stated: Vec<(Contract, Option<ShaperPlan>)> = core::iter::once(first).chain(changes).collect();
        let bits = |rate: &Rate| rate.bits_per_second();
        let reserve = stated
            .iter()
            .filter_map(|(contract, _)| contract.reserve)
            .max_by(|one, other| bits(one).total_cmp(&bits(other)))?;
        let bucket = |(contract, envelope): &(Contract, Option<ShaperPlan>)| {
            let slow = envelope.filter(|envelope| bits(&envelope.rate) <= bits(&reserve));
            contract.interval.max(slow.map(|envelope| reserve.time_for(envelope.burst)))
        };
        Some(WatchTerms { reserve, bucket: stated.iter().filter_map(bucket).max() })
    }
}

/// A stage at a node.
#[derive(Clone, Debug)]
pub struct StagePlan {
    /// Its name; also names its random stream.
    pub name: String,
    /// Index of the node.
    pub node: usize,
    /// The factory that makes it.
    pub factory: Arc<dyn StageFactory>,
}

/// A gate, in place of the ports of the two nodes that it joins: one switch for both directions.
#[derive(Clone, Debug)]
pub struct GatePlan {
    /// Indexes of its links, up first. Each has one port of the switch.
    pub links: [usize; 2],
    /// The memory of each port.
    pub buffer: Limit,
    /// The edge of each direction, up first: it maps packets to flows of its port.
    pub edges: [EdgePlan; 2],
    /// The names of the rules.
    pub names: Vec<String>,
}

/// Start, changes and end of a flow; times are from the start of the run.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// True if it is set up by signalling before it sends; otherwise it is open from the start.
    pub set_up: bool,
    /// Start time.
    pub start: Span,
    /// Mean time from the start of the previous flow in its group, exponential; `None` when `start`
    /// gives the time.
    pub every: Option<Span>,
    /// Time at which it stops sending; `None` at the end of the run.
    pub stop: Option<Span>,
    /// Mean time from its start to its stop, exponential; `None` when `stop` gives the time.
    pub lasts: Option<Span>,
    /// Time at which its destination tears it down.
    pub hangup: Option<Span>,
    /// Contract changes that its source requests while it runs.
    pub changes: Vec<FlowChange>,
}

/// A change of a flow's contract while it runs.
#[derive(Clone, Copy, Debug)]
pub struct FlowChange {
    /// Time of the request, from the start of the run.
    pub at: Span,
    /// The requested contract.
    pub contract: Contract,
    /// The envelope from then on.
    pub envelope: Option<ShaperPlan>,
    /// The source's rate from then on, as a multiple of its first; `None` for no change.
    pub pace: Option<f64>,
}

/// A whole network and its traffic.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes, by index.
    pub nodes: Vec<NodePlan>,
    /// Links, by index.
    pub links: Vec<LinkPlan>,
    /// Choice of the packet to drop when the pool of a switch is exhausted.
    pub push_out: PushOut,
    /// The gate that replaces two of the links.
    pub gate: Option<GatePlan>,
    /// Names of the groups of flows, as results have them.
    pub groups: Vec<String>,
    /// Names of the scenario's entries: each `[[flow]]`, and each direction of a `[[connection]]`.
    pub entries: Vec<String>,
    /// Names of the classes, by their index in the plans of switches' ports.
    pub classes: Vec<String>,
    /// Names of the profiles that flows share, by their index in the plans of ports.
    pub profiles: Vec<String>,
    /// Admission policy of each link; empty when no flow is set up by signalling.
    pub policies: Vec<Policy>,
    /// Length of the windows over which links measure their datagrams, to keep that much for them;
    /// without it they keep what their policies say.
    pub datagram_window: Option<Span>,
    /// Flows, by index.
    pub flows: Vec<FlowSetup>,
    /// Plans of built-in stages.
    pub stage_terms: StageTerms,
    /// Stages at nodes, in addition to the built-in ones.
    pub stages: Vec<StagePlan>,
    /// Notes for readers on the recordings that are played, one sentence each.
    pub notes: Vec<String>,
    /// Duration of the run.
    pub duration: Span,
    /// Packets that leave their source before this are carried but not measured.
    pub warmup: Span,
    /// Profiles whose probability of assurance is measured; `None` for none.
    pub assurance: Option<AssurancePlan>,
}

impl Network {
    /// Returns the node whose switch a link leaves: the gate's is one more node.
    pub(crate) fn switch_of(&self, link: usize) -> usize {
        match &self.gate {
            Some(gate) if gate.links.contains(&link) => self.nodes.len(),
            _ => self.links[link].from,
        }
    }

    /// Returns true if a flow has an envelope in front of its first port, which is not a gate's.
    pub(crate) fn is_enveloped(&self, setup: &FlowSetup) -> bool {
        let at_gate = self.gate.as_ref().is_some_and(|gate| gate.links.contains(&setup.route[0]));
        setup.envelope.is_some() && !at_gate
    }

    /// Returns for each link the one in the other direction: of those between the same nodes, the
    /// one with the same place among them.
    pub(crate) fn reverse_links(&self) -> Vec<Option<u32>> {
        let mut between: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
        let mut places = Vec::with_capacity(self.links.len());
        for (ix, link) in self.links.iter().enumerate() {
            let alike = between.entry((link.from, link.to)).or_default();
            places.push(alike.len());
            alike.push(ix as u32);
        }
        let back =
            |(link, place): (&LinkPlan, usize)| between.get(&(link.to, link.from))?.get(place).copied();
        self.links.iter().zip(places).map(back).collect()
    }

    /// Returns the index of each flow's first hop; hops are stored flow by flow.
    pub(crate) fn first_hops(&self) -> Vec<u32> {
        let laid = self.flows.iter().scan(0, |next, flow| {
            let first = *next;
            *next += flow.hop_count() as u32;
            Some(first)
        });
        laid.collect()
    }

    /// Returns each link's port at its sending node: nodes number their ports in the order of their
    /// links.
    pub(crate) fn ports(&self) -> Vec<PortIx> {
        let mut next = vec![0; self.nodes.len() + 1];
        let number = |link: usize| {
            let next = &mut next[self.switch_of(link)];
            let port = PortIx(*next);
            *next += 1;
            port
        };
        (0..self.links.len()).map(number).collect()
    }
}
