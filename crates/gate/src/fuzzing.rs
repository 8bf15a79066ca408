//! Interface for the fuzz targets. It is built with `--cfg fuzzing` only.

pub use crate::control::fuzzing::ControlServer;

use crate::config::plan::Plan;
use crate::engine::{Arrival, Engine};
use crate::frame::offload::{HEADER, Offloaded};
use crate::frame::super_packet;
use crate::stats::LossReason;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Refused;
use tidegate_core::units::{Span, Time};
use tidegate_formats::GateFile;

/// The maximum length of the frames that a frame with this virtio-net header is segmented into, and
/// these frames; `None` when the header is unsupported. `inserted` bytes of VLAN tags were put back
/// into the frame.
///
/// # Panics
/// When a frame is longer than the length that was computed.
pub fn segment(header: &[u8; HEADER], frame: &[u8], inserted: usize) -> Option<(usize, Vec<Vec<u8>>)> {
    let offloaded = Offloaded::new(header, frame, inserted).ok()?;
    let longest = offloaded.longest();
    let one = |ix| {
        let mut buffer = vec![0xee; longest];
        let length = offloaded.write(ix, &mut buffer).expect("room for the longest");
        buffer.truncate(length);
        buffer
    };
    Some((longest, (0..offloaded.segments()).map(one).collect()))
}

/// The messages that frames are sent as, each with its virtio-net header.
pub fn join(frames: &[Vec<u8>]) -> Vec<([u8; HEADER], Vec<u8>)> {
    super_packet::joined(frames).into_iter().map(|(header, bytes, _)| (header, bytes)).collect()
}

/// The plan of a gate file.
#[derive(Clone)]
pub struct GatePlan(Plan);

impl GatePlan {
    /// The plan of this file.
    pub fn of(file: &GateFile) -> GatePlan {
        GatePlan(Plan::of(file))
    }
}

/// A gate without interfaces, in virtual time.
pub struct Gate {
    engine: Engine,
    now: Time,
}

impl Gate {
    /// A gate whose frames have at most `longest` bytes.
    ///
    /// # Errors
    /// When the switch refuses the plan.
    pub fn new(plan: &GatePlan, longest: usize) -> Result<Gate, Refused> {
        Ok(Gate { engine: Engine::new(Time::ORIGIN, &plan.0, longest)?, now: Time::ORIGIN })
    }

    /// Lets time pass; frames that become due can be sent.
    pub fn wait(&mut self, span: Span) {
        self.now += span;
        self.engine.advance(self.now, usize::MAX);
    }

    /// Receives a frame.
    pub fn receive(&mut self, direction: Direction, header: &[u8; HEADER], frame: &[u8], inserted: usize) {
        match Offloaded::new(header, frame, inserted) {
            Ok(frame) => self.engine.receive(Arrival::at(self.now), direction, &frame),
            Err(_) => self.engine.count_lost(direction, LossReason::Offload),
        }
    }

    /// Sends the frames that are due; the kernel takes all of them, or refuses the first.
    pub fn send(&mut self, direction: Direction, taken: bool) {
        let count = self.engine.departures(direction).len();
        match taken {
            true => self.engine.complete(direction, count, 0),
            false => self.engine.complete(direction, 0, count.min(1)),
        }
    }

    /// Reconfigures the engine for another plan, all of it or nothing.
    ///
    /// # Errors
    /// When the switch refuses it.
    pub fn reload(&mut self, plan: &GatePlan) -> Result<(), Refused> {
        self.engine.reconfigure(self.now, &plan.0)
    }

    /// Checks that every frame is accounted for.
    ///
    /// # Panics
    /// When a frame is not.
    pub fn check(&self) {
        let mut held = 0;
        for direction in Direction::BOTH {
            let counters = self.engine.counters(direction);
            let accounted = counters.sent + counters.total_dropped() + self.engine.held(direction);
            assert_eq!(counters.received, accounted);
            held += self.engine.held(direction);
        }
        assert_eq!(held, self.engine.buffers_used() as u64);
    }
}
