//! The keys of ports, classes and profiles.

use super::contract::{OfClass, OfProfile};
use super::network::Link;
use super::policies::{Detector, Dropper, Meter, Policies, Policy, Scheduler};
use crate::section::{Name, ParamsOf, section};
use tidegate_core::{meter, scheduler};

section! {
    /// Every output port of a switch; a link may override it. `host` describes the ports of hosts.
    pub(crate) struct Port = "port", "Port" {
        policies: PortPolicies,
        abr: super::abr::PortAbr,
        credit: super::credit::PortCredit,
    }
}

section! {
    /// Every output port of a host; a link may override it.
    pub(crate) struct Host = "host", "Host" {
        order: Order,
        /// Meter: whether flows conform to their contracts; without it, none
        meter: Option<Meter>,
        drops: Drops,
        credit: super::credit::PortCredit,
    }
}

section! {
    /// The policies of a port, in a scenario and in a gate.
    pub(crate) struct PortPolicies {
        order: Order,
        /// Meter: whether flows conform to their contracts; the default ignores flows without
        /// `interval`
        meter: Option<Meter> = meter::DEFAULT.name,
        drops: Drops,
    }
}

section! {
    /// The order in which a port serves flows.
    pub(crate) struct Order {
        /// Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and
        /// `dropper`; without it, as these say
        policy: Option<Policy>,
        /// Scheduler: which flow is served next
        scheduler: Option<Scheduler> = scheduler::DEFAULT.name,
    }
}

section! {
    /// The drops of a port.
    pub(crate) struct Drops {
        /// Dropper: which packets are dropped or marked; without it, none
        dropper: Option<Dropper>,
        watch: Watch,
    }
}

section! {
    /// The detector of a port or a class.
    pub(crate) struct Watch {
        /// Detector of flows that do not respond to the drops of `dropper`; without it, none
        detector: Option<Detector>,
    }
}

section! {
    /// A class of flows. Classes form a tree of schedulers on every switch port, at most nine in each
    /// other under the port's own scheduler. The keys of a contract are the class's
    /// declaration to the scheduler above it.
    pub(crate) struct Class = "class", "Class" {
        /// Unique name of the class
        name: Name,
        /// Class that contains it; without it, the class is directly under the port's scheduler
        parent: Option<Name>,
        /// Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and
        /// `dropper`; without it, `scheduler` is required
        policy: Option<Policy>,
        /// Scheduler of its flows, or of the classes in it; without it, that of `policy`
        scheduler: Option<Scheduler>,
        contract: ParamsOf<OfClass>,
        /// Rate that the class never exceeds at a port; without it, no ceiling
        ceiling: Option<u64> as Rate,
        /// Depth of a token bucket for the ceiling, as HTB's `cburst`: a packet may start while the
        /// bucket is not overdrawn; without it, a packet that found the link busy gives the next one
        /// its delay, up to one packet's time
        ceiling_burst: Option<u64> as Size,
        /// Meter: whether its flows conform to their contracts; without it, that of the port
        meter: Option<Meter>,
        /// Dropper: which of its packets are dropped or marked; without it, that of the port
        dropper: Option<Dropper>,
        watch: Watch,
    }
}

section! {
    /// A contract that several flows share: at meters, the packets of all flows that name the
    /// profile count against it together. Each flow's declaration to schedulers stays its own.
    #[source = "RFC 2475, section 2.3.3.1 (traffic profiles of aggregates)"]
    pub(crate) struct Profile = "profile", "Profile" {
        /// Unique name of the profile
        name: Name,
        contract: ParamsOf<OfProfile>,
    }
}

/// A table that states the terms of stages for ports.
#[derive(Clone, Copy)]
pub(crate) enum PortKeys<'k> {
    /// Those of switches.
    Switch(&'k Port),
    /// Those of hosts.
    Host(&'k Host),
    /// Those of a link.
    Link(&'k Link),
}

impl<'k> Policies<'k> {
    /// Those of a port.
    pub(crate) fn of_port(order: &'k Order, drops: &'k Drops) -> Policies<'k> {
        let Drops { dropper, watch: Watch { detector } } = drops;
        Policies { policy: &order.policy, scheduler: &order.scheduler, dropper, detector }
    }

    /// Those of a class.
    pub(crate) fn of_class(class: &'k Class) -> Policies<'k> {
        let Class { policy, scheduler, dropper, watch: Watch { detector }, .. } = class;
        Policies { policy, scheduler, dropper, detector }
    }
}
