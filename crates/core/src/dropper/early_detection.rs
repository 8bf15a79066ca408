//! Random early detection (Floyd and Jacobson 1993): the average queue, the probability that
//! follows from it, and the spacing of drops. It is shared by the droppers that drop or mark at
//! random by an average queue.
//!
//! ```text
//! avg ← (1 − w) · avg + w · q                          at an arrival at a queue q > 0
//! avg ← (1 − w)^m · avg                                at an arrival at an empty queue, m = idle time / s
//! p_b = max_p · (avg − min_th) / (max_th − min_th)     where min_th ≤ avg < max_th
//! p_a = p_b / (1 − count · p_b)                        1 where count · p_b ≥ 1, or p_a > 1
//! ```

use super::Occupancy;
use crate::context::{Reason, Verdict};
use crate::params::{Fault, Limit, Marking, words};
use crate::rng::Rng;
use crate::stats::Count;
use crate::units::{Rate, Time};
use alloc::format;

words! {
    /// Signal of congestion.
    pub enum Signal {
        /// By drops alone, also of packets that could be marked.
        Drop = "drop",
        /// By marks below the upper threshold, by drops above it (RFC 3168, section 7).
        MarkThenDrop = "mark-then-drop",
        /// By marks also above the upper threshold, until the queue is at its limit.
        Mark = "mark",
    }
}

impl Signal {
    /// Marking asked for by the parameter named `by`, which has this value.
    pub(super) fn marking(self, by: &'static str) -> Marking {
        match self {
            Signal::Drop => Marking::Never,
            Signal::MarkThenDrop | Signal::Mark => Marking::EcnCapable { by: Some(by) },
        }
    }
}

words! {
    /// Choice of packets above the upper threshold.
    pub enum Slope {
        /// Every packet is chosen above the threshold.
        Step = "step",
        /// The probability rises from the threshold on, to 1 at twice the threshold (Floyd 2000).
        Gentle = "gentle",
    }
}

/// The server behind a queue, with the transmission time of a typical packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    /// The length of a typical packet, in bytes.
    typical: u32,
    /// Its transmission time in ticks; `None` when the rate is not known.
    ticks: Option<f64>,
}

impl Server {
    pub(super) fn new(typical: u32) -> Server {
        Server { typical, ticks: None }
    }

    pub(super) fn set_rate(&mut self, rate: Option<Rate>) {
        let fractions = f64::from(1u32 << Rate::FRACTION_BITS);
        self.ticks = rate.map(|rate| rate.exact_time_for(self.typical.into()) as f64 / fractions);
    }
}

/// An average queue: exponentially weighted, over arrivals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Average {
    /// In packets or in bytes.
    value: f64,
    /// The weight of one arrival (w).
    weight: f64,
    /// The logarithm of 1 − w: a power of it takes an exponential alone.
    log_kept: f64,
    /// Time since which the queue has been empty; `NEVER` while it is not.
    idle_since: Time,
    /// Typical packets that could have been sent before `idle_since`, since the queue became empty.
    passed: f64,
}

impl Average {
    pub(super) fn new(weight: f64) -> Average {
        Average { value: 0.0, weight, log_kept: libm::log1p(-weight), idle_since: Time::NEVER, passed: 0.0 }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Includes the queue found by an arriving packet in the average. Without a known rate, an
    /// empty queue is one sample (m = 1).
    #[inline]
    pub(super) fn arrive(&mut self, now: Time, queue: f64, server: &Server) -> f64 {
        if queue > 0.0 {
            self.sample(queue);
        } else {
            self.pass_idle(now, server);
            let samples = if server.ticks.is_some() { self.passed } else { self.passed + 1.0 };
            if self.value > 0.0 && samples > 0.0 {
                self.value *= libm::exp(self.log_kept * samples);
            }
            // Should the packet not join, the queue stays empty.
            self.emptied(now);
        }
        self.value
    }

    /// Includes a queue in the average, whatever time has passed.
    #[inline]
    pub(super) fn sample(&mut self, queue: f64) -> f64 {
        //= clark1998 III.B
        self.value = (1.0 - self.weight) * self.value + self.weight * queue;
        self.value
    }

    /// Records that the queue is empty from now on.
    #[inline]
    pub(super) fn emptied(&mut self, now: Time) {
        (self.idle_since, self.passed) = (now, 0.0);
    }

    /// Counts the packets that could have been sent in an idle time until now: before an arrival,
    /// and before the rate changes.
    pub(super) fn pass_idle(&mut self, now: Time, server: &Server) {
        if let Some(ticks) = server.ticks {
            self.passed += now.since(self.idle_since).ticks() as f64 / ticks;
        }
        self.idle_since = now;
    }
}

/// The thresholds of the average, and the probability between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    min: f64,
    max: f64,
    max_p: f64,
    slope: Slope,
}

/// Choice of packets at an average.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Nothing,
    /// Packets are chosen with this probability (p_b).
    Some(f64),
    All,
}

impl Thresholds {
    pub(super) fn new(min: Limit, max: Limit, max_p: f64, slope: Slope) -> Thresholds {
        let units = |limit| match limit {
            Limit::Packets(units) | Limit::Bytes(units) => units as f64,
        };
        Thresholds { min: units(min), max: units(max), max_p, slope }
    }

    fn ask(&self, average: f64) -> Asked {
        let Thresholds { min, max, max_p, slope } = *self;
        //= clark1998 III.B
        if average < min {
            Asked::Nothing
        } else if average < max {
            Asked::Some(max_p * (average - min) / (max - min))
        } else if slope == Slope::Gentle && average < 2.0 * max {
            Asked::Some(max_p + (1.0 - max_p) * (average - max) / max)
        } else {
            Asked::All
        }
    }

    /// The probability p_b at this average, before it is scaled by a packet's length.
    pub(super) fn probability(&self, average: f64) -> f64 {
        match self.ask(average) {
            Asked::Nothing => 0.0,
            Asked::Some(p) => p,
            Asked::All => 1.0,
        }
    }
}

/// The choice of packets at an average between the thresholds, with a probability p.
pub(super) trait Choice {
    /// Returns true if a packet is chosen.
    fn chooses(&mut self, p: f64, rng: &mut Rng) -> bool;

    /// Begins the next distance.
    fn restart(&mut self);
}

/// The spacing of drops: with a constant probability p, the distance from one packet that is chosen
/// to the next is uniform over 1, 2, …, 1/p.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DropSpacing {
    /// Packets since the last one that was chosen, or since the average was below its thresholds
    /// (count).
    count: u64,
}

impl Choice for DropSpacing {
    /// Draws no number when the choice is certain.
    #[inline]
    fn chooses(&mut self, p: f64, rng: &mut Rng) -> bool {
        let left = 1.0 - self.count as f64 * p;
        let chosen = p >= left || rng.chance(p / left);
        self.count = if chosen { 0 } else { self.count + 1 };
        chosen
    }

    #[inline]
    fn restart(&mut self) {
        self.count = 0;
    }
}

/// Settings of a queue as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// The longest queue.
    pub(super) limit: Option<Limit>,
    pub(super) signal: Signal,
    /// The average queue is in bytes.
    in_bytes: bool,
    /// The mean length of packets, by which a packet's length scales its probability; `None` where
    /// it does not.
    pub(super) mean: Option<f64>,
}

impl Settings {
    /// Settings in packets or bytes, as the thresholds are.
    pub(super) fn new(limit: Option<Limit>, signal: Signal, mean: u32, threshold: Limit) -> Settings {
        let in_bytes = matches!(threshold, Limit::Bytes(_));
        Settings { limit, signal, in_bytes, mean: in_bytes.then(|| f64::from(mean)) }
    }

    /// A queue's length in the unit of the thresholds.
    #[inline]
    pub(super) fn length(&self, queue: Count) -> f64 {
        if self.in_bytes { queue.bytes as f64 } else { queue.packets as f64 }
    }

    /// Judges a packet of `len` bytes at this average.
    #[inline]
    pub(super) fn judge(
        &self,
        thresholds: &Thresholds,
        spacing: &mut impl Choice,
        average: f64,
        (len, at): (u32, &Occupancy),
        rng: &mut Rng,
    ) -> Verdict {
        if self.limit.is_some_and(|limit| !at.has_room(limit, len)) {
            spacing.restart();
            return Verdict::Drop(Reason::QueueLimit);
        }
        match thresholds.ask(average) {
            Asked::Nothing => {
                spacing.restart();
                Verdict::Accept
            }
            Asked::Some(p) => {
                let scaled = self.mean.map_or(p, |mean| p * f64::from(len) / mean);
                match (spacing.chooses(scaled, rng), self.signal) {
                    (false, _) => Verdict::Accept,
                    (true, Signal::Drop) => Verdict::Drop(Reason::EarlyDrop),
                    (true, _) => Verdict::Congested(Reason::EarlyDrop),
                }
            }
            Asked::All => {
                spacing.restart();
                match self.signal {
                    //= clark1998 IV.C
                    Signal::Mark => Verdict::Congested(Reason::ForcedDrop),
                    _ => Verdict::Drop(Reason::ForcedDrop),
                }
            }
        }
    }
}

/// A pair of thresholds with its probability, as stated, each with its key.
pub(super) struct ThresholdArgs {
    pub(super) min: (&'static str, Limit),
    pub(super) max: (&'static str, Limit),
    pub(super) max_p: (&'static str, f64),
}

/// Checks the thresholds of one average queue, its weight and its limit.
///
/// # Errors
/// When two thresholds have different units or are not in their order, and when a probability or
/// the weight is zero.
pub(super) fn check(stated: &[ThresholdArgs], weight: f64, limit: Option<Limit>) -> Result<(), Fault> {
    let in_bytes = |limit: Limit| matches!(limit, Limit::Bytes(_));
    let units = |limit: Limit| match limit {
        Limit::Packets(units) | Limit::Bytes(units) => units,
    };
    let thresholds = stated.iter().flat_map(|stated| [stated.min, stated.max]);
    if let Some(first) = stated.first().map(|stated| stated.min) {
        let mut others = thresholds.filter(|(_, threshold)| in_bytes(*threshold) != in_bytes(first.1));
        if let Some((key, _)) = others.next() {
            let message = format!("`{key}` and `{}` are not both in packets or both in bytes", first.0);
            return Err(Fault::at(key, message));
        }
    }
    for ThresholdArgs { min, max, max_p } in stated {
        if units(min.1) > units(max.1) {
            return Err(Fault::at(min.0, format!("`{}` is above `{}`", min.0, max.0)));
        }
        if max_p.1 <= 0.0 {
            return Err(Fault::at(max_p.0, format!("`{}` is not above 0", max_p.0)));
        }
        // Packets and bytes do not compare.
        let comparable = limit.filter(|limit| in_bytes(*limit) == in_bytes(max.1));
        if comparable.is_some_and(|limit| units(limit) < units(max.1)) {
            return Err(Fault::at("limit", format!("`limit` is below `{}`", max.0)));
        }
    }
    if weight <= 0.0 {
        return Err(Fault::at("weight", "`weight` is not above 0"));
    }
    Ok(())
}
