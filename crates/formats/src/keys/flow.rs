//! A flow's keys.

use super::contract::OfFlow;
use super::matrix::Matrix;
use super::policies::Shaper;
use super::source::Source;
use crate::section::{Name, Names, OneOrMore, OneOrMoreNames, ParamsOf, Placed, section, words};
use tidegate_core::classifier::rules::Each;
use tidegate_core::packet::Colour;
use tidegate_core::units::Span;

/// The greatest weight of a flow in its profile.
const MAX_WEIGHT: i64 = 1_000_000;

/// The most flows that a scenario may hold.
pub(crate) const MAX_FLOWS: i64 = 4_000_000;

section! {
    /// A flow, or `count` equal flows. The keys of a contract are the flow's declaration to the
    /// ports on its route; each policy reads the keys that it lists and ignores the others.
    pub(crate) struct Flow = "flow", "Flow" {
        /// Name, unique among flows and connections
        name: Name,
        /// Number of flows like this one; above 1, they are called NAME/1, NAME/2 and so on
        count: u32 as Integer(1, MAX_FLOWS) = "1",
        /// Node that sends; required without `matrix`
        from: Option<Name>,
        /// Node that receives, or a list of nodes (multicast); required without `matrix`. The
        /// shortest routes to several then form a tree: a packet and a reservation count once on
        /// each of its links; received, dropped and lost packets count every copy
        to: Option<OneOrMoreNames>,
        /// Traffic matrix, in place of `from`, `to` and `count`: a flow for each demand, which has
        /// its share of the rate of the `source`
        matrix: Option<Matrix>,
        /// Nodes of the route, from `from` to `to`; without it, the shortest path by hops
        route: Option<Names>,
        declaration: Declaration,
        /// Packet size of at most 1 MiB, or a list of sizes with equal probability; required unless
        /// the source has sizes
        size: OneOrMore<u64> as Size,
        cells: Cells,
        life: Life,
        /// When the destination tears the flow down, later than `start`; needs `admission`
        hangup: Option<Span>,
        /// Response of the source to a warning: none; silence for as long as it is ahead, then its
        /// reserved rate; or smaller packets until it is no longer ahead, then packets as large as
        /// its reservation allows
        warned: WhenWarned = "ignore",
        #[doc = "Whether its packets claim that their sender responds to congestion marks (ECT(0), RFC \
                 3168): droppers then mark them where they would drop others. The source itself ignores \
                 marks"]
        ecn: Toggle = "off",
        /// Changes of its reservation while it runs; needs `admission`
        change: Vec<Placed<Change>>,
        /// Headers of its packets for a gate on its route; a `capture` has its own
        headers: Option<Headers>,
        #[doc = "What is sent when"]
        source: Source,
        /// Shaper between the source and the network; without it, packets are sent as they are
        /// generated. Packets that wait in it do not count as sent; in a switch they use its
        /// `buffer`, in a host none
        envelope: Option<Shaper>,
    }
}

section! {
    /// The declaration of a flow to the ports on its route.
    pub(crate) struct Declaration {
        contract: ParamsOf<OfFlow>,
        /// Profile against which its packets are metered, together with those of other flows;
        /// without it, the flow's own contract
        profile: Option<Name>,
        /// Weight of each of these flows among all that name the `profile`, which must then all
        /// have one: each flow has its own share of the profile's rates and bursts, and an unused
        /// share goes to no other; without it, they use the profile together
        weight: Option<u32> as Integer(1, MAX_WEIGHT),
        /// Colour that the source itself gives its packets, in profile or out; only colour-aware
        /// meters use it
        colour: Colour = "green",
        /// Class that it belongs to; without it, the flow is directly under the port's scheduler
        class: Option<Name>,
        /// Rate that the flow never exceeds at a switch port; without it, no ceiling
        ceiling: Option<u64> as Rate,
    }
}

section! {
    /// The form in which links carry the packets of a flow, or of both flows of a connection.
    pub(crate) struct Cells {
        /// ATM adaptation layer of both ends: with `aal5` (ITU-T I.363.5) a packet of n bytes goes
        /// as ⌈(n + 8) / 48⌉ cells of 53 bytes, which are packets to all links and tables, and is
        /// put together at its destination; a cell that is lost or dropped loses its packet. `size`
        /// and rates are those of the packets before
        adaptation: Adaptation = "none",
    }
}

section! {
    /// The start and the end of a flow or a connection.
    pub(crate) struct Life {
        /// When it starts to send, or to be set up
        start: Span = "0s",
        /// When it stops sending, later than `start`; without it, at the end
        stop: Option<Span>,
        /// Mean time between the starts of the `count` members, exponential; without it, all start
        /// at `start`
        every: Option<Span>,
        /// Mean time from its start to its stop, exponential, instead of `stop`
        lasts: Option<Span>,
    }
}

section! {
    /// A change of (AR, AI) while the flow runs, granted by every link of its route, or refused. An
    /// envelope follows: its rate becomes AR and its burst AR * AI. Queued packets keep their
    /// places.
    #[source = "Zhang 1991, sections 2.1 and 2.2"]
    pub(crate) struct Change = "change", "Change" {
        /// When the source requests it, later than the flow's `start` and the previous change
        at: Span,
        /// Average rate (AR) that it requests
        reserve: u64 as Rate,
        /// Average interval (AI) that it requests; without it, the current one
        interval: Option<Span>,
        /// Mean rate of the source once the change is granted; without it, unchanged
        rate: Option<u64> as Rate,
    }
}

section! {
    /// Headers that a gate reads from the flow's packets. Their `size` is then that of the Ethernet
    /// frame, with its header and without its frame check sequence.
    pub(crate) struct Headers = "headers", "Headers" {
        /// The first one's addresses, ports and protocol, from the sender to the receiver, as
        /// `10.0.0.1:5004>192.0.2.1:5060/udp`, `10.0.0.1>192.0.2.1/icmp`, or `other` for packets
        /// other than IP
        flow: String,
        /// Differentiated services code point
        dscp: u8 as Dscp = "0",
        /// Identifier of a VLAN tag; without it, no tag
        vlan: Option<u16> as Integer(0, 4_095),
        /// Field in which the `count` flows differ, counted up from the first: the inside address,
        /// the inside IPv4 address or IPv6 /64, or only the inside port
        each: Each as Word(&["host", "subscriber", "5-tuple"]) = "host",
    }
}

words! {
    /// The ATM adaptation layer of both ends.
    pub enum Adaptation {
        /// Packets go as they are.
        None = "none",
        /// Packets go as cells (ITU-T I.363.5).
        Aal5 = "aal5",
    }
}

words! {
    /// The response of a source to a warning.
    pub enum WhenWarned {
        /// The source continues as before.
        Ignore = "ignore",
        /// The source is silent until it is no longer ahead, and then keeps to its reservation.
        Slow = "slow",
        /// The source sends smaller packets at the same times.
        Shrink = "shrink",
    }
}

words! {
    /// A property that a flow has or does not have.
    pub enum Toggle {
        /// The flow has it.
        On = "on",
        /// The flow does not have it.
        Off = "off",
    }
}
