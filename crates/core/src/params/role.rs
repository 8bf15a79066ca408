//! The role of a policy.

use super::consists::Consists;

/// The role of a policy in a port or at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Several policies under one name.
    Composite(Consists),
    /// Orders flows.
    Scheduler {
        /// The moment at which it starts packets.
        service: Service,
    },
    /// Drops or marks arriving packets.
    Dropper,
    /// Delays packets until they conform.
    Shaper,
    /// Checks flows against their contracts.
    Meter {
        /// True if it divides a profile's packets by colour into those inside and those outside, so
        /// that the traffic inside has to be provisioned for.
        colours: bool,
    },
    /// Names flows that do not respond to congestion.
    Detector,
    /// Tells the sources of ABR connections, at an output port, the rate at which they may send.
    RateControl,
    /// Couples the control loops of ABR connections before and behind an output port.
    Coupling,
    /// Sets the congestion window of a connection.
    CongestionControl,
    /// Sends the packets of a flow, whatever the network does with them.
    Source,
    /// Stands beside a node, and sees the packets that pass it.
    Stage,
    /// Makes both ends of a connection.
    Transport {
        /// True if the sent traffic depends on the network's treatment of it.
        responsive: bool,
    },
}

impl Role {
    /// Its name in prose.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Composite(_) => "policy",
            Role::Scheduler { .. } => "scheduler",
            Role::Dropper => "dropper",
            Role::Shaper => "shaper",
            Role::Meter { .. } => "meter",
            Role::Detector => "detector",
            Role::RateControl => "switch algorithm",
            Role::Coupling => "coupling",
            Role::CongestionControl => "congestion control",
            Role::Source => "source",
            Role::Stage => "stage",
            Role::Transport { .. } => "transport",
        }
    }
}

/// The moment at which a scheduler starts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// As soon as the server is free and any packet waits.
    WorkConserving,
    /// As soon as the server is free and an eligible packet waits. A packet may have to wait for a
    /// time that depends on its flow's contract and on the value that it carries.
    Regulated,
    /// At the beginning of slots only, laid out in the order in which flows are set up. The slots
    /// of two such schedulers, one in a class of the other, may never begin at the same time.
    Slotted,
}
