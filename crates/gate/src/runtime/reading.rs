//! Frames on their way from a receiver to the engine: their times, and those that are too old.

use crate::engine::{Arrival, Engine};
use crate::error::GateError;
use crate::io::Received;
use crate::stats::LossReason;
use crate::sys::clock::TICKS_PER_NANOSECOND;
use hdrhistogram::Histogram;
use std::io;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::{Span, Time};

/// Upper bound of the lateness histogram, in nanoseconds.
const MAX_LATENESS: u64 = 100_000_000_000;
/// Maximum age of a frame when it is read. An older frame is dropped: its receiver has given it up,
/// and it would delay others.
const MAX_AGE: Span = Span::from_millis(200);

/// A histogram of lateness.
///
/// # Errors
/// When there is no memory for it.
pub(crate) fn lateness() -> Result<Histogram<u64>, GateError> {
    // Every report reads the whole histogram between two frames: two significant digits make it an
    // eighth of the size of three.
    Histogram::new_with_bounds(1, MAX_LATENESS, 2)
        .map_err(|_| GateError::system("a histogram", io::Error::from(io::ErrorKind::InvalidInput)))
}

/// The times of reading frames.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) now: Time,
    /// `now` in nanoseconds of CLOCK_REALTIME.
    pub(crate) wall: u64,
    /// Time of the last complete read before.
    pub(crate) earliest: Time,
}

impl Reading {
    /// Passes a frame to the engine. `clock` returns the time at which it was read.
    pub(crate) fn take(
        self,
        received: Received<'_>,
        engine: &mut Engine,
        direction: Direction,
        lateness: &mut Histogram<u64>,
        clock: impl FnOnce() -> Time,
    ) {
        let Reading { now, wall, earliest } = self;
        let age = received.stamp.map_or(0, |stamp| wall.saturating_sub(stamp));
        let age = Span::from_ticks(age.saturating_mul(TICKS_PER_NANOSECOND));
        // A frame that had arrived by the last complete read was read then, even if the wall clock
        // has been set since.
        let kernel = now.before(age).max(earliest);
        match received.offloaded() {
            Ok(_) if now.since(kernel) > MAX_AGE => {
                engine.count_lost(direction, LossReason::Late);
                // It is as late as it is old, at the least: a gate that drops is not on time.
                lateness.saturating_record(now.since(kernel).ticks() / TICKS_PER_NANOSECOND);
            }
            Ok(frame) => {
                let read = if engine.is_emulated(direction) { clock() } else { now };
                // The switch takes the frame before its next event, which may already be due.
                let switch = kernel.min(engine.next_event(direction));
                engine.receive(Arrival { switch, kernel, read }, direction, &frame);
            }
            Err(loss) => engine.count_lost(direction, loss),
        }
    }
}
