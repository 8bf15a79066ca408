//! Contracts (W, r, r̂) that fit recorded packets.
//!
//! Every rate r from the mean rate up has its W, the longest backlog at an ideal server of that
//! rate: the higher the reservation, the less the packets are ahead of it. Sending them through
//! such a server smooths them to r, at the cost of the delay there.
//!
//! Source: Pincheira 1994, section 2.1.

use super::suggest::{self, Observation, rate_from};
use super::{Trace, Video};
use std::sync::Arc;
use tidegate_core::stats::{Workahead, nearest_rank};
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

/// Packets in the order of time, or the frames of a video, each as one packet that arrives as a
/// whole.
#[derive(Clone, Debug)]
pub struct Arrivals {
    packets: Packets,
    /// The time that they span, over which their mean rate is taken.
    duration: Span,
    /// The peak rate in bit/s, where the gaps between them do not determine it.
    peak: Option<u64>,
}

#[derive(Clone, Debug)]
enum Packets {
    /// One flow of a file, by its place.
    Flow(Arc<Trace>, usize),
    Own(Vec<(Span, u32)>),
}

/// Workahead and delays of packets at a server of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtRate {
    /// W in bytes, exact and then rounded up.
    pub workahead: u64,
    /// The longest delay, from a packet's arrival until its last bit is sent.
    pub delay_max: Span,
    /// The 99th percentile (nearest rank) of these delays.
    pub delay_p99: Span,
}

/// A contract that the packets conform to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitting {
    /// r in bit/s: of at most three significant digits.
    pub reserve: u64,
    /// W in bytes: at least the exact one, and such that a token bucket of this depth, which rounds
    /// times to ticks, passes all of them.
    pub workahead: u64,
    /// r̂ in bit/s: of at most three significant digits, at least r.
    pub peak: u64,
}

impl Arrivals {
    /// Joins the packets of these flows of a trace, by their places, into one flow. Their duration
    /// is the time from the first to the last, and one mean gap.
    ///
    /// # Panics
    /// When there is no such flow, or none is given.
    pub fn of_flows(trace: &Arc<Trace>, flows: &[usize]) -> Arrivals {
        let packets = match *flows {
            [one] => Packets::Flow(trace.clone(), one),
            _ => {
                let all = flows.iter().flat_map(|flow| trace.flows[*flow].packets.iter().copied());
                let mut all: Vec<_> = all.collect();
                // A stable sort: among packets of one time, those of the flow given first come
                // first.
                all.sort_by_key(|(time, _)| *time);
                Packets::Own(all)
            }
        };
        let mut arrivals = Arrivals { packets, duration: Span::ZERO, peak: None };
        let packets = arrivals.packets();
        let life = packets[packets.len() - 1].0 - packets[0].0;
        let gap = life.ticks() / (packets.len() as u64 - 1).max(1);
        arrivals.duration = life + Span::from_ticks(gap);
        arrivals
    }

    /// Returns the frames of a video of `fps` frames a second, above zero: each arrives as a whole
    /// at the beginning of its interval. Their peak rate sends the largest in one interval. `None`
    /// when they take longer than time can be.
    pub fn of_video(video: &Video, fps: f64) -> Option<Arrivals> {
        let begins = |nth: usize| {
            let ticks = nth as f64 * TICKS_PER_SECOND as f64 / fps;
            // Sums with half of all time do not overflow.
            (ticks < (u64::MAX / 4) as f64).then(|| Span::from_ticks(ticks as u64))
        };
        let duration = begins(video.frames.len())?;
        let frames = video.frames.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
        let frames = frames.map(|(nth, bytes)| (begins(nth).unwrap_or(duration), *bytes)).collect();
        let largest = video.frames.iter().copied().max().unwrap_or(0);
        // A cast saturates: the value is above every rate.
        let peak = (f64::from(largest) * 8.0 * fps).ceil() as u64;
        Some(Arrivals { packets: Packets::Own(frames), duration, peak: Some(peak) })
    }

    fn packets(&self) -> &[(Span, u32)] {
        match &self.packets {
            Packets::Flow(trace, flow) => &trace.flows[*flow].packets,
            Packets::Own(packets) => packets,
        }
    }

    /// Returns the number of packets.
    pub fn count(&self) -> usize {
        self.packets().len()
    }

    /// Returns the bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.packets().iter().map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// Returns the time that they span.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// Returns true if some of them have equal times, faster than any peak rate taken from gaps
    /// between times.
    pub fn has_equal_times(&self) -> bool {
        self.packets().windows(2).any(|pair| pair[0].0 == pair[1].0)
    }

    /// Returns the observed rates, workahead and sizes.
    pub fn observe(&self) -> Observation {
        let seen = suggest::observe_over(self.packets(), self.duration);
        Observation { peak_rate: self.peak.or(seen.peak_rate), ..seen }
    }

    /// Returns rates in bit/s from the mean rate to the peak rate, both included, in steps of one
    /// factor: at most `points` of them, at least 2. None when all packets have one time.
    pub fn rates(&self, points: usize) -> Vec<u64> {
        let seen = self.observe();
        let (Some(mean), Some(peak)) = (seen.mean_rate, seen.peak_rate) else { return Vec::new() };
        let mean = mean.clamp(1, Rate::MAX_BITS_PER_SECOND);
        let peak = peak.clamp(mean, Rate::MAX_BITS_PER_SECOND);
        let last = points.max(2) - 1;
        let factor = peak as f64 / mean as f64;
        let at = |point: usize| (mean as f64 * factor.powf(point as f64 / last as f64)).round() as u64;
        let inner = (1..last).map(at).filter(|rate| (mean..peak).contains(rate));
        let mut rates: Vec<u64> = std::iter::once(mean).chain(inner).chain([peak]).collect();
        rates.dedup();
        rates
    }

    /// Returns workahead and delays at a server of `bits` bit/s; `None` if that is not a rate.
    pub fn at(&self, bits: u64) -> Option<AtRate> {
        let mut ideal = Workahead::new(Rate::from_bits_per_second(bits)?);
        let packets = self.packets().iter();
        let mut delays: Vec<Span> =
            packets.map(|(time, bytes)| ideal.see(Time::ORIGIN + *time, *bytes)).collect();
        let delay_max = delays.iter().copied().max()?;
        let delay_p99 = nearest_rank(&mut delays, 99, 100)?;
        Some(AtRate { workahead: ideal.max_backlog(), delay_max, delay_p99 })
    }

    /// Returns the contract that they conform to with the lowest reservation of at least `bits`
    /// bit/s that has three digits. `None` if that is not a rate.
    pub fn contract(&self, bits: u64) -> Option<Fitting> {
        let reserve = rate_from(bits.clamp(1, Rate::MAX_BITS_PER_SECOND));
        let peak = self.observe().peak_rate.unwrap_or(0).min(Rate::MAX_BITS_PER_SECOND);
        let AtRate { mut workahead, delay_max, .. } = self.at(reserve)?;
        let rate = Rate::from_bits_per_second(reserve)?;
        while u32::try_from(workahead).is_ok_and(|bytes| rate.time_for(bytes) < delay_max) {
            workahead += 1;
        }
        Some(Fitting { reserve, workahead, peak: rate_from(peak.max(reserve)) })
    }
}
