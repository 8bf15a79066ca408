//! The keys of nodes and links.

use super::loss::Loss;
use super::policies::{Detector, Dropper, Meter, Policies, Policy, Scheduler};
use crate::section::{Name, section, words};
use std::path::PathBuf;
use tidegate_core::params::Limit;
use tidegate_core::units::Span;

section! {
    /// One node added to the topology.
    pub(crate) struct Node = "node", "Node" {
        /// Unique name of the node
        name: Name,
        #[doc = "Whether it forwards (switch) or only sends and receives (host)"]
        kind: NodeKind = "switch",
        /// Shared pool of this switch; without it, that of `switch`
        buffer: Option<Limit>,
    }
}

words! {
    /// Kind of a node: forwarding or not.
    pub enum NodeKind {
        /// Forwards packets; flows may also start and end here.
        Switch = "switch",
        /// Only sends and receives.
        Host = "host",
    }
}

section! {
    /// One link added to the topology.
    pub(crate) struct Link = "link", "Link" {
        /// Node at which it starts
        from: Name,
        /// Node at which it ends
        to: Name,
        /// Rate of each direction; a link has this or a `trace`
        rate: Option<u64> as Rate,
        recorded: Recorded,
        /// Propagation delay of each direction
        delay: Span = "0s",
        losses: Losses,
        reordering: Reordering,
        #[doc = "Whether there is an equal link in the other direction"]
        duplex: bool = "true",
        #[doc = "Whether it takes the place of the topology's link between these nodes, and of the one in the \
                 other direction with `duplex`; otherwise it is added"]
        replace: bool = "false",
        /// Policy of its ports, in place of `scheduler` and `dropper`: a scheduler, a dropper (FIFO
        /// with it) or both; without it, as these say
        policy: Option<Policy>,
        /// Scheduler of its ports; without it, that of `port`
        scheduler: Option<Scheduler>,
        /// Meter of its ports; without it, that of `port`
        meter: Option<Meter>,
        /// Profile of every packet that is metered at its ports, whatever the profile of its flow:
        /// the aggregate profile of a boundary; without it, each flow's
        profile: Option<Name>,
        /// Dropper of its ports; without it, that of `port`
        dropper: Option<Dropper>,
        /// Detector of its ports; without it, that of `port`
        detector: Option<Detector>,
        abr: super::abr::LinkAbr,
        /// Rate that its ports never exceed; without it, the link's rate
        ceiling: Option<u64> as Rate,
        credit: super::credit::PortCredit,
    }
}

section! {
    /// The rate of a link that was recorded.
    pub(crate) struct Recorded {
        /// File of delivery opportunities in place of a rate: one line with the millisecond of
        /// each, plain or gzip, in the format of mahimahi. Each delivers up to 1500 bytes; after
        /// the last one the file starts again
        trace: Option<PathBuf>,
    }
}

section! {
    /// The loss of a link.
    pub(crate) struct Losses {
        /// Probability that a packet is lost after it was sent, independently of others; or a model
        /// of loss in bursts
        loss: Loss = "0",
    }
}

section! {
    /// The reordering of a link.
    pub(crate) struct Reordering {
        /// Probability that a packet takes `reorder_delay` longer, so that packets behind it
        /// overtake it
        reorder: f64 = "0",
        /// Extra delay of a packet that is overtaken; required with `reorder`
        reorder_delay: Option<Span>,
    }
}

impl<'k> Policies<'k> {
    /// Those of a link's ports.
    pub(crate) fn of_link(link: &'k Link) -> Policies<'k> {
        let Link { policy, scheduler, dropper, detector, .. } = link;
        Policies { policy, scheduler, dropper, detector }
    }
}
