//! The configuration of a switch, as data, so that it can be compared, checked and applied.

use crate::contract::{Contract, Refused};
use crate::detector::DetectorKind;
use crate::dropper::DropperKind;
use crate::link::Framing;
use crate::meter::MeterKind;
use crate::params::{Limit, words};
use crate::scheduler::SchedulerKind;
use crate::shaper::ShaperPlan;
use crate::stats::Count;
use crate::units::Rate;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

pub use super::shared::Shared;
pub use crate::params::Scope;

/// Greatest depth of a tree of schedulers: the root, nine classes in each other, the classes in
/// those that flows opened by packets share, and the classes of single hosts or circuits.
pub const DEEPEST_TREE: usize = 12;

/// Greatest number of meters that a packet passes at one port.
pub const MAX_METERS: usize = 4;

/// Greatest number of classes of a port.
pub const MAX_CLASSES: usize = u16::MAX as usize - 1;

/// Greatest number of ports of a switch.
pub const MAX_PORTS: usize = u16::MAX as usize;

/// Plan of a dropper at a port or a class.
#[derive(Clone, Debug, PartialEq)]
pub struct DropperPlan {
    /// The kind of dropper.
    pub kind: DropperKind,
    /// The queues that it guards.
    pub scope: Scope,
    /// Names flows by their drops here; `None` without a detector.
    pub detector: Option<DetectorKind>,
}

impl From<DropperKind> for DropperPlan {
    /// Creates a dropper of the whole queue.
    fn from(kind: DropperKind) -> DropperPlan {
        DropperPlan { kind, scope: Scope::Node, detector: None }
    }
}

/// A class of a port: a scheduler among its members, and one member of its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassPlan {
    /// The class that it is a member of, by its index in the plan; `None` for the root.
    pub parent: Option<u16>,
    /// Orders its members.
    pub scheduler: SchedulerKind,
    /// Its contract with its parent's scheduler.
    pub contract: Contract,
    /// Greatest rate at which it sends.
    pub ceiling: Option<Rate>,
    /// Depth in bytes of the bucket of its ceiling; `None` for none.
    pub ceiling_burst: Option<u32>,
    /// The meters of its flows' profiles, in the order in which a packet passes them.
    pub meters: Vec<MeterKind>,
    /// The dropper that guards its queue; `None` for none of its own.
    pub dropper: Option<DropperPlan>,
    /// Backlog of the whole class that push-out spares, as [`FlowPlan::spared`].
    pub spared: Option<Limit>,
}

impl ClassPlan {
    /// Creates a class below the root with a scheduler and nothing else.
    pub fn new(scheduler: SchedulerKind) -> ClassPlan {
        ClassPlan {
            parent: None,
            scheduler,
            contract: Contract::default(),
            ceiling: None,
            ceiling_burst: None,
            meters: Vec::new(),
            dropper: None,
            spared: None,
        }
    }

    /// Returns true if the other class has the same place and the same schedulers and meters.
    pub(super) fn same_shape(&self, other: &ClassPlan) -> bool {
        (self.parent, &self.scheduler, &self.meters) == (other.parent, &other.scheduler, &other.meters)
    }
}

/// An output port: `shapers → meters → droppers → tree of schedulers`, under a ceiling. A packet
/// passes the meters and the droppers of its class first, then those of the classes above it, and
/// the port's last.
#[derive(Clone, Debug, PartialEq)]
pub struct PortPlan {
    /// The root of the tree.
    pub scheduler: SchedulerKind,
    /// The classes, parents before their children.
    pub classes: Vec<ClassPlan>,
    /// The meters of flows' profiles, in the order in which a packet passes them.
    pub meters: Vec<MeterKind>,
    /// The terms of the profiles that several flows share, by index.
    pub profiles: Vec<Contract>,
    /// The dropper that guards the queue; `None` leaves it to the pool.
    pub dropper: Option<DropperPlan>,
    /// Greatest rate at which the port sends.
    pub ceiling: Option<Rate>,
    /// The rate of its link; `None` when it is unknown.
    pub rate: Option<Rate>,
}

impl PortPlan {
    /// Creates a port with one scheduler and nothing else.
    pub fn new(scheduler: SchedulerKind) -> PortPlan {
        PortPlan {
            scheduler,
            classes: Vec::new(),
            meters: Vec::new(),
            profiles: Vec::new(),
            dropper: None,
            ceiling: None,
            rate: None,
        }
    }
}

words! {
    /// The rule that chooses the packet to drop when the memory is exhausted.
    #[derive(Default)]
    pub enum PushOut {
        /// The port that holds most beyond its share loses: a packet that may not be sent now when
        /// those are more than a third of the rest, otherwise the packet that would be sent last.
        #[default]
        Shares = "shares",
        /// The longest queue loses the packet that would be sent last (Zhang 1991, section 3.1).
        LongestQueue = "longest-queue",
    }
}

/// The division of a switch's memory among its ports (Kamoun and Kleinrock, IEEE Transactions on
/// Communications 28(7), 1980).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Complete sharing: the limit applies to all ports together.
    #[default]
    Complete,
    /// Complete partitioning: the limit applies to each port, and the packets of one port take no
    /// memory from another. A multicast packet counts at each of its ports.
    Partitioned,
}

/// A whole switch.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SwitchPlan {
    /// Its output ports.
    pub ports: Vec<PortPlan>,
    /// The limit of the memory, of all ports or of each, depending on `sharing`; `None` is without
    /// limit.
    pub buffer: Option<Limit>,
    /// Sharing of the memory between the ports.
    pub sharing: Sharing,
    /// The rule that chooses the packet to drop when it is exhausted.
    pub push_out: PushOut,
}

/// Sizes of a flow's packets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSizes {
    /// The smallest, at least 1.
    pub smallest: u32,
    /// The largest.
    pub largest: u32,
}

impl PacketSizes {
    /// Returns the range of these sizes; `None` without sizes, or if one is 0.
    pub fn of(sizes: impl IntoIterator<Item = u32>) -> Option<PacketSizes> {
        let one = |size| PacketSizes { smallest: size, largest: size };
        let both = |range: PacketSizes, other: PacketSizes| PacketSizes {
            smallest: range.smallest.min(other.smallest),
            largest: range.largest.max(other.largest),
        };
        sizes.into_iter().map(one).reduce(both).filter(|sizes| sizes.smallest > 0)
    }

    /// Returns the sizes that a link with this framing charges.
    pub fn charged(self, framing: Framing) -> PacketSizes {
        PacketSizes { smallest: framing.charge(self.smallest), largest: framing.charge(self.largest) }
    }
}

/// A flow at one port.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FlowPlan {
    /// The class that it is a member of; `None` for the root.
    pub class: Option<u16>,
    /// Its contract.
    pub contract: Contract,
    /// The sizes of its packets; `None` where they are not known.
    pub sizes: Option<PacketSizes>,
    /// Greatest rate at which it leaves the port.
    pub ceiling: Option<Rate>,
    /// The shaper that delays its packets before they reach the meters.
    pub shaper: Option<ShaperPlan>,
    /// The shared profile that it belongs to at each meter that its packets pass, in their order;
    /// `None` for a profile of its own.
    pub profiles: [Option<u16>; MAX_METERS],
    /// True if a packet opens it and it is closed once it is idle. Its contract then gives no share
    /// of the pool, because that would depend on when it is found idle.
    pub transient: bool,
    /// Backlog that push-out spares: it takes none of the flow's packets up to this limit while
    /// another flow can give one. `None` for a flow whose packets go in the scheduler's order.
    pub spared: Option<Limit>,
}

impl FlowPlan {
    /// Memory of a shared pool that is set aside for the flow: its bucket, filled with its smallest
    /// packets where packets are counted, and two of its largest packets. One of these stands for
    /// its packet in service, the other for arrivals during the service of another flow's packet.
    /// `None` for a flow that reserves nothing, states no bucket, or has packets of unknown sizes.
    pub fn set_aside(&self) -> Option<Count> {
        let sizes = self.sizes?;
        let bucket = u64::from(self.contract.reserve.and_then(|_| self.contract.committed_burst())?);
        let packets = bucket / u64::from(sizes.smallest.max(1)) + 2;
        Some(Count { packets, bytes: bucket + 2 * u64::from(sizes.largest) })
    }
}

/// A change by a reconfiguration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// The buffer's limit, its sharing, or the choice of the packet to drop when it is exhausted.
    Buffer,
    /// A new port.
    PortAdded(u16),
    /// A port's ceiling.
    Ceiling(u16),
    /// The rate of a port's link.
    Rate(u16),
    /// A port's meters, or the profiles that flows share there: the meters start afresh.
    Meters(u16),
    /// A port's dropper: it starts afresh.
    Dropper(u16),
    /// A class's contract, ceiling, meters or dropper, at a port.
    Class(u16, u16),
    /// A port's tree was rebuilt; queued packets were stamped again in their order of arrival.
    Tree(u16),
    /// A flow's plan, by its index at a port.
    Flow(u16, u32),
}

/// The changes of a reconfiguration, in the order of the plan; empty when the plan was in force
/// already.
pub type Diff = Vec<PlanChange>;

impl PortPlan {
    pub(super) fn check(&self, port: usize) -> Result<(), Refused> {
        (0..self.classes.len()).try_for_each(|class| self.check_class(port, class))?;
        if self.meters.len() > MAX_METERS {
            return Err(Refused(format!("port {port}: more than {MAX_METERS} meters in a row")));
        }
        Ok(())
    }

    /// Checks that a class has a place in the tree; those before it have been checked.
    pub(super) fn check_class(&self, port: usize, ix: usize) -> Result<(), Refused> {
        let class = &self.classes[ix];
        if let Some(parent) = class.parent.filter(|parent| usize::from(*parent) >= ix) {
            return Err(Refused(format!("port {port}: class {ix} stands before its parent {parent}")));
        }
        if self.above(class).count() + 1 > DEEPEST_TREE {
            return Err(Refused(format!("port {port}: class {ix} is deeper than {DEEPEST_TREE} schedulers")));
        }
        let slotted = |kind: &SchedulerKind| kind.record().is_slotted();
        if slotted(&class.scheduler) && self.above(class).any(slotted) {
            return Err(Refused(format!(
                "port {port}: class {ix} has slots within the slots of a scheduler above it"
            )));
        }
        if self.meters_of(class) > MAX_METERS {
            return Err(Refused(format!("port {port}: more than {MAX_METERS} meters in a row")));
        }
        if ix >= MAX_CLASSES {
            return Err(Refused(format!("port {port}: more than {MAX_CLASSES} classes")));
        }
        Ok(())
    }

    /// The schedulers above a class's own, the port's last.
    fn above(&self, class: &ClassPlan) -> impl Iterator<Item = &SchedulerKind> {
        let parent = |class: &ClassPlan| class.parent.map(|parent| &self.classes[usize::from(parent)]);
        let classes = core::iter::successors(parent(class), move |class| parent(class));
        classes.map(|class| &class.scheduler).chain([&self.scheduler])
    }

    /// Number of meters that a packet of a class passes.
    fn meters_of(&self, class: &ClassPlan) -> usize {
        let above = class.parent.map(|parent| &self.classes[usize::from(parent)]);
        class.meters.len() + above.map_or(self.meters.len(), |above| self.meters_of(above))
    }

    /// Lists the nodes of the tree, the root first: parent, meters and dropper of each.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (Option<usize>, &[MeterKind], Option<&DropperPlan>)> {
        let root = (None, self.meters.as_slice(), self.dropper.as_ref());
        let classes = self.classes.iter().map(|class| {
            let parent = class.parent.map_or(0, |parent| usize::from(parent) + 1);
            (Some(parent), class.meters.as_slice(), class.dropper.as_ref())
        });
        core::iter::once(root).chain(classes)
    }

    /// Checks that the class and the profiles that a flow's plan names exist.
    pub(super) fn check_flow(&self, flow: &FlowPlan) -> Result<(), Refused> {
        match flow.profiles.iter().flatten().find(|profile| usize::from(**profile) >= self.profiles.len()) {
            Some(profile) => Err(Refused(format!("the port has no profile {profile}"))),
            None => Ok(()),
        }
    }

    /// The rate of the server of a class, or of the port's for none.
    pub(super) fn rate_of(&self, class: Option<u16>) -> Option<Rate> {
        let mut rates = vec![self.rate, self.ceiling];
        let mut at = class;
        while let Some(class) = at.and_then(|class| self.classes.get(usize::from(class))) {
            rates.push(class.ceiling);
            at = class.parent;
        }
        rates.into_iter().flatten().min()
    }

    /// Returns true if the other plan has the same tree of schedulers.
    pub(super) fn same_tree(&self, other: &PortPlan) -> bool {
        let shape = |class: &ClassPlan| (class.parent, class.scheduler.clone());
        self.scheduler == other.scheduler
            && self.classes.iter().map(shape).eq(other.classes.iter().map(shape))
    }
}
