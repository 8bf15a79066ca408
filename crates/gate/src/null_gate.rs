//! A gate that receives from a null device, for benchmarks: in virtual time without the kernel, or
//! on interfaces at which it sends.

use crate::engine::Engine;
use crate::error::GateError;
use crate::frame::offload::Offloaded;
use crate::io::{BATCH, NullReceiver, SendSocket, Side};
use crate::runtime::forwarder::{Forwarder, Mode};
use crate::runtime::reading::{Reading, lateness};
use crate::runtime::{WaitMode, commands};
use crate::sys::clock::TICKS_PER_NANOSECOND;
use crate::virtual_gate::GatePlan;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::context::Ctx;
use tidegate_core::headers::{Headers, LinkType};
use tidegate_core::packet::{BodyId, Leg, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::Edge;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Span, Time};
use tidegate_formats::GateFile;

/// Bytes of the longest frame.
const LONGEST: usize = 1536;
/// The direction of all frames.
const UP: Direction = Direction::Up;

/// Frames that pass from a null device to another one.
pub struct NullGate(Way);

enum Way {
    /// They are copied, and messages are made of them.
    Copies { ends: Ends, buffers: Vec<u8> },
    /// Their packets pass the core's switch, which has the gate's plan.
    Switch(Box<SwitchAlone>),
    /// They pass the whole gate.
    Gate { ends: Ends, engine: Box<Engine>, lateness: Histogram<u64> },
}

/// Both null devices.
struct Ends {
    receiver: NullReceiver,
    sender: SendSocket,
}

/// The core's switch, and a packet of each frame.
struct SwitchAlone {
    switch: Switch,
    packets: Vec<(Leg, Packet)>,
    next: usize,
    rng: Rng,
    /// Time at which the packet in service ends; [`Time::NEVER`] when there is none.
    free_at: Time,
}

fn system(error: io::Error) -> GateError {
    GateError::system("a null device", error)
}

impl Ends {
    fn of(frames: &[Vec<u8>]) -> Result<Ends, GateError> {
        let receiver = NullReceiver::of(frames, || 0).map_err(system)?;
        Ok(Ends { receiver, sender: SendSocket::null().map_err(system)? })
    }
}

impl NullGate {
    /// Copies only.
    ///
    /// # Errors
    /// System errors.
    pub fn copies(frames: &[Vec<u8>]) -> Result<NullGate, GateError> {
        Ok(NullGate(Way::Copies { ends: Ends::of(frames)?, buffers: vec![0; BATCH * LONGEST] }))
    }

    /// The switch alone.
    ///
    /// # Errors
    /// When it refuses the plan.
    pub fn switch(GatePlan(plan): &GatePlan, frames: &[Vec<u8>]) -> Result<NullGate, GateError> {
        let now = Time::ORIGIN;
        let mut switch = Switch::new(now, &plan.switch)?;
        let mut edge = Edge::new(now, &mut switch, PortIx(0), UP, plan.edges[0].clone())?;
        let mut steer = |(frame, ix): (&Vec<u8>, u32)| {
            let (headers, _) = Headers::read_packet(LinkType::Ethernet, frame);
            let steered = edge.steer(now, &mut switch, &headers, frame.len() as u32);
            (steered.leg, Packet::new(BodyId(ix), steered.charged))
        };
        let packets = frames.iter().zip(0..).map(&mut steer).collect();
        let rng = Rng::named(1, "gate");
        let alone = SwitchAlone { switch, packets, next: 0, rng, free_at: Time::NEVER };
        Ok(NullGate(Way::Switch(Box::new(alone))))
    }

    /// The whole gate.
    ///
    /// # Errors
    /// When the engine refuses the plan.
    pub fn gate(GatePlan(plan): &GatePlan, frames: &[Vec<u8>]) -> Result<NullGate, GateError> {
        let engine = Box::new(Engine::new(Time::ORIGIN, plan, LONGEST)?);
        Ok(NullGate(Way::Gate { ends: Ends::of(frames)?, engine, lateness: lateness()? }))
    }

    /// Passes on the frames that come at `now`, and sends those that are due. `line` is the time that a
    /// frame takes on the line. Returns the number of frames that were sent.
    ///
    /// # Panics
    /// When a device fails, or the switch drops a packet.
    pub fn forward(&mut self, now: Time, line: Span) -> usize {
        match &mut self.0 {
            Way::Copies { ends: Ends { receiver, sender }, buffers } => {
                let mut lengths = [0; BATCH];
                let mut places = buffers.chunks_exact_mut(LONGEST).zip(&mut lengths);
                let received = receiver.receive(|received| {
                    let write = |frame: Offloaded<'_>, buffer: &mut [u8]| frame.write(0, buffer);
                    if let (Some((buffer, length)), Ok(frame)) = (places.next(), received.offloaded()) {
                        *length = write(frame, buffer).unwrap_or(0);
                    }
                });
                assert!(received.is_ok());
                let frames = buffers.chunks_exact(LONGEST).zip(&lengths);
                sender.make_messages(frames.map(|(buffer, length)| &buffer[..*length]))
            }
            Way::Switch(switch) => switch.forward(now, line),
            Way::Gate { ends: Ends { receiver, sender }, engine, lateness } => {
                let reading = Reading { now, wall: 0, earliest: Time::ORIGIN };
                let received =
                    receiver.receive(|received| reading.take(received, engine, UP, lateness, || now));
                assert!(received.is_ok());
                let mut count = 0;
                loop {
                    engine.advance(now, BATCH);
                    engine.group_departures(UP);
                    let departures = engine.departures(UP);
                    if departures.is_empty() {
                        return count;
                    }
                    for departure in departures {
                        lateness.saturating_record(now.since(departure.due).ticks() / TICKS_PER_NANOSECOND);
                    }
                    let frames = departures.iter().map(|departure| engine.frame(UP, *departure));
                    let sent = sender.make_messages(frames);
                    engine.complete(UP, sent, 0);
                    count += sent;
                }
            }
        }
    }
}

impl SwitchAlone {
    fn forward(&mut self, now: Time, line: Span) -> usize {
        let mut out = Vec::new();
        let mut count = 0;
        for _ in 0..BATCH {
            let (leg, mut packet) = self.packets[self.next];
            self.next = (self.next + 1) % self.packets.len();
            packet.arrived = now;
            let mut cx = Ctx { now, rng: &mut self.rng, out: &mut out };
            let ready = self.switch.arrive_for(&mut cx, leg, &mut packet);
            if ready.should_start() && self.free_at == Time::NEVER {
                self.start(now, line);
            }
        }
        while self.free_at <= now {
            let at = self.free_at;
            self.free_at = Time::NEVER;
            let mut cx = Ctx { now: at, rng: &mut self.rng, out: &mut out };
            if let Some((packet, _)) = self.switch.finish(&mut cx, PortIx(0)) {
                black_box(packet);
                count += 1;
            }
            self.start(at, line);
        }
        assert!(out.is_empty(), "a packet was dropped, or is not due: {out:?}");
        count
    }

    fn start(&mut self, now: Time, line: Span) {
        let mut out = Vec::new();
        let mut cx = Ctx { now, rng: &mut self.rng, out: &mut out };
        if self.switch.start(&mut cx, PortIx(0)).is_some() {
            self.free_at = now + line;
        }
    }
}

/// Runs a gate on the interfaces of its file for a while. It receives from a null device and sends
/// at the interfaces. Returns the number of frames sent in each direction, and the report.
///
/// # Errors
/// As a gate.
pub fn send(
    file: GateFile,
    frames: &[Vec<Vec<u8>>; 2],
    duration: Span,
) -> Result<([u64; 2], String), GateError> {
    let file = Arc::new(file);
    let open = |name: &str, direction: Direction| Side::open_with(name, &frames[direction as usize]);
    let mut forwarder = Forwarder::with(Arc::clone(&file), Mode::Forward, open)?;
    let (_sender, mut queue) = commands::queue()?;
    forwarder.run(&mut queue, Some(duration), WaitMode::RealTime, Span::ZERO)?;
    let report = forwarder.report();
    let sent = Direction::BOTH.map(|direction| forwarder.sent(direction));
    Ok((sent, report.to_string()))
}
