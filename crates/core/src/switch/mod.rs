//! The switch: what happens to a packet here.
//!
//! The switch owns the packets, the shared pool, the flow tables and the counters of all its
//! ports; schedulers only order flows. A driver reports events on the links
//! ([`arrive`](Switch::arrive), [`start`](Switch::start), [`finish`](Switch::finish),
//! [`timer`](Switch::timer)) and acts on the [`Effect`]s that come back.
//!
//! When the pool is exhausted, `push_out` chooses the packet to drop. The arriving packet is
//! stamped and inserted first, at all its ports, so it may itself be chosen.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::switch::{Switch, plan::*};
//! use tidegate_core::{context::Ctx, contract::Refused, packet::*, rng::Rng, scheduler::SchedulerKind, units::Time};
//!
//! let ports = vec![PortPlan::new(SchedulerKind::named("fifo").unwrap())];
//! let mut switch = Switch::new(Time::ORIGIN, &SwitchPlan { ports, ..Default::default() })?;
//! let leg = switch.open(Time::ORIGIN, PortIx(0), &FlowPlan::default())?;
//! let mut cx = Ctx { now: Time::ORIGIN, rng: &mut Rng::named(1, "switch"), out: &mut Vec::new() };
//! let _ = switch.arrive(&mut cx, &[leg], Packet::new(BodyId(1), 1500));
//! assert_eq!(switch.start(&mut cx, PortIx(0)).unwrap().body, BodyId(1));
//! // When its last bit is out:
//! let (packet, _) = switch.finish(&mut cx, PortIx(0)).unwrap();
//! assert_eq!((packet.len, switch.counters(leg).sent.packets), (1500, 1));
//! # Ok::<(), Refused>(())
//! ```

mod audit;
mod blocked;
mod counters;
mod dropper_chain;
mod flows;
mod metering;
mod node_dropper;
mod observe;
pub mod plan;
mod pool;
mod port;
mod push_out;
mod ready;
mod rebuild;
mod reconfigure;
mod shaping;
mod shared;
mod tree;

use alloc::format;
use alloc::vec::Vec;
pub use blocked::Block;
pub use counters::{ByReason, FlowCounters, QueueStats};
pub use metering::MeterUsage;
pub use observe::Level;
pub use ready::{Ready, StartOutcome};

use crate::context::{Body, Ctx, Effect, Reason};
use crate::contract::Refused;
use crate::packet::{Leg, Packet, PortIx};
use crate::queues::Participation;
use crate::stats::wrapping_count;
use crate::units::{Span, Time};
use plan::{ClassPlan, FlowPlan, PortPlan, Shared, SwitchPlan};
use pool::Pool;
use port::Port;

/// A packet in service whose last bit is out.
#[must_use = "it is in service until it has left"]
pub struct Departing<'a> {
    port: &'a mut Port,
    pool: &'a mut Pool,
}

impl<'a> Departing<'a> {
    /// The packet.
    #[inline(always)]
    pub fn packet(&self) -> Packet {
        self.port.serving
    }

    /// Ends its service; returns the packet, and whether its body is still held for another port.
    #[inline(always)]
    pub fn finish(self, cx: &mut Ctx<'_>) -> (Packet, Body) {
        self.port.end_service(cx, self.pool);
        (self.port.serving, self.pool.release(&self.port.serving))
    }

    /// [`finish`](Self::finish) and [`Switch::start`] in one. Returns whether the packet's body is still
    /// held, and the packet whose first bit leaves now.
    #[inline(always)]
    pub fn leave(self, cx: &mut Ctx<'_>) -> (Body, Option<&'a Packet>) {
        self.port.end_service(cx, self.pool);
        let body = self.pool.release(&self.port.serving);
        let started = self.port.start_idle(cx, self.pool);
        (body, started.then_some(&self.port.serving))
    }
}

/// A switch: output ports, with one pool of memory for all or one for each.
#[repr(C)]
pub struct Switch {
    ports: Vec<Port>,
    /// Counter that numbers the arrivals at all ports.
    orders: u64,
    pool: Pool,
}

impl Switch {
    /// Creates a switch from a plan, without flows.
    ///
    /// # Errors
    /// When the plan names a class before its parent or nests more than
    /// [`plan::DEEPEST_TREE`] schedulers.
    pub fn new(now: Time, plan: &SwitchPlan) -> Result<Switch, Refused> {
        let ports: Vec<_> = plan.ports.iter().cloned().map(Shared::from).collect();
        Switch::with_ports(now, plan, &ports)
    }

    /// Like [`new`](Self::new), with these ports in place of those of the plan: their plans may be
    /// shared with other owners.
    ///
    /// # Errors
    /// As those of `new`.
    pub fn with_ports(now: Time, plan: &SwitchPlan, ports: &[Shared<PortPlan>]) -> Result<Switch, Refused> {
        let mut made = Vec::with_capacity(ports.len());
        for (ix, port) in ports.iter().enumerate() {
            port.check(ix)?;
            made.push(Port::new(now, PortIx(ix as u16), port)?);
        }
        Ok(Switch { ports: made, pool: Pool::new(plan), orders: 0 })
    }

    /// Reserves memory for this number of further flows of a port, at its root. A port that is told
    /// takes no more than it needs.
    pub fn reserve(&mut self, port: PortIx, flows: usize) {
        if let Some(port) = self.ports.get_mut(usize::from(port.0)) {
            port.reserve(flows);
        }
    }

    /// Opens a flow at a port. Returns the leg to which its packets are sent.
    ///
    /// # Errors
    /// When the port or the class does not exist, or the scheduler refuses the contract.
    pub fn open(&mut self, now: Time, port: PortIx, plan: &FlowPlan) -> Result<Leg, Refused> {
        let port = self
            .ports
            .get_mut(usize::from(port.0))
            .ok_or_else(|| Refused(format!("the switch has no port {}", port.0)))?;
        let flow = port.open(now, plan)?;
        Ok(port.leg(flow))
    }

    /// Adds a class to a port, behind those that it has, and returns its index. It stays after a
    /// later plan if the plan names it.
    ///
    /// # Errors
    /// When the port does not exist, the class has no place in its tree, or a policy refuses it;
    /// nothing is changed.
    pub fn open_class(&mut self, now: Time, port: PortIx, plan: &ClassPlan) -> Result<u16, Refused> {
        let no_port = || Refused(format!("the switch has no port {}", port.0));
        self.ports.get_mut(usize::from(port.0)).ok_or_else(no_port)?.open_class(now, plan)
    }

    /// Gives a class that was opened beyond the plan, and in which no flow is open, another plan
    /// with the same parent, scheduler and meters.
    ///
    /// # Errors
    /// When there is no such class, or the scheduler above or a dropper refuses the plan; nothing
    /// is changed.
    pub fn change_class(
        &mut self,
        now: Time,
        port: PortIx,
        class: u16,
        plan: &ClassPlan,
    ) -> Result<(), Refused> {
        let no_port = || Refused(format!("the switch has no port {}", port.0));
        self.ports.get_mut(usize::from(port.0)).ok_or_else(no_port)?.change_class(now, class, plan)
    }

    /// Changes a flow's contract, its ceiling and its shaper; its queue stays as it is.
    ///
    /// # Errors
    /// When the flow is not open, belongs to another class, or its scheduler refuses the contract;
    /// nothing is changed.
    pub fn change(&mut self, now: Time, leg: Leg, plan: &FlowPlan) -> Result<Ready, Refused> {
        let no_flow = || Refused(format!("port {} has no flow {}", leg.port.0, leg.flow.0));
        let port = self.ports.get_mut(usize::from(leg.port.0)).ok_or_else(no_flow)?;
        if !port.is_open(leg.flow) {
            return Err(no_flow());
        }
        if port.table.plan_of(leg.flow).class != plan.class {
            return Err(Refused("a flow changes its class when the switch is reconfigured".into()));
        }
        port.change(now, leg.flow, plan)?;
        Ok(port.ready())
    }

    /// Charges a flow's shaper with `len` bytes that its sender sends beside it, on another flow:
    /// the packets that wait there wait for them, too. Does nothing without a shaper.
    pub fn charge_shaper(&mut self, now: Time, leg: Leg, len: u32) {
        if let Some(port) = self.ports.get_mut(usize::from(leg.port.0)) {
            port.shaping.charge(now, leg.flow, len);
        }
    }

    /// Sets whether ports report each packet that a shaper releases
    /// ([`Effect::Released`](crate::context::Effect)). Initially they do not.
    pub fn report_released(&mut self, reports: bool) {
        self.ports.iter_mut().for_each(|port| port.reports_released = reports);
    }

    /// The plan of an open flow at a port; `None` for a leg that is not open.
    pub fn plan_of(&self, leg: Leg) -> Option<FlowPlan> {
        let port = self.ports.get(usize::from(leg.port.0))?;
        port.is_open(leg.flow).then(|| port.plan_of(leg.flow))
    }

    /// Closes a flow: later packets are dropped, queued ones are still sent. The index is given to
    /// another flow once nothing distinguishes this one from a newcomer. Does nothing for a leg
    /// that is not open.
    pub fn close(&mut self, now: Time, leg: Leg) -> Ready {
        let Some(port) = self.ports.get_mut(usize::from(leg.port.0)) else { return Ready::NO };
        if leg.flow.ix() >= port.table.flows.len() {
            return Ready::NO;
        }
        port.close(now, leg.flow);
        port.ready()
    }

    /// Sets a flow's participation (credit, back pressure). Does nothing for an unknown leg.
    pub fn take_part(&mut self, now: Time, leg: Leg, how: Participation) -> Ready {
        let Some(port) = self.ports.get_mut(usize::from(leg.port.0)) else { return Ready::NO };
        if leg.flow.ix() >= port.table.flows.len() {
            return Ready::NO;
        }
        port.take_part(now, leg.flow, how);
        port.ready()
    }

    /// Returns true if a meter of the port averages over windows that follow round-trip times.
    /// Flows whose transports measure them should then [report them](Self::set_round_trip).
    pub fn follows_round_trips(&self, port: PortIx) -> bool {
        self.ports.get(usize::from(port.0)).is_some_and(|port| port.metering.follows_round_trips())
    }

    /// Reports a smoothed round-trip time that the flow's transport has measured. The averaging
    /// windows of the flow's profiles at the port's meters follow it, where planned so (Clark and
    /// Fang 1998, section IV.D). For a profile that several flows share, the latest report counts.
    /// Does nothing for an unknown leg.
    pub fn set_round_trip(&mut self, leg: Leg, round_trip: Span) {
        let port = self.ports.get_mut(usize::from(leg.port.0));
        if let Some(port) = port.filter(|port| leg.flow.ix() < port.table.flows.len()) {
            let node = usize::from(port.table.flows[leg.flow.ix()].node);
            port.metering.set_round_trip(node, leg.flow, round_trip);
        }
    }

    /// Receives a packet, whose last bit is in, for one port or (multicast) several; the body is
    /// stored once. Returns the readiness of the ports.
    pub fn arrive(&mut self, cx: &mut Ctx<'_>, to: &[Leg], mut packet: Packet) -> Ready {
        if let [leg] = to {
            return self.arrive_for(cx, *leg, &mut packet);
        }
        packet.shared = u8::from(to.len() > 1);
        packet.arrived = cx.now;
        self.pool.store(&packet, to.len());
        // Each port has its own copy to write on.
        let arrive =
            |ready: bool, leg: &Leg| self.arrive_at(cx, *leg, &mut { packet }, || false).ready().0 | ready;
        let ready = Ready(to.iter().fold(false, arrive));
        if to.is_empty() {
            self.pool.release(&packet);
        }
        if self.pool.exhausted() {
            self.make_room(cx, to);
        }
        ready
    }

    /// Like [`arrive`](Self::arrive), for one port; the marks on the packet have no meaning.
    #[inline(always)]
    pub fn arrive_for(&mut self, cx: &mut Ctx<'_>, leg: Leg, packet: &mut Packet) -> Ready {
        self.arrive_and_start(cx, leg, packet, || false).ready()
    }

    /// Like [`arrive_for`](Self::arrive_for), for a port whose link may be free. A packet that
    /// finds nothing there is [started](Self::start) at once if the link is free and only the order
    /// of service matters. The driver starts others.
    #[inline(always)]
    pub fn arrive_and_start(
        &mut self,
        cx: &mut Ctx<'_>,
        leg: Leg,
        packet: &mut Packet,
        is_free: impl FnOnce() -> bool,
    ) -> StartOutcome {
        packet.shared = 0;
        packet.arrived = cx.now;
        self.pool.store(packet, 1);
        let outcome = self.arrive_at(cx, leg, packet, is_free);
        if self.pool.exhausted() {
            self.make_room(cx, &[leg]);
        }
        outcome
    }

    /// Receives the packet for one port.
    #[inline(always)]
    fn arrive_at(
        &mut self,
        cx: &mut Ctx<'_>,
        leg: Leg,
        packet: &mut Packet,
        is_free: impl FnOnce() -> bool,
    ) -> StartOutcome {
        packet.flow = leg.flow;
        wrapping_count(&mut self.orders, 1);
        let Some(port) = self.ports.get_mut(usize::from(leg.port.0)) else {
            self.unroutable(cx, leg, *packet);
            return StartOutcome::Waits(Ready::NO);
        };
        match port.arrive(cx, &mut self.pool, packet, self.orders, is_free) {
            true => StartOutcome::Started,
            false => StartOutcome::Waits(port.ready()),
        }
    }

    /// Drops a packet for a port that does not exist.
    #[cold]
    fn unroutable(&mut self, cx: &mut Ctx<'_>, leg: Leg, packet: Packet) {
        let body = self.pool.release(&packet);
        cx.out.push(Effect::Dropped { port: leg.port, packet, reason: Reason::NoFlow, body });
    }

    /// Starts the next packet at a port whose link is free, and returns it: its first bit leaves
    /// now. `None` without one, when a packet is in service already, or when none may leave yet (an
    /// [`Effect::Wake`] then says when to ask again).
    #[inline(always)]
    pub fn start(&mut self, cx: &mut Ctx<'_>, port: PortIx) -> Option<Packet> {
        let port = self.ports.get_mut(usize::from(port.0))?;
        port.start(cx, &mut self.pool).then_some(port.serving)
    }

    /// Ends the service of a packet, whose last bit is out. Returns the packet, and whether its
    /// body is still held for another port; `None` when no packet was in service.
    #[inline]
    pub fn finish(&mut self, cx: &mut Ctx<'_>, port: PortIx) -> Option<(Packet, Body)> {
        self.departing(port).map(|departing| departing.finish(cx))
    }

    /// Returns the packet in service at a port, whose last bit is out; `None` when there is none.
    #[inline(always)]
    pub fn departing(&mut self, port: PortIx) -> Option<Departing<'_>> {
        let port = self.ports.get_mut(usize::from(port.0))?;
        port.busy.then_some(Departing { port, pool: &mut self.pool })
    }

    /// The packet in service at a port.
    #[inline(always)]
    pub fn in_service(&self, port: PortIx) -> Option<&Packet> {
        self.ports.get(usize::from(port.0)).and_then(Port::in_service)
    }

    /// Handles the time that an [`Effect::Wake`] requested.
    pub fn timer(&mut self, cx: &mut Ctx<'_>, port: PortIx) -> Ready {
        self.timer_and_start(cx, port, || false).ready()
    }

    /// Like [`timer`](Self::timer), for a port whose link may be free: a packet that a shaper
    /// releases may be [started](Self::arrive_and_start) at once.
    #[inline(always)]
    pub fn timer_and_start(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        is_free: impl FnOnce() -> bool,
    ) -> StartOutcome {
        let Some(port) = self.ports.get_mut(usize::from(port.0)) else {
            return StartOutcome::Waits(Ready::NO);
        };
        match port.timer(cx, &mut self.pool, &mut self.orders, is_free) {
            true => StartOutcome::Started,
            false => StartOutcome::Waits(port.ready()),
        }
    }
}
