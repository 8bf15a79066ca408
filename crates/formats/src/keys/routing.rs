//! The kinds of routing.

use crate::section::{kinds, section};

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
    /// Equal-cost multipath: at each node a flow takes one of the links that lead to its destination
    /// by the fewest hops, parallel ones included, by a hash of the names of node and flow. All
    /// packets of a flow take one path. Flows with a `route` keep it, and those with several
    /// destinations take the shortest paths.
    #[source = "RFC 2992"]
    pub(crate) struct Ecmp = "ecmp", "Equal-cost multipath" {
        /// Seed of the hash: the same seed gives a flow the same path, whatever other flows there
        /// are
        seed: u64 = "1",
        #[doc = "Whether links are taken in proportion to their rates, rather than equally often"]
        weighted: bool = "false",
    }
}
