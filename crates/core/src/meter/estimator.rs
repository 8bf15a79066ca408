//! Estimators of the rate of a profile's traffic.
//!
//! The time sliding window (TSW; Clark and Fang 1998, Figure 4; RFC 2859, section 2) remembers
//! about a window's length W of the past. At a packet of `size` bytes, a gap after the one before
//! it,
//!
//! ```text
//! average = (average * W + size) / (gap + W)
//! ```
//!
//! Traffic of a constant rate keeps an average of that rate, whatever its packets. The previous
//! average decays by W / (gap + W) with a packet: over a window of many small gaps by e, more
//! exactly by (1 + g/W)^(W/g) for gaps of g, which is e but for a factor between 1 and exp(−g /
//! 2W).
//!
//! The exponentially weighted moving average (EWMA) that the paper argues against (footnote 3)
//! takes the rate of each packet, its size over the gap before it, with the weight 1/n: it decays
//! by packets, not by time.
//!
//! Choices where both texts are silent:
//! - "T_front = 0" is read as the time of the profile's first packet: a window begins when the
//!   traffic does, and no order of events depends on where the clock starts.
//! - To the EWMA, packets that come at one instant are one packet: there is no rate without a gap.
//! - A changed target, or a changed window, leaves the average as it is.
//!
//! Averages are `f64`, in bytes a tick: sums, products and quotients alone, which are the same on
//! every machine.

use super::ProfileIx;
use super::profiles::Profiles;
use crate::contract::Contract;
use crate::params::Fault;
use crate::units::{Rate, Span, Time};

/// Average of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Average {
    /// Average over a time sliding window of this length.
    Window(Span),
    /// Average over packets, each with the weight 1/n for this n.
    Packets(u16),
}

impl Average {
    /// Average asked for by two keys, of which one is given.
    ///
    /// # Errors
    /// When both are given, or none, or the window is zero.
    pub fn of(window: Option<Span>, packets: Option<u16>) -> Result<Average, Fault> {
        match (window, packets) {
            (Some(Span::ZERO), _) => Err(Fault::at("window", "`window` is zero")),
            (Some(window), None) => Ok(Average::Window(window)),
            (None, Some(packets)) => Ok(Average::Packets(packets)),
            (Some(_), Some(_)) => Err(Fault::at(
                "packets",
                "`packets` and `window` contradict each other: an average is over packets, or over time",
            )),
            (None, None) => Err(Fault::at("window", "`window` is missing")),
        }
    }
}

/// Checks that an average that follows round-trip times is over a window.
///
/// # Errors
/// When the average is over packets.
pub(super) fn check_round_trips(packets: Option<u16>, round_trips: Option<u16>) -> Result<(), Fault> {
    match packets.and(round_trips) {
        Some(_) => Err(Fault::at("round_trips", "`round_trips` has no effect on an average over packets")),
        None => Ok(()),
    }
}

/// A rate in bytes a tick.
pub type BytesPerTick = f64;

/// Rates of a profile, all in bytes a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The estimate, the present packet included.
    pub average: BytesPerTick,
    /// The target rate: R_T, or CTR; zero for a profile without a reservation.
    pub target: BytesPerTick,
    /// The peak target rate (PTR), at least the target.
    pub peak: BytesPerTick,
}

/// The estimator of one profile.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    rates: Rates,
    /// The window's length in ticks, or the weight of a packet.
    memory: f64,
    /// Time of the last packet (T_front); `NEVER` before the first packet, which thus comes without
    /// a gap.
    front: Time,
    /// Bytes that came at `front` and are not yet averaged: there was no gap (EWMA).
    pending: f64,
}

impl Estimate {
    /// The rates at a packet of `len` bytes.
    #[inline]
    pub(super) fn see(&mut self, average: Average, now: Time, len: u32) -> Rates {
        let Estimate { rates, memory, front, pending } = self;
        let (gap, size) = (now.since(*front).ticks() as f64, f64::from(len));
        match average {
            //= clark1998 III.C
            Average::Window(_) => rates.average = (rates.average * *memory + size) / (gap + *memory),
            //= clark1998 III.C
            Average::Packets(_) if gap > 0.0 => {
                rates.average = (1.0 - *memory) * rates.average + *memory * ((*pending + size) / gap);
                *pending = 0.0;
            }
            Average::Packets(_) => *pending += size,
        }
        *front = now;
        *rates
    }
}

/// The estimators of a meter's profiles, and the usage of each.
pub(super) struct Estimators {
    pub(super) average: Average,
    /// Window of a profile in round-trip times, once one was measured; `None` for a fixed window.
    round_trips: Option<u16>,
    pub(super) profiles: Profiles<Estimate>,
}

fn per_tick(rate: Option<Rate>) -> BytesPerTick {
    let ticks_per_byte = |rate: Rate| rate.exact_time_for(1) as f64 / (1u64 << Rate::FRACTION_BITS) as f64;
    rate.map_or(0.0, |rate| 1.0 / ticks_per_byte(rate))
}

impl Estimators {
    pub(super) fn new(average: Average) -> Estimators {
        let memory = match average {
            Average::Window(window) => window.ticks() as f64,
            Average::Packets(packets) => 1.0 / f64::from(packets),
        };
        let rates = Rates { average: 0.0, target: 0.0, peak: 0.0 };
        let newcomer = Estimate { rates, memory, front: Time::NEVER, pending: 0.0 };
        Estimators { average, round_trips: None, profiles: Profiles::new(newcomer) }
    }

    /// Sets windows to `round_trips` round-trip times, once one was measured.
    pub(super) fn following(self, round_trips: Option<u16>) -> Estimators {
        Estimators { round_trips, ..self }
    }

    /// Opens a profile or changes its targets. Its average starts at the target.
    pub(super) fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        let estimate = self.profiles.open(profile);
        let (target, peak) = (per_tick(terms.reserve), per_tick(terms.peak_rate()));
        let average = if estimate.front == Time::NEVER { target } else { estimate.rates.average };
        estimate.rates = Rates { average, target, peak };
    }

    /// Returns true if windows follow round-trip times.
    pub(super) fn follows_round_trips(&self) -> bool {
        self.round_trips.is_some()
    }

    /// Sets the window from a round-trip time measured by the profile's transport. A time of zero
    /// leaves the window as it is.
    pub(super) fn set_round_trip(&mut self, profile: ProfileIx, round_trip: Span) {
        if let Some(times) = self.round_trips.filter(|_| round_trip > Span::ZERO) {
            // Beyond the range of a span, the product is still a window.
            self.profiles.open(profile).memory = round_trip.ticks() as f64 * f64::from(times);
        }
    }

    /// Time from which a new profile would be no better off: its average, decayed, is at the
    /// target.
    pub(super) fn forgettable_at(&self, profile: ProfileIx) -> Time {
        let Some(Estimate { rates, memory, front, .. }) = self.profiles.get(profile) else {
            return Time::from_ticks(0);
        };
        if *front == Time::NEVER || rates.target == 0.0 || rates.average <= rates.target {
            return Time::from_ticks(0);
        }
        match self.average {
            Average::Window(_) => {
                // A cast saturates.
                *front + Span::from_ticks(((rates.average / rates.target - 1.0) * memory) as u64)
            }
            // The average does not decay with time.
            Average::Packets(_) => Time::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: ProfileIx = ProfileIx(0);

    fn see(estimators: &mut Estimators, now: Time, len: u32) -> Rates {
        let average = estimators.average;
        estimators.profiles.get_mut(ONE).unwrap().state.see(average, now, len)
    }

    fn rate(bits: u64) -> Rate {
        Rate::from_bits_per_second(bits).unwrap()
    }

    /// Estimators with one profile, whose target is `target` bits a second.
    fn estimator(average: Average, target: u64) -> Estimators {
        let mut estimators = Estimators::new(average);
        let terms = Contract { reserve: Some(rate(target)), ..Contract::default() };
        estimators.set_profile(ONE, &terms);
        estimators
    }

    fn window(millis: u64) -> Average {
        Average::Window(Span::from_millis(millis))
    }

    /// RFC 2859, section 2, by hand: a window of 1 s and a target of 1000 bytes a second.
    #[test]
    fn the_window_slides_as_in_the_rfc() {
        let mut tsw = estimator(window(1000), 8000);
        let mut now = Time::ORIGIN;
        // (1000 * 1 + 500) / (0 + 1), then (1500 + 500) / (1 + 1), then (1000 + 200) / (3 + 1).
        for (seconds, size, expected) in [(0, 500, 1500.0), (1, 500, 1000.0), (3, 200, 300.0)] {
            now += Span::from_secs(seconds);
            let average = see(&mut tsw, now, size).average * 1e11;
            assert!((average - expected).abs() < 1e-9, "{average} for {expected}");
        }
    }

    proptest! {
        /// Traffic of a constant rate, in packets of any sizes, keeps the average at that rate, and
        /// brings it there: at most W / (W + the gaps) is left of the start.
        #[test]
        fn a_constant_rate_is_the_estimate(
            sizes in prop::collection::vec(1u32..65_536, 300),
            target in 1u64..100,
            sent in prop::sample::select(vec![80_000u64, 8_000_000, 800_000_000]),
        ) {
            // A whole number of ticks a byte.
            let sent = rate(sent);
            let mut tsw = estimator(window(20), target * 100_000);
            let mut now = Time::ORIGIN;
            tsw.profiles.get_mut(ONE).unwrap().state.front = now;
            let off = |tsw: &Estimators| tsw.profiles.get(ONE).unwrap().rates.average / per_tick(Some(sent)) - 1.0;
            let start = off(&tsw);
            for size in sizes {
                now += sent.time_for(size);
                see(&mut tsw, now, size);
            }
            let windows = now.since(Time::ORIGIN).ticks() as f64 / Span::from_millis(20).ticks() as f64;
            prop_assert!(off(&tsw).abs() <= start.abs() / (1.0 + windows) + 1e-9);
        }

        /// The previous average decays by e over a window of small gaps g_i: the factor is between
        /// 1/e and 1/e times exp(Σ g_i² / 2W²), whatever comes in between. The factor of the EWMA
        /// is (1 − 1/n) with a packet, after any gaps.
        #[test]
        fn the_past_decays_by_e_over_a_window(
            packets in prop::collection::vec((1u64..100, 1u32..1501), 50..400),
            n in 2u16..100,
        ) {
            let total: u64 = packets.iter().map(|(gap, _)| gap).sum();
            let window = Average::Window(Span::from_ticks(total * 1_000_000));
            for average in [window, Average::Packets(n)] {
                let mut both = [10_000_000, 20_000_000].map(|target| estimator(average, target));
                let mut now = Time::ORIGIN;
                both.iter_mut().for_each(|one| _ = see(one, now, 1));
                let apart = |both: &[Estimators; 2]| {
                    let [one, other] = both.each_ref().map(|one| one.profiles.get(ONE).unwrap().rates.average);
                    other - one
                };
                let before = apart(&both);
                for (gap, size) in &packets {
                    now += Span::from_ticks(gap * 1_000_000);
                    both.iter_mut().for_each(|one| _ = see(one, now, *size));
                }
                let decayed = apart(&both) / before;
                let (least, most) = match average {
                    Average::Window(_) => {
                        let squares: f64 = packets.iter().map(|(gap, _)| (*gap as f64 / total as f64).powi(2)).sum();
                        ((-1.0f64).exp(), (squares / 2.0 - 1.0).exp())
                    }
                    Average::Packets(n) => {
                        let left = (1.0 - 1.0 / f64::from(n)).powi(packets.len() as i32);
                        (left, left)
                    }
                };
                // Rates of packets are up to about 1e6 times those that are compared.
                let rounding = 1e-6;
                prop_assert!(least - rounding <= decayed && decayed <= most + rounding, "{least} {decayed} {most}");
            }
        }

        /// From one bit to ten terabit a second, after gaps of a tick and of years, an average is a
        /// number, and above zero.
        #[test]
        fn averages_stay_finite(
            packets in prop::collection::vec((0u64..64, 1u32..65_536), 1..200),
            target in prop::sample::select(vec![1, 64_000, Rate::MAX_BITS_PER_SECOND]),
            average in prop::sample::select(vec![
                Average::Window(Span::TICK), window(100), Average::Window(Span::MAX), Average::Packets(1), Average::Packets(65_535),
            ]),
        ) {
            let mut estimators = estimator(average, target);
            let mut now = Time::ORIGIN;
            for (gap, size) in packets {
                now += Span::from_ticks(1 << (gap / 2) << (gap / 2));
                let rates = see(&mut estimators, now, size);
                prop_assert!(rates.average.is_finite() && rates.average > 0.0, "{rates:?}");
            }
        }
    }
}
