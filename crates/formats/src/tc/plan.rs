//! A configuration of `tc` in the terms of a gate.

use super::entry::At;
use super::filters::Criteria;
use crate::error::FormatError;

/// Name of the list of circuits.
pub const CIRCUITS: &str = "circuits.csv";

/// One direction.
#[derive(Default)]
pub(super) struct Side {
    /// Its rate in bit/s, if the configuration has one, and the object that has it.
    pub(super) rate: Option<(u64, At)>,
    pub(super) framing: Framing,
    /// The limit of its queues, as a gate file has it.
    pub(super) buffer: Option<String>,
    /// Each behind the class that it is in.
    pub(super) classes: Vec<Class>,
    /// In the order in which packets are compared with them.
    pub(super) flows: Vec<Flow>,
    /// The reason why the simulator has nothing like it.
    pub(super) unmodelled: Option<String>,
    /// Differences between the configuration and this.
    pub(super) losses: Vec<FormatError>,
}

impl Side {
    /// Notes a difference from an object.
    pub(super) fn loses(&mut self, at: &At, message: impl AsRef<str>) {
        self.losses.push(at.says(message, None));
    }

    /// True if a flow is directly at the port.
    pub(super) fn at_port(&self) -> bool {
        self.flows.iter().any(|flow| flow.class.is_none())
    }

    /// True if a queue has a policy that is not the port's.
    pub(super) fn has_own_policies(&self) -> bool {
        self.classes.iter().filter_map(|class| class.queue.as_ref()).any(|queue| queue.policy.is_some())
    }
}

/// The bytes that a line adds to frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) overhead: i64,
    pub(super) mpu: i64,
    pub(super) atm: bool,
}

/// A class.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Its name in the gate file.
    pub(super) name: String,
    /// Its name in `tc`.
    pub(super) handle: String,
    pub(super) parent: Option<usize>,
    /// In bit/s.
    pub(super) reserve: Option<u64>,
    pub(super) ceiling: Option<u64>,
    /// `cburst`, in bytes.
    pub(super) ceiling_burst: Option<u64>,
    /// Level of a class of HTB without classes in it.
    pub(super) prio: u64,
    /// Bytes of its turn.
    pub(super) quantum: u64,
    /// Its queue; `None` for a class with classes in it.
    pub(super) queue: Option<Queue>,
}

/// The parties that a flow divides its service among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Nothing: they have one queue.
    Nothing,
    Conversations,
    /// Hosts inside, each with one queue.
    Hosts,
    /// Hosts inside, and conversations in each.
    HostsFirst,
    /// Hosts of both sides, and conversations between them: a circuit has all packets.
    HostsOfBothSides,
}

impl Among {
    /// The keys of a flow for it.
    pub(super) fn keys(self) -> String {
        match self {
            Among::Nothing => String::new(),
            Among::Conversations => "each = \"5-tuple\"\n".to_owned(),
            Among::Hosts => "each = \"host\"\n".to_owned(),
            Among::HostsFirst => "each = \"host\"\nwithin = \"5-tuple\"\n".to_owned(),
            Among::HostsOfBothSides => {
                format!("circuits = \"{CIRCUITS}\"\nwithin = \"triple-isolate\"\n")
            }
        }
    }
}

/// The queue of a class or of a whole direction.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Policy in the gate's file; `None` for that of the port.
    pub(super) policy: Option<String>,
    /// Policy in the simulator, as in Linux.
    pub(super) in_linux: Option<String>,
    /// The parties that its flows divide their service among.
    pub(super) among: Among,
    /// True if its policy reads reservations, and gives a part to each flow of the file.
    pub(super) divides: bool,
    /// True if packets leave without a codepoint.
    pub(super) wash: bool,
    /// Its limit in packets, if it is one of its own.
    pub(super) packets: Option<u64>,
}

/// Packets of a class.
pub(super) struct Flow {
    pub(super) name: String,
    /// The filter that it is made from.
    pub(super) comment: String,
    pub(super) criteria: Criteria,
    pub(super) class: Option<usize>,
    /// In bit/s.
    pub(super) reserve: Option<u64>,
    pub(super) queue: Queue,
}
