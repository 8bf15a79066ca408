//! The observable state of a switch: queues, counters, clocks, memory.

use super::Switch;
use super::counters::{ByReason, FlowCounters, QueueStats, RunningStats};
use super::metering::MeterUsage;
use super::plan::ClassPlan;
use super::port::Port;
use crate::meter::Metered;
use crate::packet::{FlowIx, Leg, Packet, PortIx};
use crate::scheduler::{Participation, Scheduler};
use crate::shaper::Ceiling;
use crate::stats::{Count, PositiveLengths};
use crate::units::{Span, Time};
use core::iter;

/// A part of a port that may have a ceiling, and in which packets wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A flow.
    Flow,
    /// The class with this number.
    Class(u16),
    /// The port itself.
    Port,
}

impl Switch {
    /// The time from which nothing distinguishes the flow from a newcomer; `None` while it has
    /// packets at the port, and for an unknown leg. If it is after `now`, ask again then: packets
    /// that come in the meantime may postpone it.
    pub fn forgettable_at(&self, now: Time, leg: Leg) -> Option<Time> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        if leg.flow.ix() >= port.table.flows.len() {
            return None;
        }
        port.forgettable_at(now, leg.flow)
    }

    /// Number of classes of a port, including those that were opened beyond its plan.
    pub fn classes(&self, port: PortIx) -> usize {
        self.ports.get(usize::from(port.0)).map_or(0, |port| port.plan.classes.len())
    }

    /// The plan of a class of a port; `None` for a class that does not exist.
    pub fn class_plan(&self, port: PortIx, class: u16) -> Option<&ClassPlan> {
        self.ports.get(usize::from(port.0))?.plan.classes.get(usize::from(class))
    }

    /// Lead of a class's clock at the scheduler above it, as [`lead`](Self::lead).
    pub fn class_lead(&self, now: Time, port: PortIx, class: u16) -> Span {
        let port = self.ports.get(usize::from(port.0));
        port.and_then(|port| port.tree.class_lead(now, class)).unwrap_or(Span::ZERO)
    }

    /// The time from which nothing distinguishes a class from a new one; `None` while packets are
    /// queued there, and for a class that does not exist. If it is after `now`, ask again then.
    pub fn class_forgettable_at(&self, now: Time, port: PortIx, class: u16) -> Option<Time> {
        self.ports.get(usize::from(port.0))?.tree.class_forgettable_at(now, class)
    }

    /// The levels that a flow's packets pass at its port, from its own outwards, each with the time at
    /// which its ceiling is clear: the origin of time for one without. Nothing for an unknown leg.
    pub fn levels(&self, leg: Leg) -> impl Iterator<Item = (Level, Time)> {
        let port = self.ports.get(usize::from(leg.port.0));
        let entry = port.and_then(|port| Some((port, port.table.flows.get(leg.flow.ix())?)));
        entry.into_iter().flat_map(move |(port, entry)| {
            let clear_at = |ceiling: Option<&Ceiling>| ceiling.map_or(Time::ORIGIN, Ceiling::clear_at);
            let own = (Level::Flow, clear_at(port.table.ceiling(leg.flow).as_ref()));
            let nodes = iter::successors(Some(usize::from(entry.node)), |at| port.tree.parent(*at));
            let node = move |at: usize| {
                let level = at.checked_sub(1).map_or(Level::Port, |class| Level::Class(class as u16));
                (level, clear_at(port.tree.nodes[at].ceiling.as_deref()))
            };
            iter::once(own).chain(nodes.map(node))
        })
    }

    /// Lead of a flow's clock at its scheduler over real time: with VirtualClock, how far it has
    /// sent ahead of its reservation. Zero for a scheduler without clocks and for an unknown leg.
    pub fn lead(&self, now: Time, leg: Leg) -> Span {
        let port = self.ports.get(usize::from(leg.port.0));
        let port = port.filter(|port| leg.flow.ix() < port.table.flows.len());
        port.map_or(Span::ZERO, |port| port.lead(now, leg.flow))
    }

    /// Shows the gauges of a flow's scheduler: names and values in base units.
    pub fn gauges(&self, now: Time, leg: Leg, show: &mut dyn FnMut(&'static str, f64)) {
        let port = self.ports.get(usize::from(leg.port.0));
        if let Some(port) = port
            && let Some(entry) = port.table.flows.get(leg.flow.ix())
        {
            port.tree.nodes[usize::from(entry.node)].scheduler.gauges(now, entry.slot, show);
        }
    }

    /// Shows the gauges of the dropper of a port's whole queue: names and values in base units.
    pub fn dropper_gauges(&self, port: PortIx, show: &mut dyn FnMut(&'static str, f64)) {
        if let Some(port) = self.ports.get(usize::from(port.0)) {
            port.droppers.gauges(show);
        }
    }

    /// The packets that wait at a port in its schedulers' queues, flow by flow, each in its order,
    /// and their flows.
    pub fn waiting(&self, port: PortIx) -> impl Iterator<Item = (FlowIx, &Packet)> {
        let port = self.ports.get(usize::from(port.0));
        port.into_iter().flat_map(|port| {
            let queued =
                |flow: &super::flows::FlowEntry| port.tree.nodes[usize::from(flow.node)].queues.of(flow.slot);
            let flows = port.table.flows.iter().enumerate();
            flows.flat_map(move |(ix, flow)| {
                queued(flow).map(move |waiting| (FlowIx(ix as u32), &waiting.packet))
            })
        })
    }

    /// Returns true if no packet is in service at the port.
    #[inline]
    pub fn is_idle(&self, port: PortIx) -> bool {
        self.ports.get(usize::from(port.0)).is_some_and(|port| !port.busy)
    }

    /// Returns true if a port has nothing to send, now or later: no queue, and nothing in shapers
    /// or held by ceilings.
    #[inline(always)]
    pub fn is_empty(&self, port: PortIx) -> bool {
        self.ports.get(usize::from(port.0)).is_none_or(Port::is_empty)
    }

    /// The port's queue, the packet in service included.
    pub fn backlog(&self, port: PortIx) -> Count {
        self.ports.get(usize::from(port.0)).map(|port| port.backlog).unwrap_or_default()
    }

    /// The packets and bytes that wait in a flow's shaper; nothing for an unknown leg.
    pub fn shaped(&self, leg: Leg) -> Count {
        let port = self.ports.get(usize::from(leg.port.0));
        port.map(|port| port.shaping.backlog(leg.flow)).unwrap_or_default()
    }

    /// A flow's participation, as set by the driver; `None` for an unknown leg.
    pub fn participation(&self, leg: Leg) -> Option<Participation> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        port.table.flows.get(leg.flow.ix()).map(|entry| entry.participation)
    }

    /// One of the packets of a leg that are at its port: in service, queued, or in its shaper.
    pub fn packet_of(&self, leg: Leg) -> Option<&Packet> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        let entry = port.table.flows.get(leg.flow.ix())?;
        let serving = port.in_service().filter(|packet| packet.flow == leg.flow);
        let queued = || port.tree.nodes[usize::from(entry.node)].queues.of(entry.slot).next();
        serving.or_else(|| queued().map(|first| &first.packet)).or_else(|| port.shaping.first(leg.flow))
    }

    /// The packets that wait in the shapers of a port, flow by flow, each in its order.
    pub fn in_shapers(&self, port: PortIx) -> impl Iterator<Item = &Packet> {
        let port = self.ports.get(usize::from(port.0));
        port.into_iter().flat_map(|port| port.shaping.packets())
    }

    /// The memory in use over all ports; a multicast body counts once.
    pub fn pool(&self) -> Count {
        self.pool.used
    }

    /// The packets and bytes that a flow has sent and lost at a port; zeros for an unknown leg.
    pub fn counters(&self, leg: Leg) -> FlowCounters {
        let port = self.ports.get(usize::from(leg.port.0));
        port.map(|port| port.counters(leg.flow)).unwrap_or_default()
    }

    /// The class that a flow is a member of; `None` for a member of the root, and for an unknown leg.
    pub fn class_of(&self, leg: Leg) -> Option<u16> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        // Node 0 is the root, and class n is node n + 1.
        port.table.flows.get(leg.flow.ix())?.node.checked_sub(1)
    }

    /// Starts counting the green packets that reach a port's queue.
    pub fn count_green(&mut self, port: PortIx) {
        if let Some(port) = self.ports.get_mut(usize::from(port.0)) {
            port.green.get_or_insert_default();
            port.update_fast_path();
        }
    }

    /// Green packets that have passed a port's meters since counting began, including those dropped
    /// behind them; `None` where they are not counted.
    pub fn green(&self, port: PortIx) -> Option<Count> {
        self.ports.get(usize::from(port.0))?.green.as_deref().copied()
    }

    /// The packets and bytes that a port has sent, counted at the last bit.
    pub fn sent(&self, port: PortIx) -> Count {
        self.ports.get(usize::from(port.0)).map(|port| port.sent).unwrap_or_default()
    }

    /// The counts of the flow's profile at the first meter that counts; `None` for a flow that is
    /// not metered.
    pub fn metered(&self, leg: Leg) -> Option<Metered> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        let entry = port.table.flows.get(leg.flow.ix())?;
        port.metering.metered(usize::from(entry.node), leg.flow)
    }

    /// The usage of the flow's profiles at each meter that its packets pass and that reports it, in
    /// their order; nothing for an unknown leg.
    pub fn usage(&self, leg: Leg) -> impl Iterator<Item = MeterUsage> {
        let port = self.ports.get(usize::from(leg.port.0));
        let entry = port.and_then(|port| Some((port, port.table.flows.get(leg.flow.ix())?)));
        entry
            .into_iter()
            .flat_map(move |(port, entry)| port.metering.usage(usize::from(entry.node), leg.flow))
    }

    /// The drops of a port, by reason.
    pub fn drops(&self, port: PortIx) -> ByReason {
        self.ports.get(usize::from(port.0)).map(|port| port.losses().drops).unwrap_or_default()
    }

    /// The marks of a port, by reason.
    pub fn marks(&self, port: PortIx) -> ByReason {
        self.ports.get(usize::from(port.0)).map(|port| port.losses().marks).unwrap_or_default()
    }

    /// A port's queue over time, until `now`.
    pub fn queue_stats(&self, now: Time, port: PortIx) -> Option<QueueStats> {
        self.ports.get(usize::from(port.0)).map(|port| {
            let in_service = port.in_service().is_some();
            port.stats.closed(now, port.backlog.packets, in_service, port.seen.clone())
        })
    }

    /// Time during which a port has had a packet in service, from the start of its statistics until
    /// `now`.
    pub fn busy(&self, now: Time, port: PortIx) -> Span {
        let port = self.ports.get(usize::from(port.0));
        port.map_or(Span::ZERO, |port| port.stats.busy_until(now, port.busy))
    }

    /// Restarts a port's queue statistics (after a warm-up). Counters continue.
    pub fn reset_stats(&mut self, now: Time, port: PortIx) {
        if let Some(port) = self.ports.get_mut(usize::from(port.0)) {
            port.stats = RunningStats::new(now, port.backlog.packets, port.in_service().is_some());
            port.seen = PositiveLengths::default();
        }
    }

    /// Bytes of memory held for flows and packets.
    pub fn memory(&self) -> usize {
        let of = |port: &Port| {
            port.tree.memory()
                + port.table.memory()
                + port.shaping.memory()
                + port.seen.memory()
                + port.metering.memory()
                + size_of::<Port>()
        };
        self.ports.iter().map(of).sum()
    }
}
