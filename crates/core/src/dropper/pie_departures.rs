//! The rate at which a queue departs, as PIE measures it (RFC 8033, section 5.2).

use crate::units::{Rate, Span, TICKS_PER_SECOND, Time};

/// Bytes that must have departed for a measurement (DQ_THRESHOLD).
const MEASURED: u64 = 1 << 14;
/// The weight of one measurement.
const WEIGHT: f64 = 0.25;
/// The weight of one measurement in Linux.
const WEIGHT_IN_LINUX: f64 = 0.125;

/// The departure rate, held as the time of one byte.
#[derive(Clone, Copy, Default)]
pub(super) struct Departures {
    /// Ticks a byte at the link's rate.
    link: Option<f64>,
    /// Ticks a byte at the measured rate.
    measured: Option<f64>,
    /// Start of the measurement under way, and the bytes departed since.
    measuring: Option<(Time, u64)>,
}

impl Departures {
    /// Before the first measurement the link's rate stands for the measured one, if it is known.
    pub(super) fn of_link(rate: Option<Rate>) -> Departures {
        let fractions = f64::from(1u32 << Rate::FRACTION_BITS);
        let link = rate.map(|rate| rate.exact_time_for(1) as f64 / fractions);
        Departures { link, ..Departures::default() }
    }

    /// Time to send a queue of `queue` bytes, in seconds.
    pub(super) fn delay(&self, queue: u64) -> f64 {
        let ticks = self.measured.or(self.link).unwrap_or(0.0);
        queue as f64 * ticks / TICKS_PER_SECOND as f64
    }

    /// Returns true once a rate has been measured.
    pub(super) fn has_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// Counts a packet that has departed from a queue with `left` bytes remaining.
    pub(super) fn departed(&mut self, now: Time, len: u32, left: u64) {
        if let Some((since, departed)) = &mut self.measuring {
            *departed += u64::from(len);
            if *departed < MEASURED {
                return;
            }
            let ticks = now.since(*since).ticks() as f64 / *departed as f64;
            self.measured = Some(match self.measured {
                Some(before) => WEIGHT * ticks + (1.0 - WEIGHT) * before,
                None => ticks,
            });
        }
        self.measuring = (left >= MEASURED).then_some((now, 0));
    }

    /// Counts a packet that leaves `left` bytes behind as it is selected, as Linux does: the packet
    /// that begins a measurement counts, and the rate is averaged, not its inverse. Returns how long
    /// the measurement took that ends with it.
    pub(super) fn selected_in_linux(&mut self, now: Time, len: u32, left: u64) -> Option<Span> {
        if self.measuring.is_none() && left >= MEASURED {
            self.measuring = Some((now, 0));
        }
        let (since, departed) = self.measuring.as_mut()?;
        *departed += u64::from(len);
        let took = now.since(*since);
        if *departed < MEASURED || took == Span::ZERO {
            return None;
        }
        let ticks = took.ticks() as f64 / *departed as f64;
        self.measured = Some(match self.measured {
            Some(before) => 1.0 / (WEIGHT_IN_LINUX / ticks + (1.0 - WEIGHT_IN_LINUX) / before),
            None => ticks,
        });
        self.measuring = (left >= MEASURED).then_some((now, 0));
        Some(took)
    }
}
