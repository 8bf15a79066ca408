//! The keys of a whole scenario file.

use super::connection::Connection;
use super::flow::Flow;
use super::network::{Link, Node};
use super::port::{Class, Host, Port, Profile};
use super::routing::Routing;
use super::stage::Stages;
use super::topology::Topology;
use crate::section::{Name, OneOrMoreNames, Placed, section};
use tidegate_core::params::Limit;
use tidegate_core::switch::plan::PushOut;
use tidegate_core::units::Span;

section! {
    /// A network, the policies of its switches, and the flows that cross it.
    pub(crate) struct Scenario = "scenario", "Scenario" {
        /// Name of the scenario; without it, the file's name without its ending
        name: Option<String>,
        /// Seed of every random stream; the same seed gives the same outcome
        seed: u64 = "1",
        /// Simulated time, above zero
        duration: Span,
        /// Time before measuring starts, shorter than `duration`: packets sent before it are
        /// carried but not measured
        warmup: Span = "0s",
        /// Spacing of the series of queues, utilisation and throughput, above zero; without it, a
        /// 600th of `duration`
        sample: Option<Span>,
        /// Nodes and links to start from; `[[node]]` and `[[link]]` are added to them
        topology: Topology = "nodes",
        /// Choice of a flow's path among the shortest by hops
        routing: Routing = "shortest-path",
        /// Output ports of switches; a link may override it
        port: Port = "{}",
        /// Output ports of hosts; a link may override it
        host: Host = "{}",
        /// Switches; a node may override it
        switch: Switch = "{}",
        /// Set-up of flows with reservations, link by link, before they send; without it, all flows
        /// are set up from the start
        admission: Option<Admission>,
        /// Probability of assurance: the share of the time in which profiles get their target
        /// rates, as the table `assurance`; without it, not measured
        assurance: Option<Assurance>,
        /// Nodes added to the topology
        node: Vec<Placed<Node>>,
        /// Links added to the topology
        link: Vec<Placed<Link>>,
        /// Classes of flows, on every switch port
        class: Vec<Placed<Class>>,
        stages: Stages,
        /// Contracts that several flows share
        profile: Vec<Placed<Profile>>,
        /// Flows: traffic from one node to others
        flow: Vec<Placed<Flow>>,
        /// Connections: traffic from one node to another, with acknowledgements
        connection: Vec<Placed<Connection>>,
    }
}

section! {
    /// Every switch; a node may override it.
    pub(crate) struct Switch = "switch", "Switch" {
        /// Pool of each switch, shared by its ports with push-out; without it, unlimited
        buffer: Option<Limit>,
        /// Packet that is dropped when the pool is exhausted: of the port that exceeds its share by
        /// most, and there first of packets that wait for a shaper, a ceiling or credit when they
        /// are more than a third of the others; or of the longest queue by packets, whether they
        /// may be sent or not (Zhang 1991, section 3.1)
        push_out: PushOut = "shares",
    }
}

section! {
    /// The Flow Network: at its `start` a flow with a reservation sends a request along its route.
    /// Every link checks and books it, the confirmation returns on the same route, and only then
    /// does the source send. A refusal names the link that lacks capacity. Requests, answers and
    /// warnings take the links' propagation delays and no capacity.
    #[source = "Zhang 1991, section 2.2"]
    pub(crate) struct Admission = "admission", "Admission" {
        /// Share of every link that is kept for datagrams and cannot be reserved
        datagrams: f64 = "0",
        /// Length of the windows over which every link measures its datagrams: as much as they
        /// brought in the latest one cannot be reserved, if that is more than `datagrams` keeps;
        /// without it, that share alone
        datagram_window: Option<Span>,
        /// Longest average interval (AI) that a flow may request; without it, any
        interval: Option<Span>,
    }
}

section! {
    /// Probability of assurance: the measured time is divided into windows, and a window counts
    /// when the destinations received at least the reserved rate in it. The target of a profile is
    /// its `reserve`, that of a flow without a profile is the flow's own.
    #[source = "Clark and Fang 1998, section II.C"]
    pub(crate) struct Assurance = "assurance", "Assurance" {
        /// Averaging window, above zero
        window: Span,
        /// Sets of destinations to measure; each destination alone, and all together, are always
        /// measured
        scope: Vec<Placed<Scope>>,
    }
}

section! {
    /// A geographic scope of profiles: a set of destinations.
    pub(crate) struct Scope = "scope", "Scope" {
        /// Unique name of the set
        name: Name,
        /// Nodes that receive, at least one
        to: OneOrMoreNames,
    }
}
