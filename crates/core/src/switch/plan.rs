//! What a switch should be: data, so that it can be compared, checked and applied.

use crate::contract::{Contract, Refused};
use crate::dropper::DropperKind;
use crate::meter::MeterKind;
use crate::params::Limit;
use crate::scheduler::SchedulerKind;
use crate::shaper::ShaperPlan;
use crate::units::Rate;

/// A tree of schedulers is at most so deep: the root, classes, classes within classes.
pub const DEEPEST_TREE: usize = 3;

/// A port has at most so many classes.
pub const MOST_CLASSES: usize = u16::MAX as usize - 1;

/// A switch has at most so many ports.
pub const MOST_PORTS: usize = u16::MAX as usize;

/// A class of a port: a scheduler among its members, and one member of its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassPlan {
    /// The class that it is a member of, by its index in the plan; `None` for the root.
    pub parent: Option<u16>,
    /// Orders its members.
    pub scheduler: SchedulerKind,
    /// What it is promised by its parent's scheduler.
    pub contract: Contract,
    /// It never sends faster than this.
    pub ceiling: Option<Rate>,
}

/// An output port: `shapers → meter → dropper → tree of schedulers`, under a ceiling.
#[derive(Clone, Debug, PartialEq)]
pub struct PortPlan {
    /// The root of the tree.
    pub scheduler: SchedulerKind,
    /// The classes, parents before their children.
    pub classes: Vec<ClassPlan>,
    /// What sees whether flows keep their contracts; `None` for nothing.
    pub meter: Option<MeterKind>,
    /// What guards the queue; `None` leaves it to the pool.
    pub dropper: Option<DropperKind>,
    /// The port never sends faster than this.
    pub ceiling: Option<Rate>,
}

impl PortPlan {
    /// A port with one scheduler and nothing else.
    pub fn new(scheduler: SchedulerKind) -> PortPlan {
        PortPlan { scheduler, classes: Vec::new(), meter: None, dropper: None, ceiling: None }
    }
}

/// A whole switch.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SwitchPlan {
    /// Its output ports.
    pub ports: Vec<PortPlan>,
    /// The memory that all ports share; `None` is without limit.
    pub buffer: Option<Limit>,
}

/// A flow at one port.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FlowPlan {
    /// The class that it is a member of; `None` for the root.
    pub class: Option<u16>,
    /// What it is promised.
    pub contract: Contract,
    /// It never leaves the port faster than this.
    pub ceiling: Option<Rate>,
    /// What delays its packets before they reach the dropper.
    pub shaper: Option<ShaperPlan>,
}

/// What a reconfiguration changed, in the order of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The shared buffer's limit.
    Buffer,
    /// A new port.
    PortAdded(u16),
    /// A port's ceiling.
    Ceiling(u16),
    /// A port's meter: it starts afresh.
    Meter(u16),
    /// A port's dropper: it starts afresh.
    Dropper(u16),
    /// A class's contract or ceiling, at a port.
    Class(u16, u16),
    /// A port's tree was built anew; what was queued was stamped again in its order of arrival.
    Tree(u16),
    /// A flow's plan, by its index at a port.
    Flow(u16, u32),
}

/// What a reconfiguration changed; empty when the plan was in force already.
pub type Diff = Vec<Change>;

impl PortPlan {
    pub(super) fn check(&self, port: usize) -> Result<(), Refused> {
        let mut depth = Vec::with_capacity(self.classes.len());
        for (ix, class) in self.classes.iter().enumerate() {
            let above = match class.parent {
                None => 1,
                Some(parent) => *depth.get(usize::from(parent)).ok_or_else(|| {
                    Refused(format!("port {port}: class {ix} stands before its parent {parent}"))
                })?,
            };
            if above + 1 > DEEPEST_TREE {
                return Err(Refused(format!(
                    "port {port}: class {ix} is deeper than {DEEPEST_TREE} schedulers"
                )));
            }
            depth.push(above + 1);
        }
        if self.classes.len() > MOST_CLASSES {
            return Err(Refused(format!("port {port}: more than {MOST_CLASSES} classes")));
        }
        Ok(())
    }

    /// Whether the other plan has the same tree of schedulers.
    pub(super) fn same_tree(&self, other: &PortPlan) -> bool {
        let shape = |class: &ClassPlan| (class.parent, class.scheduler.clone());
        self.scheduler == other.scheduler
            && self.classes.iter().map(shape).eq(other.classes.iter().map(shape))
    }
}
