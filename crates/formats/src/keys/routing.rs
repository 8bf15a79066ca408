//! The kinds of routing.

use crate::section::{kinds, section, words};

kinds! {
    /// The choice among the shortest paths of flows.
    pub(crate) enum Routing = "routing" {
        ShortestPath,
        Ecmp,
    }
}

section! {
    /// Every flow takes the shortest path by hops. Of several, and of parallel links, it is the
    /// first in the file.
    pub(crate) struct ShortestPath = "shortest-path", "Shortest path" {}
}

section! {
    /// Equal-cost multipath: at each node, one of the links that lead to the destination by the
    /// fewest hops, parallel ones included. Flows with a `route` keep it, and those with several
    /// destinations take the shortest paths.
    #[source = "RFC 2991, RFC 2992"]
    pub(crate) struct Ecmp = "ecmp", "Equal-cost multipath" {
        /// Choice of the link: for a whole flow by a hash of the names of node and flow, or for each
        /// packet at random
        per: Per = "flow",
        /// Seed of the hash: the same seed gives a flow the same path, whatever other flows there
        /// are. Choices for each packet are of the run's seed
        seed: u64 = "1",
        #[doc = "Whether links are taken in proportion to their rates, rather than equally often"]
        weighted: bool = "false",
    }
}

words! {
    /// The unit for which equal-cost multipath chooses a path.
    pub enum Per {
        /// All packets of a flow take one path, and stay in order.
        Flow = "flow",
        /// Each packet takes a path of its own, and may overtake others. Not for flows that reserve,
        /// have an envelope, or are sent as ATM cells, nor through a gate or links with terms of VCs
        Packet = "packet",
    }
}
