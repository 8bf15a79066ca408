//! A gate without interfaces, in virtual time: for the fuzz targets and for a benchmark of the engine.

use crate::config::plan::Plan;
use crate::engine::{Arrival, Engine};
use crate::frame::offload::{HEADER, Offloaded};
use crate::stats::LossReason;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Refused;
use tidegate_core::units::{Span, Time};
use tidegate_formats::GateFile;

/// The plan of a gate file.
#[derive(Clone)]
pub struct GatePlan(pub(crate) Plan);

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

    /// Leaves out explanations: the difference to a gate with them is what they take.
    #[cfg(feature = "bench")]
    #[must_use]
    pub fn without_explanations(mut self) -> Gate {
        self.engine.leave_out_explanations();
        self
    }

    /// The frames that were sent in a direction, and those that were dropped or lost.
    #[cfg(feature = "bench")]
    pub fn counts(&self, direction: Direction) -> [u64; 2] {
        let counters = self.engine.counters(direction);
        [counters.sent, counters.total_dropped()]
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
