//! The keys of nodes and links.

use super::policies::{Detector, Dropper, Meter, Policies, Policy, Scheduler};
use super::wire::{Framed, Recorded, Wire};
use crate::section::{Name, section, words};
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
        wire: Wire,
        framing: Framed,
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

impl<'k> Policies<'k> {
    /// Those of a link's ports.
    pub(crate) fn of_link(link: &'k Link) -> Policies<'k> {
        let Link { policy, scheduler, dropper, detector, .. } = link;
        Policies { policy, scheduler, dropper, detector }
    }
}
