//! A connection's keys.

use super::application::Application;
use super::flow::{Cells, Declaration, Headers, Life, MAX_FLOWS};
use super::matrix::Matrix;
use super::policies::Transport;
use crate::section::{Name, Names, OneOrMoreNames, section, words};
use tidegate_core::units::Span;

section! {
    /// A connection, or `count` equal connections: two flows, NAME for the data and NAME/ack for
    /// the acknowledgements, which go in the other direction, queue there and may be lost. Each is
    /// its own group in tables and plots, so the delays of acknowledgements do not mix with those
    /// of data; connections that state the same `group` share both.
    pub(crate) struct Connection = "connection", "Connection" {
        /// Name, unique among flows and connections
        name: Name,
        /// Number of connections like this one; above 1, their flows are called NAME/1 and
        /// NAME/ack/1, NAME/2 and NAME/ack/2, and so on
        count: u32 as Integer(1, MAX_FLOWS / 2) = "1",
        /// Group that counts the flows of several connections together in tables and plots, as GROUP
        /// and GROUP/ack; a name that no flow or connection has. Without it, the connection is a
        /// group of its own, NAME
        group: Option<Name>,
        /// Node that sends data; required without `among`
        from: Option<Name>,
        /// Node that receives data and sends acknowledgements; required without `among`
        to: Option<Name>,
        /// Hosts that the `count` connections join, in place of `from` and `to`
        among: Option<Among>,
        /// Nodes of the data's route, from `from` to `to`; without it, the shortest path by hops.
        /// Acknowledgements take the reverse route, or the shortest one where a link has no reverse
        /// direction
        route: Option<Names>,
        /// Protocol of the sender and the receiver
        transport: Transport,
        /// Size of a packet of data, at most 1 MiB
        size: u64 as Size,
        /// Application that writes the data
        data: Application = "bulk",
        declaration: Declaration,
        /// Declaration of the acknowledgements' flow to the ports on its route, as the keys beside
        /// it are that of the data's flow
        answers: Answers = "{}",
        /// Headers of the data for a gate on its route; acknowledgements have the same with both
        /// ends exchanged
        headers: Option<Headers>,
        cells: Cells,
        /// Time that the sending host takes for each packet before it hands the cells to its first
        /// port, once the last cell of the packet before has left there; above zero it needs
        /// `adaptation`
        preparation: Span = "0s",
        abr: super::abr::ConnectionAbr,
        life: Life,
    }
}

section! {
    /// Hosts that the connections of a group join. Pairs are drawn from the scenario's `seed`: all
    /// replications have the same.
    pub(crate) struct Among = "among", "Among" {
        /// Pairs of hosts: any two for each connection (all-to-all); each host with one other to
        /// which it sends and one from which it receives, in turn (permutation); all others with one
        /// that receives, in turn (incast); or two for each connection by the demands of a `matrix`,
        /// in proportion (matrix)
        pairs: Pairs,
        /// The hosts, at least two; without it, all hosts of the network
        hosts: Option<OneOrMoreNames>,
        /// Node that receives with `pairs = "incast"`; without it, the first of the hosts
        to: Option<Name>,
        /// Traffic matrix of `pairs = "matrix"`, which names its nodes itself
        matrix: Option<Matrix>,
    }
}

words! {
    /// The pairs that connections join.
    pub enum Pairs {
        /// Any two hosts.
        AllToAll = "all-to-all",
        /// A random permutation of the hosts.
        Permutation = "permutation",
        /// All hosts to one.
        Incast = "incast",
        /// Any two, by the demands of a traffic matrix.
        Matrix = "matrix",
    }
}

section! {
    /// Declaration of the flow of a connection's acknowledgements to the ports on its route, as for
    /// a flow.
    pub(crate) struct Answers = "answers", "Answers" {
        declaration: Declaration,
    }
}
