//! Playback of a flow's packets: faster or slower, once or repeatedly.

use super::TraceFlow;
use tidegate_core::units::Span;

/// A flow cannot be played back as asked.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    /// The speed is not a finite number above zero.
    #[error("expected a speed above zero (1 plays at the recorded speed), found {0}")]
    Speed(f64),
    /// All packets of the file have the same time, so that repetitions would fall together.
    #[error("a file whose packets all have one time cannot be repeated")]
    NoPeriod,
}

impl TraceFlow {
    /// Returns the flow's packets, `repeat` times, `speed` times as fast (above zero; 1 plays at
    /// the recorded speed, exactly; another speed rounds each time to the nearest tick).
    ///
    /// A repetition starts one [`period`](TraceFlow::period) after the previous one: the whole
    /// file's span and one mean gap, so that the flows of a file stay together and its mean rate is
    /// kept. Repetition k's times are computed from k and do not drift. `u64::MAX` repeats until
    /// the times no longer fit a [`Span`] (5.8 years).
    ///
    /// # Errors
    ///
    /// [`ScheduleError`]; `repeat` above 1 needs packets at two different times.
    pub fn schedule(&self, speed: f64, repeat: u64) -> Result<Schedule<'_>, ScheduleError> {
        if !(speed.is_finite() && speed > 0.0) {
            return Err(ScheduleError::Speed(speed));
        }
        if repeat > 1 && self.period == Span::ZERO {
            return Err(ScheduleError::NoPeriod);
        }
        Ok(Schedule { flow: self, speed, repeat, next: 0 })
    }

    /// Returns packet `index` of that schedule (from 0, counted over all repetitions).
    pub(crate) fn packet_at(&self, index: u64, speed: f64, repeat: u64) -> Option<(Span, u32)> {
        let count = self.packets.len() as u64;
        let done = index.checked_div(count)?;
        if done >= repeat {
            return None;
        }
        let (time, bytes) = *self.packets.get((index % count) as usize)?;
        let recorded = done.checked_mul(self.period.ticks())?.checked_add(time.ticks())?;
        let played = match speed {
            1.0 => recorded,
            speed => (recorded as f64 / speed).round() as u64,
        };
        Some((Span::from_ticks(played), bytes))
    }
}

/// Iterator of [`TraceFlow::schedule`]: the time of each packet since the start of the first
/// repetition, and its size in bytes.
#[derive(Clone, Debug)]
pub struct Schedule<'a> {
    flow: &'a TraceFlow,
    speed: f64,
    repeat: u64,
    next: u64,
}

impl Iterator for Schedule<'_> {
    type Item = (Span, u32);

    fn next(&mut self) -> Option<(Span, u32)> {
        let packet = self.flow.packet_at(self.next, self.speed, self.repeat)?;
        self.next += 1;
        Some(packet)
    }
}
