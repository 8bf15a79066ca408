//! What the fuzz targets need of this crate's inside. It is built with `--cfg fuzzing` only.

pub use crate::control::fuzzing::Reception;

use crate::engine::{Engine, Loss};
use crate::offload::{HEADER, Whole};
use crate::plan::Plan;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Refused;
use tidegate_core::units::{Span, Time};
use tidegate_spec::GateFile;

/// The frames that a frame with this virtio-net header makes, and how long they are at most; `None` for one
/// that cannot be made whole. `inserted` bytes of VLAN tags were put back into it.
///
/// # Panics
/// When a frame does not fit the place that it asks for.
pub fn make_whole(header: &[u8; HEADER], frame: &[u8], inserted: usize) -> Option<(usize, Vec<Vec<u8>>)> {
    let whole = Whole::new(header, frame, inserted).ok()?;
    let longest = whole.longest();
    let piece = |ix| {
        let mut place = vec![0xee; longest];
        let length = whole.write(ix, &mut place).expect("room for the longest");
        place.truncate(length);
        place
    };
    Some((longest, (0..whole.count()).map(piece).collect()))
}

/// What a file asks of a gate.
#[derive(Clone)]
pub struct Wanted(Plan);

impl Wanted {
    /// What this file asks for.
    pub fn of(file: &GateFile) -> Wanted {
        Wanted(Plan::of(file))
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
    pub fn new(wanted: &Wanted, longest: usize) -> Result<Gate, Refused> {
        Ok(Gate { engine: Engine::new(Time::ORIGIN, &wanted.0, longest)?, now: Time::ORIGIN })
    }

    /// Time passes; what is due is ready to be sent.
    pub fn wait(&mut self, span: Span) {
        self.now += span;
        self.engine.advance(self.now);
    }

    /// A frame comes in.
    pub fn receive(&mut self, direction: Direction, header: &[u8; HEADER], frame: &[u8], inserted: usize) {
        match Whole::new(header, frame, inserted) {
            Ok(whole) => self.engine.receive(self.now, direction, &whole),
            Err(_) => self.engine.receive_unfit(direction, Loss::Offload),
        }
    }

    /// The kernel takes what is due, or refuses the first of it.
    pub fn send(&mut self, direction: Direction, taken: bool) {
        let count = self.engine.leaving(direction).len();
        match taken {
            true => self.engine.left(direction, count, 0),
            false => self.engine.left(direction, 0, count.min(1)),
        }
    }

    /// Another plan, all of it or nothing.
    ///
    /// # Errors
    /// When the switch refuses it.
    pub fn reload(&mut self, wanted: &Wanted) -> Result<(), Refused> {
        self.engine.reconfigure(self.now, &wanted.0)
    }

    /// Checks that every frame is accounted for.
    ///
    /// # Panics
    /// When one is not.
    pub fn check(&self) {
        let mut held = 0;
        for direction in Direction::BOTH {
            let counters = self.engine.counters(direction);
            assert_eq!(counters.received, counters.sent + counters.dropped() + self.engine.held(direction));
            held += self.engine.held(direction);
        }
        assert_eq!(held, self.engine.places_used() as u64);
    }
}
