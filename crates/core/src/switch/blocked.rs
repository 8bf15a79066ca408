//! The causes that hold a flow's packets back at a port, besides other packets. For the diagnosis
//! of delays.

use super::Switch;
use super::port::Port;
use super::tree::ROOT;
use crate::packet::{Leg, PortIx};
use crate::queues::Participation;
use crate::scheduler::{Hold, Scheduler};
use crate::units::Time;

/// A cause, besides other packets, that holds packets back at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    /// The driver has set the flow absent: it has no credit.
    NoPart,
    /// The ceiling of the flow.
    FlowCeiling,
    /// The ceiling of its class, or of a class above it.
    ClassCeiling,
    /// The ceiling of the port.
    PortCeiling,
    /// The scheduler's own time.
    Scheduler(Hold),
}

impl Switch {
    /// Returns the cause that would hold a flow's first packet back now on an idle link, and until
    /// when; with several, the one that lasts longest. The port's ceiling is not considered. `None`
    /// without a cause, and for an unknown leg.
    pub fn blocked(&self, now: Time, leg: Leg) -> Option<(Block, Time)> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        let blocks = [port.flow_block(leg), port.ceiling_of_flow(leg), port.tree_block(now, leg)];
        blocks.into_iter().flatten().filter(|(_, until)| *until > now).max_by_key(|(_, until)| *until)
    }

    /// Returns until when the ceiling of a port keeps it from starting a packet; `None` when it
    /// does not.
    pub fn at_ceiling_until(&self, now: Time, port: PortIx) -> Option<Time> {
        let root = &self.ports.get(usize::from(port.0))?.tree.nodes[ROOT];
        root.ceiling.as_ref().map(|ceiling| ceiling.clear_at()).filter(|until| *until > now)
    }
}

impl Port {
    fn flow_block(&self, leg: Leg) -> Option<(Block, Time)> {
        let entry = self.table.flows.get(leg.flow.ix())?;
        (entry.participation != Participation::Active).then_some((Block::NoPart, Time::NEVER))
    }

    fn ceiling_of_flow(&self, leg: Leg) -> Option<(Block, Time)> {
        self.table.flows.get(leg.flow.ix())?;
        self.table.ceiling(leg.flow).map(|ceiling| (Block::FlowCeiling, ceiling.clear_at()))
    }

    /// Considers the ceilings and the schedulers of the flow's class and its ancestors.
    fn tree_block(&self, now: Time, leg: Leg) -> Option<(Block, Time)> {
        let entry = self.table.flows.get(leg.flow.ix())?;
        let (mut at, mut slot) = (usize::from(entry.node), entry.slot);
        let mut longest: Option<(Block, Time)> = None;
        let mut see = |block: Option<(Block, Time)>| {
            if block.map(|(_, until)| until) > longest.map(|(_, until)| until) {
                longest = block;
            }
        };
        loop {
            let node = &self.tree.nodes[at];
            see(node.scheduler.holds(now, slot, &node.queues).map(|(hold, at)| (Block::Scheduler(hold), at)));
            let Some((parent, above)) = node.parent else { break };
            see(node.ceiling.as_ref().map(|ceiling| (Block::ClassCeiling, ceiling.clear_at())));
            (at, slot) = (parent, above);
        }
        longest
    }
}
