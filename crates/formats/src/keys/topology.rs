//! The kinds of topology.

use crate::section::{kinds, section};
use std::path::PathBuf;
use tidegate_core::units::Span;

/// The most nodes of one sort that a topology makes.
const MAX_NODES: i64 = 100_000;

/// The most switches of one kind of a fabric.
const MAX_SWITCHES: i64 = 1_000;

kinds! {
    /// Nodes and links to start from.
    pub(crate) enum Topology = "topology" {
        Chain,
        Dumbbell,
        ParkingLot,
        Star,
        LeafSpine,
        FatTree,
        Graph,
        Gate,
        Nodes,
    }
}

section! {
    /// Switches s1 … sN in a row, connected by duplex links; with `access`, host hK is connected to
    /// switch sK.
    pub(crate) struct Chain = "chain", "Chain" {
        /// Number of switches
        switches: u64 as Integer(1, MAX_NODES),
        between: BetweenSwitches,
        /// Links between each switch and its host; without it there are no hosts, and flows start
        /// and end at switches
        access: Option<Access>,
    }
}

section! {
    /// Hosts l1 … lN on the switch left, hosts r1 … rN on the switch right, one duplex link between
    /// the two.
    pub(crate) struct Dumbbell = "dumbbell", "Dumbbell" {
        /// Number of hosts on each side
        pairs: u64 as Integer(1, MAX_NODES),
        between: BetweenSwitches,
        access: AccessOrDefault,
    }
}

section! {
    /// Switches s1 … s(K+1) in a row; traffic from host src on s1 to dst on s(K+1) crosses every
    /// hop, traffic from cI on sI to dI on s(I+1) only hop I.
    pub(crate) struct ParkingLot = "parking-lot", "Parking lot" {
        /// Number of links between switches
        hops: u64 as Integer(1, MAX_NODES),
        between: BetweenSwitches,
        access: AccessOrDefault,
    }
}

section! {
    /// Hosts h1 … hN on the switch hub.
    pub(crate) struct Star = "star", "Star" {
        /// Number of hosts
        hosts: u64 as Integer(1, MAX_NODES),
        /// Rate of the link between the hub and each host, in each direction
        rate: u64 as Rate,
        /// Propagation delay of the link between the hub and each host, in each direction
        delay: Span = "0s",
    }
}

section! {
    /// Switches leaf1 … leafL and spine1 … spineS, with a duplex link from every leaf to every
    /// spine. Hosts h1, h2 and so on are connected to the leaves, as many to each, those of leaf1
    /// first.
    pub(crate) struct LeafSpine = "leaf-spine", "Leaf and spine" {
        /// Number of leaves
        leaves: u64 as Integer(1, MAX_SWITCHES),
        /// Number of spines
        spines: u64 as Integer(1, MAX_SWITCHES),
        /// Number of hosts at each leaf
        hosts: u64 as Integer(1, MAX_SWITCHES),
        between: BetweenSwitches,
        access: AccessOrDefault,
    }
}

section! {
    /// Switches with K ports each in K pods. A pod has K/2 switches edge1, edge2 and so on, with K/2
    /// hosts each, and K/2 switches agg1, agg2 and so on; each of the ones has a link to each of the
    /// others. The first of the agg switches of every pod has links to the first K/2 of the switches
    /// core1 … core(K²/4), the second to the next, and so on. Hosts are h1 … h(K³/4), those of edge1
    /// first.
    #[source = "Al-Fares, Loukissas and Vahdat 2008, section 2.2"]
    pub(crate) struct FatTree = "fat-tree", "Fat tree" {
        /// Ports of a switch, an even number
        k: u64 as Integer(2, 64),
        between: BetweenSwitches,
        access: AccessOrDefault,
    }
}

section! {
    /// Switches and links of a graph in a file. A node is named by its label, with a hyphen in place
    /// of what a name cannot have, and a number behind one that is taken. Its host has the node's
    /// name and `-host`. A duplex link has the speed that its edge states, and the delay of 5 µs for
    /// each kilometre of the great circle between the places of its ends; an edge of a directed graph is
    /// one direction. An edge from a node to itself is left out.
    #[source = "ITU-T G.114, Annex A, for the delay"]
    pub(crate) struct Graph = "graph", "Graph" {
        /// File in GraphML or, with the ending .gml, in GML, as those of the Internet Topology Zoo
        file: PathBuf,
        /// Rate of a link whose edge states no `LinkSpeedRaw` in bit/s, in each direction
        rate: Option<u64> as Rate,
        /// Propagation delay of a link one of whose ends states no `Latitude` and `Longitude`, in each
        /// direction
        delay: Span = "0s",
        /// Links between each switch and its host; without it there are no hosts, and flows start
        /// and end at switches
        access: Option<Access>,
    }
}

section! {
    /// Switches inside and outside, and between them the link that a gate file describes: each
    /// direction has the gate's rate, framing, policies and flows, and its memory. A given key of
    /// `port` or `switch` replaces the gate's, to try another scheduler or buffer with the same
    /// file; the scenario's classes and contracts have no effect there. A flow or a connection
    /// needs `headers` to pass, or a `capture` that has them.
    pub(crate) struct Gate = "gate", "Gate" {
        /// Gate file; the names of its interfaces are ignored
        file: PathBuf,
        /// Propagation delay of the link, in each direction
        delay: Span = "0s",
    }
}

section! {
    /// Only the nodes and links of `[[node]]` and `[[link]]`.
    pub(crate) struct Nodes = "nodes", "Nodes" {}
}

section! {
    /// The duplex links between switches.
    pub(crate) struct BetweenSwitches {
        /// Rate of the links between switches, in each direction
        rate: u64 as Rate,
        /// Propagation delay of the links between switches, in each direction
        delay: Span = "0s",
    }
}

section! {
    /// Links to hosts, in a topology that always has hosts.
    pub(crate) struct AccessOrDefault {
        /// Links between hosts and switches
        access: Access = "{}",
    }
}

section! {
    /// The duplex links between hosts and switches.
    pub(crate) struct Access = "access", "Access" {
        /// Rate of each direction
        rate: u64 as Rate = "1gbit",
        /// Propagation delay of each direction
        delay: Span = "0s",
    }
}
