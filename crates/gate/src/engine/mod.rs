//! The engine: frames in, departures out, in virtual time.
//!
//! Departure times are computed, not waited for. A port's link is busy from a packet's first bit
//! for as long as its bytes take at the port's rate. The next packet's first bit is due when that
//! time ends, however late the process wakes up. So the rate is exact over any period, and lateness
//! shows only in the gaps. A frame is handed to the kernel when its *first* bit is due: the link
//! behind takes its own time to send it. An emulated link is the link itself: a frame leaves it
//! when its last bit is out of the port and the delay has passed, unless the frame was lost.
//!
//! The engine does no I/O and reads no clock, so that tests run it in virtual time.

mod arena;
mod arrival;
mod departures;
mod inspect;
mod memory;
mod port;
mod reconfigure;

pub(crate) use arrival::Arrival;
pub(crate) use port::Departure;

use crate::config::plan::Plan;
use crate::frame::offload::Offloaded;
use crate::frame::rewrite;
use crate::stats::LossReason;
use port::Port;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::context::{Body, Ctx, Effect, Finding};
use tidegate_core::contract::Refused;
use tidegate_core::headers::{Headers, LinkType};
use tidegate_core::link::Flight;
use tidegate_core::packet::{Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::Steered;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Span, Time};

/// Longest late service that a link may make up for at once. Link time beyond that is lost and
/// counted: a process that was suspended must not flood the link behind it.
pub(crate) const MAX_CATCH_UP: Span = Span::from_millis(20);

/// Interval at which idle flows are closed at a link without a backlog.
const IDLE_CHECK_INTERVAL: Span = Span::from_millis(100);

/// Number of flows whose leads are examined each time that idle flows are closed.
const MAX_LEADS: usize = 1000;

/// A switch with a port for each direction, and the frames that it holds.
pub(crate) struct Engine {
    switch: Switch,
    ports: [Port; 2],
    /// The names of the rules.
    names: Vec<String>,
    rng: Rng,
    effects: Vec<Effect>,
    idle_check_at: Time,
}

impl Engine {
    /// An engine for a plan, whose frames have at most `longest_frame` bytes.
    ///
    /// # Errors
    /// When the switch refuses the plan or one of its flows, or there is too little memory.
    pub(crate) fn new(now: Time, plan: &Plan, longest_frame: usize) -> Result<Engine, Refused> {
        Engine::check_memory(plan, longest_frame)?;
        let mut switch = Switch::new(now, &plan.switch)?;
        let mut port = |direction| Port::new(now, &mut switch, plan, direction, longest_frame);
        let ports = [port(Direction::Up)?, port(Direction::Down)?];
        Ok(Engine {
            switch,
            ports,
            names: plan.names.clone(),
            rng: Rng::named(1, "gate"),
            effects: Vec::new(),
            idle_check_at: now + IDLE_CHECK_INTERVAL,
        })
    }

    /// Receives a frame.
    pub(crate) fn receive(&mut self, at: Arrival, direction: Direction, frame: &Offloaded<'_>) {
        let segments = frame.segments();
        let Port { counters, arena, .. } = &mut self.ports[direction as usize];
        counters.super_packets += u64::from(segments > 1);
        if frame.longest() > arena.buffer_size() {
            counters.received += 1;
            return counters.count_loss(LossReason::TooLong);
        }
        let (headers, ip) = Headers::read_packet(LinkType::Ethernet, frame.bytes());
        let before_ip = frame.bytes().len() - ip.len();
        for ix in 0..segments {
            self.arrive(at, direction, (&headers, before_ip), |buffer| frame.write(ix, buffer));
        }
    }

    /// Counts a frame that was received and lost before it reached the switch.
    pub(crate) fn count_lost(&mut self, direction: Direction, reason: LossReason) {
        let counters = &mut self.ports[direction as usize].counters;
        counters.received += 1;
        counters.count_loss(reason);
    }

    fn arrive(
        &mut self,
        at: Arrival,
        direction: Direction,
        (headers, before_ip): (&Headers, usize),
        write: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) {
        let [up, down] = &mut self.ports;
        let (port, other) = if direction == Direction::Up { (up, down) } else { (down, up) };
        port.counters.received += 1;
        let full = port.arena.is_full();
        let Some(body) = port.arena.store(write) else {
            let reason = if full { LossReason::Memory } else { LossReason::Offload };
            return port.counters.count_loss(reason);
        };
        port.arena.set_arrival(body, at);
        let length = port.arena.length(body);
        port.counters.received_bytes += u64::from(length);
        port.clock = port.clock.max(at.switch);
        let now = port.clock;
        let Steered { leg, charged, mark } = port.edge.steer(now, &mut self.switch, headers, length);
        let mut packet = Packet::new(body, charged);
        packet.mark = mark;
        if let Some(statistics) = port.known(leg.flow) {
            statistics.arrive(now, charged);
        }
        port.explainer.arrive(now, body, leg.flow, &self.switch);
        let ip = || port.arena.frame(body).get(before_ip..).unwrap_or_default();
        if let Some(took) = other.explainer.echo(at.kernel, headers, ip) {
            let around = (&self.switch, port.edge.steering());
            port.explainer.round_trip(now, leg.flow, took, around);
        }
        let mut cx = Ctx { now, rng: &mut self.rng, out: &mut self.effects };
        let ready = self.switch.arrive_for(&mut cx, leg, &mut packet);
        self.take_effects();
        if ready.should_start() {
            self.start(direction);
        }
    }

    /// Carries out the events that are due by `now`, each at its own time. A direction that has
    /// `most` departures goes no further: its packets stay in their queues, where the scheduler
    /// decides which of them are sent, until the departures are handed over. Returns true if a
    /// direction had that many.
    pub(crate) fn advance(&mut self, now: Time, most: usize) -> bool {
        let floor = now.before(MAX_CATCH_UP);
        for port in &mut self.ports {
            let late = if port.free_at < floor { &mut port.free_at } else { &mut port.open_at };
            if *late < floor {
                port.counters.stalls += 1;
                port.counters.stalled += floor.since(*late);
                *late = floor;
            }
        }
        loop {
            let [up, down] = [0, 1].map(|ix| self.ports[ix].next_step(most));
            let (direction, due) = if up <= down { (Direction::Up, up) } else { (Direction::Down, down) };
            if due > now {
                break;
            }
            let port = &mut self.ports[direction as usize];
            port.clock = port.clock.max(due);
            let mut cx = Ctx { now: port.clock, rng: &mut self.rng, out: &mut self.effects };
            if port.free_at == due {
                port.free_at = Time::NEVER;
                // The frame's buffer is freed when the frame is sent or lost.
                if let Some((packet, _)) = self.switch.finish(&mut cx, PortIx(direction as u16))
                    && let Some(counters) = port.counters_of(packet.flow)
                {
                    counters.sent.add(packet.len);
                }
            } else if port.open_at == due {
                port.open_at = Time::NEVER;
            } else {
                port.wake_at = Time::NEVER;
                // The port is asked to start below.
                _ = self.switch.timer(&mut cx, PortIx(direction as u16));
            }
            self.take_effects();
            self.start(direction);
        }
        for port in &mut self.ports {
            if port.next_event() > now {
                port.clock = port.clock.max(now);
            }
            port.land(now);
        }
        if now >= self.idle_check_at {
            self.idle_check_at = now + IDLE_CHECK_INTERVAL;
            for (ix, port) in self.ports.iter_mut().enumerate() {
                port.edge.look_at_leads(port.clock, &self.switch, MAX_LEADS);
                // While something is queued, only packets close flows, as in the simulator.
                if self.switch.backlog(PortIx(ix as u16)).packets == 0 {
                    port.edge.close_idle(port.clock, &mut self.switch);
                }
            }
        }
        self.ports.iter().any(|port| port.departures.len() >= most)
    }

    /// Starts the next packet if the line is free and open: its first bit is due now.
    fn start(&mut self, direction: Direction) {
        let (port, ix) = (&mut self.ports[direction as usize], PortIx(direction as u16));
        if port.free_at != Time::NEVER {
            return;
        }
        let now = port.clock;
        let opens = port.line.opens(now);
        if opens > now {
            let waits = self.switch.backlog(ix).packets > 0;
            port.open_at = if waits { opens } else { Time::NEVER };
            return;
        }
        let mut cx = Ctx { now, rng: &mut self.rng, out: &mut self.effects };
        if let Some(packet) = self.switch.start(&mut cx, ix) {
            if packet.mark.is_modified() {
                rewrite::write_mark(port.arena.frame_mut(packet.body), packet.mark);
            }
            let arrival = port.arena.arrival(packet.body);
            // A late gate may be at an event before the frame's arrival: the frame is not due
            // before it arrived.
            let due = now.max(arrival.kernel);
            port.statistics_of(packet.flow).record_delay(due.since(arrival.kernel));
            port.free_at = port.line.begin(now, packet.len);
            let (around, frame) = ((&self.switch, port.edge.steering()), || port.arena.frame(packet.body));
            port.explainer.start(now, &packet, (&port.line, port.free_at), around, frame);
            // A real link gets the frame with its first bit; an emulated one holds it until its
            // last bit is out.
            let leaves =
                if port.emulated { port.free_at.max(arrival.read + port.free_at.since(now)) } else { now };
            match port.line.fly(now, leaves, packet.body, &mut port.emulation_rng) {
                Flight::Arrived => {
                    port.departures.push(Departure { body: packet.body, due });
                }
                Flight::InFlight { .. } => {}
                Flight::Lost => {
                    port.counters.count_loss(LossReason::Emulated);
                    port.arena.free(packet.body);
                }
            }
        }
        self.take_effects();
    }

    #[inline]
    fn take_effects(&mut self) {
        if !self.effects.is_empty() {
            self.take_each_effect();
        }
    }

    #[inline(never)]
    fn take_each_effect(&mut self) {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Dropped { port, packet, reason, body } => {
                    let port = &mut self.ports[usize::from(port.0)];
                    port.counters.count_drop(reason);
                    let around = (&self.switch, port.edge.steering());
                    port.explainer.dropped(port.clock, &packet, reason, around);
                    port.statistics_of(packet.flow).dropped[reason as usize] += 1;
                    if let Some(counters) = port.counters_of(packet.flow) {
                        counters.dropped.add(packet.len);
                    }
                    if body == Body::Released {
                        port.arena.free(packet.body);
                    }
                }
                Effect::Wake { port, at } => {
                    let wake_at = &mut self.ports[usize::from(port.0)].wake_at;
                    *wake_at = at.min(*wake_at);
                }
                Effect::Marked { port, packet, .. } => {
                    self.ports[usize::from(port.0)].statistics_of(packet.flow).marked += 1;
                }
                // Not requested.
                Effect::Released { .. } => {}
                Effect::Finding { port, flow, finding: Finding::Ahead(_), .. } => {
                    self.ports[usize::from(port.0)].statistics_of(flow).warned += 1;
                }
                Effect::Finding { port, flow, finding: Finding::NonResponsive, .. } => {
                    self.ports[usize::from(port.0)].statistics_of(flow).named += 1;
                }
                Effect::Finding { port, flow, finding: Finding::BackedOff, .. } => {
                    self.ports[usize::from(port.0)].statistics_of(flow).released += 1;
                }
            }
        }
    }

    /// The time at which something is next due; [`Time::NEVER`] when nothing is.
    pub(crate) fn next_due(&self) -> Time {
        self.next_due_in(Direction::Up).min(self.next_due_in(Direction::Down))
    }

    /// The time at which something is next due in a direction; [`Time::NEVER`] when nothing is.
    pub(crate) fn next_due_in(&self, direction: Direction) -> Time {
        let port = &self.ports[direction as usize];
        port.next_event().min(port.line.next_arrival())
    }

    /// The time of the next event of a direction's port or link, except arrivals from an emulated
    /// link.
    pub(crate) fn next_event(&self, direction: Direction) -> Time {
        self.ports[direction as usize].next_event()
    }

    /// Returns true if an emulated link follows in a direction.
    pub(crate) fn is_emulated(&self, direction: Direction) -> bool {
        self.ports[direction as usize].emulated
    }

    /// Returns true if a direction's link is busy, or closed to packets that are queued.
    pub(crate) fn is_busy(&self, direction: Direction) -> bool {
        let port = &self.ports[direction as usize];
        port.free_at.min(port.open_at) != Time::NEVER
    }

    /// Returns true if a frame of a direction waits behind the one that its link is busy with.
    pub(crate) fn frames_wait(&self, direction: Direction) -> bool {
        self.switch.backlog(PortIx(direction as u16)).packets > 1
    }
}

#[cfg(test)]
mod bound_tests;
#[cfg(test)]
mod emulation_tests;
#[cfg(test)]
mod explain_tests;
#[cfg(test)]
mod flood_tests;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod household_tests;
#[cfg(test)]
mod isolation_tests;
#[cfg(test)]
mod reload_tests;
#[cfg(test)]
mod reserved;
#[cfg(test)]
mod simulator_tests;
#[cfg(test)]
mod tests;
