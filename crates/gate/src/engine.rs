//! The switch in the middle: frames in, departures out, at times that are handed in.
//!
//! Departure times are computed, never slept for: a port's link is busy from a packet's first bit for
//! as long as its bytes take at the port's rate, and the next packet's first bit is due at that very
//! moment, however late the process wakes up. So the rate is exact over any stretch of time, and being
//! late shows only in the gaps. A frame is handed to the kernel when its *first* bit is due: the link
//! behind takes its own time for it. An emulated link has none behind it; see [`wire`](crate::wire).
//!
//! This file does no I/O and reads no clock, so it is tested in virtual time.

mod reconfigure;

use crate::arena::Arena;
use crate::offload::Whole;
use crate::plan::Plan;
use crate::rewrite;
use crate::seen::Seen;
use crate::wire::{Fate, Wire};
use tidegate_core::classifier::rules::{Direction, Key};
use tidegate_core::classifier::steering::Steering;
use tidegate_core::context::{Body, Ctx, Effect, Notice, Reason};
use tidegate_core::contract::Refused;
use tidegate_core::link::Framing;
use tidegate_core::packet::{BodyId, FlowIx, Mark, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::switch::{FlowCounters, Switch};
use tidegate_core::units::{Span, Time};
use tidegate_core::wire::{Headers, LinkType};

/// What a link that was not served in time may make up for at once. Beyond, the time is lost, and counted:
/// a process that stood still must not flood the link behind.
pub(crate) const CATCH_UP: Span = Span::from_millis(20);

/// How often flows are looked through for some to forget.
const FORGETTING: Span = Span::from_millis(100);

/// Why a frame did not get as far as the switch, or not out of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Every place for a frame was taken.
    Memory,
    /// It was longer than the interfaces' MTU allows.
    TooLong,
    /// What the kernel left undone could not be done.
    Offload,
    /// It was too short for an Ethernet header.
    Malformed,
    /// The kernel did not take it.
    Device,
    /// The emulated link lost it.
    Emulated,
}

impl Loss {
    pub(crate) const ALL: [Loss; 6] =
        [Loss::Memory, Loss::TooLong, Loss::Offload, Loss::Malformed, Loss::Device, Loss::Emulated];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Loss::Memory => "memory",
            Loss::TooLong => "too-long",
            Loss::Offload => "offload",
            Loss::Malformed => "malformed",
            Loss::Device => "device",
            Loss::Emulated => "emulated-loss",
        }
    }
}

/// What one direction has counted: `received = sent + dropped + held`, in frames as they would be
/// on a wire (a super-packet counts as the frames that it makes).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    /// Received super-packets, of which several frames were made each.
    pub(crate) super_packets: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    lost: [u64; Loss::ALL.len()],
    dropped: [u64; Reason::ALL.len()],
    /// Times that the link was not served within [`CATCH_UP`], and the time that it lost by that.
    pub(crate) stalls: u64,
    pub(crate) stalled: Span,
}

impl Counters {
    pub(crate) fn lose(&mut self, loss: Loss) {
        self.lost[loss as usize] += 1;
    }

    /// Frames that were dropped, by reason; the names of core's reasons and of this crate's.
    pub(crate) fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let lost = Loss::ALL.iter().map(|loss| (loss.name(), self.lost[*loss as usize]));
        let dropped = Reason::ALL.iter().map(|reason| (reason.name(), self.dropped[*reason as usize]));
        dropped.chain(lost)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.drops().map(|(_, count)| count).sum()
    }
}

/// A frame that is to be sent, and when it was due: its first bit, or on an emulated link its last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) body: BodyId,
    pub(crate) due: Time,
}

struct Port {
    wire: Wire,
    steering: Steering,
    /// When the packet in service has left: [`Time::NEVER`] when there is none.
    free_at: Time,
    /// When what waits for an emulated link may start: [`Time::NEVER`] when nothing does.
    open_at: Time,
    /// When the switch wants to be called.
    wake_at: Time,
    /// Due and not yet handed to the kernel.
    leaving: Vec<Departure>,
    counters: Counters,
    /// What was seen of every rule, and last of what no rule means.
    seen: Vec<Seen>,
}

impl Port {
    /// When the switch has something to do.
    fn next(&self) -> Time {
        self.free_at.min(self.open_at).min(self.wake_at)
    }

    fn seen(&mut self, flow: FlowIx) -> &mut Seen {
        let rule = self.steering.rule_of(flow).unwrap_or(self.seen.len() - 1);
        &mut self.seen[rule]
    }
}

/// A switch with a port for each direction, and the frames that it holds.
pub(crate) struct Engine {
    switch: Switch,
    ports: [Port; 2],
    framing: Framing,
    /// The names of the rules.
    names: Vec<String>,
    /// The DSCP that their packets get.
    set_dscp: Vec<Option<u8>>,
    arena: Arena,
    rng: Rng,
    effects: Vec<Effect>,
    /// The time that the switch was told last.
    clock: Time,
    forget_at: Time,
}

impl Engine {
    /// # Errors
    /// When the switch refuses the plan or one of its flows.
    pub(crate) fn new(now: Time, plan: &Plan, longest_frame: usize) -> Result<Engine, Refused> {
        let mut switch = Switch::new(now, &plan.switch)?;
        let mut port = |direction: Direction| -> Result<Port, Refused> {
            let rules = plan.rules[direction as usize].clone();
            let ix = PortIx(direction as u16);
            let seen = vec![Seen::nothing(); rules.len() + 1];
            Ok(Port {
                wire: Wire::new(now, plan, direction),
                steering: Steering::new(now, &mut switch, ix, direction, rules, plan.most_flows)?,
                free_at: Time::NEVER,
                open_at: Time::NEVER,
                wake_at: Time::NEVER,
                leaving: Vec::new(),
                counters: Counters::default(),
                seen,
            })
        };
        let ports = [port(Direction::Up)?, port(Direction::Down)?];
        Ok(Engine {
            switch,
            ports,
            framing: plan.framing,
            names: plan.names.clone(),
            set_dscp: plan.set_dscp.clone(),
            arena: Arena::new(plan.places, longest_frame),
            rng: Rng::named(1, "gate"),
            effects: Vec::new(),
            clock: now,
            forget_at: now + FORGETTING,
        })
    }

    /// What came in at `came`: after the last [`advance`](Self::advance), and before whatever is due next.
    pub(crate) fn receive(&mut self, came: Time, direction: Direction, whole: &Whole<'_>) {
        let frames = whole.count();
        let counters = &mut self.ports[direction as usize].counters;
        counters.super_packets += u64::from(frames > 1);
        if whole.longest() > self.arena.place() {
            counters.received += 1;
            return counters.lose(Loss::TooLong);
        }
        let headers = Headers::read(LinkType::Ethernet, whole.bytes());
        for ix in 0..frames {
            self.arrive(came, direction, &headers, |place| whole.write(ix, place));
        }
    }

    /// A frame of which nothing can be kept.
    pub(crate) fn receive_unfit(&mut self, direction: Direction, loss: Loss) {
        let counters = &mut self.ports[direction as usize].counters;
        counters.received += 1;
        counters.lose(loss);
    }

    fn arrive(
        &mut self,
        came: Time,
        direction: Direction,
        headers: &Headers,
        write: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) {
        let port = &mut self.ports[direction as usize];
        port.counters.received += 1;
        let full = self.arena.is_full();
        let Some(body) = self.arena.take(write) else {
            return port.counters.lose(if full { Loss::Memory } else { Loss::Offload });
        };
        let length = self.arena.frame(body).len();
        port.counters.received_bytes += length as u64;
        self.clock = self.clock.max(came);
        let leg = port.steering.steer(self.clock, &mut self.switch, headers);
        let mut packet = Packet::new(body, self.framing.charge(length as u32));
        if let Some(ip) = headers.ip {
            packet.mark = Mark::from_ip(ip.dscp, ip.ecn);
            let rule = port.steering.rule_of(leg.flow);
            if let Some(dscp) = rule.and_then(|rule| self.set_dscp[rule]) {
                packet.mark = packet.mark.with_dscp(dscp);
            }
        }
        let mut cx = Ctx { now: self.clock, rng: &mut self.rng, out: &mut self.effects };
        let ready = self.switch.arrive_for(&mut cx, leg, &mut packet);
        self.take_effects();
        if ready.should_start() {
            self.start(direction);
        }
    }

    /// Everything that is due until `now` happens, each thing at its own time.
    pub(crate) fn advance(&mut self, now: Time) {
        let floor = now.before(CATCH_UP);
        for port in &mut self.ports {
            let late = if port.free_at < floor { &mut port.free_at } else { &mut port.open_at };
            if *late < floor {
                port.counters.stalls += 1;
                port.counters.stalled += floor.since(*late);
                *late = floor;
            }
        }
        loop {
            let [up, down] = [0, 1].map(|ix| self.ports[ix].next());
            let (direction, due) = if up <= down { (Direction::Up, up) } else { (Direction::Down, down) };
            if due > now {
                break;
            }
            self.clock = self.clock.max(due);
            let port = &mut self.ports[direction as usize];
            let mut cx = Ctx { now: self.clock, rng: &mut self.rng, out: &mut self.effects };
            if port.free_at == due {
                port.free_at = Time::NEVER;
                // The frame's place is free since it was sent.
                self.switch.finish(&mut cx, PortIx(direction as u16));
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
        self.clock = self.clock.max(now);
        for port in &mut self.ports {
            port.wire.deliver(now, &mut port.leaving);
        }
        if self.clock >= self.forget_at {
            self.forget_at = self.clock + FORGETTING;
            for port in &mut self.ports {
                port.steering.forget_idle(self.clock, &mut self.switch);
            }
        }
    }

    /// If the link is free, its next packet's first bit is due now.
    fn start(&mut self, direction: Direction) {
        let (port, ix) = (&mut self.ports[direction as usize], PortIx(direction as u16));
        if port.free_at != Time::NEVER {
            return;
        }
        let opens = port.wire.opens(self.clock);
        if opens > self.clock {
            let waits = self.switch.backlog(ix).packets > 0;
            port.open_at = if waits { opens } else { Time::NEVER };
            return;
        }
        let mut cx = Ctx { now: self.clock, rng: &mut self.rng, out: &mut self.effects };
        if let Some(packet) = self.switch.start(&mut cx, ix) {
            if packet.mark.is_news() {
                rewrite::show(self.arena.frame_mut(packet.body), packet.mark);
            }
            port.seen(packet.flow).delayed(self.clock.since(packet.arrived));
            let sent = port.wire.send(self.clock, packet.body, packet.len);
            port.free_at = sent.free_at;
            match sent.fate {
                Fate::Leaves => port.leaving.push(Departure { body: packet.body, due: self.clock }),
                Fate::Flies => {}
                Fate::Lost => {
                    port.counters.lose(Loss::Emulated);
                    self.arena.free(packet.body);
                }
            }
        }
        self.take_effects();
    }

    fn take_effects(&mut self) {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Dropped { port, packet, reason, body } => {
                    let port = &mut self.ports[usize::from(port.0)];
                    port.counters.dropped[reason as usize] += 1;
                    port.seen(packet.flow).dropped[reason as usize] += 1;
                    if body == Body::Released {
                        self.arena.free(packet.body);
                    }
                }
                Effect::Wake { port, at } => {
                    let wake_at = &mut self.ports[usize::from(port.0)].wake_at;
                    *wake_at = at.min(*wake_at);
                }
                Effect::Marked { port, packet, .. } => {
                    self.ports[usize::from(port.0)].seen(packet.flow).marked += 1;
                }
                Effect::Notice { port, flow, notice: Notice::Ahead(_), .. } => {
                    self.ports[usize::from(port.0)].seen(flow).warned += 1;
                }
            }
        }
    }

    /// When something is due next: [`Time::NEVER`] for nothing.
    pub(crate) fn next_due(&self) -> Time {
        self.ports.iter().fold(Time::NEVER, |least, port| least.min(port.next()).min(port.wire.next()))
    }

    /// Whether a direction's link is busy, or closed to what waits.
    pub(crate) fn is_busy(&self, direction: Direction) -> bool {
        let port = &self.ports[direction as usize];
        port.free_at.min(port.open_at) != Time::NEVER
    }

    /// What is to be sent in a direction, in order.
    pub(crate) fn leaving(&self, direction: Direction) -> &[Departure] {
        &self.ports[direction as usize].leaving
    }

    /// The bytes of a frame that is to be sent.
    pub(crate) fn frame(&self, departure: Departure) -> &[u8] {
        self.arena.frame(departure.body)
    }

    /// Of what was to be sent, the kernel has taken the first `sent` frames, and refused `refused` after them.
    pub(crate) fn left(&mut self, direction: Direction, sent: usize, refused: usize) {
        let port = &mut self.ports[direction as usize];
        for (ix, departure) in port.leaving.drain(..sent + refused).enumerate() {
            if ix < sent {
                port.counters.sent += 1;
                port.counters.sent_bytes += self.arena.frame(departure.body).len() as u64;
            } else {
                port.counters.lose(Loss::Device);
            }
            self.arena.free(departure.body);
        }
    }

    pub(crate) fn counters(&self, direction: Direction) -> &Counters {
        &self.ports[direction as usize].counters
    }

    /// Frames that wait in a direction, by the switch's own count, and those on an emulated link.
    pub(crate) fn held(&self, direction: Direction) -> u64 {
        let ix = PortIx(direction as u16);
        // What is in service has its first bit out: it was handed on, or is among those leaving.
        let in_service = u64::from(self.switch.in_service(ix).is_some());
        let port = &self.ports[direction as usize];
        self.switch.backlog(ix).packets - in_service + (port.leaving.len() + port.wire.flying()) as u64
    }

    /// Frames that have a place in memory.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn places_used(&self) -> usize {
        self.arena.used()
    }

    /// What was seen of a rule in a direction, or, past the last one, of the rest.
    pub(crate) fn seen(&self, direction: Direction, rule: usize) -> &Seen {
        &self.ports[direction as usize].seen[rule]
    }

    /// What came for each of a rule's flows, whose rule makes one for each of something.
    pub(crate) fn members(&self, direction: Direction, rule: usize) -> Vec<(Key, Count)> {
        let members = self.ports[direction as usize].steering.members(rule);
        members.map(|(key, leg)| (key, self.switch.counters(leg).arrived)).collect()
    }

    /// What a circuit of a rule has sent and lost in a direction.
    pub(crate) fn circuit(&self, direction: Direction, rule: usize, circuit: u32) -> FlowCounters {
        self.ports[direction as usize].steering.circuit_counters(&self.switch, rule, circuit)
    }

    /// By how much the clock of the rule's flow that is furthest ahead is ahead of real time.
    pub(crate) fn lead(&self, direction: Direction, rule: usize) -> Span {
        self.ports[direction as usize].steering.lead(self.clock, &self.switch, rule)
    }

    /// What a rule's flows have sent and lost, how many there are, in a direction.
    pub(crate) fn rule(&self, direction: Direction, rule: usize) -> (FlowCounters, usize) {
        let steering = &self.ports[direction as usize].steering;
        (steering.counters(&self.switch, rule), steering.flows(rule))
    }

    /// The same for what no rule means.
    pub(crate) fn rest(&self, direction: Direction) -> FlowCounters {
        self.switch.counters(self.ports[direction as usize].steering.rest())
    }

    /// Packets for which no flow could be made.
    pub(crate) fn overflowed(&self, direction: Direction) -> u64 {
        self.ports[direction as usize].steering.overflowed()
    }
}

#[cfg(test)]
mod emulation_tests;
#[cfg(test)]
mod simulator_tests;
#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
