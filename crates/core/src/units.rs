//! Times, spans and rates.
//!
//! One tick is 10 ps, held in a `u64`: 5.8 years of range, and a whole number of
//! ticks per byte at 800 Gbit/s. A [`Time`] is an instant, a [`Span`] the distance
//! between two. Rates are fixed-point ticks per byte, so that a packet's
//! transmission time is one multiplication.
//!
//! Rounding is stated once, here: [`Rate::time_for`] rounds to the nearest tick,
//! halves up. Additions saturate at [`Time::NEVER`].
//!
//! # Examples
//!
//! ```
//! use tidegate_core::units::{Rate, Span, Time};
//!
//! let rate = Rate::from_bits_per_second(12_000_000).unwrap();
//! assert_eq!(rate.time_for(1500), Span::from_millis(1));
//! let end = Time::ORIGIN + rate.time_for(1500);
//! assert_eq!(end.since(Time::ORIGIN), Span::from_micros(1000));
//! assert_eq!(Time::NEVER + Span::from_secs(1), Time::NEVER);
//! ```

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};

/// Ticks in one second: one tick is 10 ps.
pub const TICKS_PER_SECOND: u64 = 100_000_000_000;

/// An instant, in ticks of 10 ps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A distance between two instants, in ticks of 10 ps; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// Start of simulated time: well above zero, so that `now − P` with a head start `P` of up to
    /// 133 days cannot underflow. 5.7 years are left above it.
    pub const ORIGIN: Time = Time(1 << 60);
    /// Later than every instant: the stamp of a datagram, and the limit at which stamps saturate.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ticks` ticks of 10 ps after the zero of the scale.
    pub const fn from_ticks(ticks: u64) -> Time {
        Time(ticks)
    }

    /// Ticks of 10 ps since the zero of the scale.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// The span from `earlier` to `self`; zero when `earlier` is the later one.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` before this one; saturates at the zero of the scale.
    pub const fn before(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    /// Saturates at [`Time::NEVER`].
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return write!(f, "never");
        }
        // The origin is so late that a time has no room for its ticks in an f64.
        let ticks = i128::from(self.0) - i128::from(Time::ORIGIN.0);
        write!(f, "{}s", ticks as f64 / TICKS_PER_SECOND as f64)
    }
}

impl Span {
    /// A span of zero.
    pub const ZERO: Span = Span(0);
    /// The shortest span that is not zero: 10 ps.
    pub const TICK: Span = Span(1);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of `ticks` ticks of 10 ps.
    pub const fn from_ticks(ticks: u64) -> Span {
        Span(ticks)
    }

    /// A span of whole seconds; saturates.
    pub const fn from_secs(seconds: u64) -> Span {
        Span(seconds.saturating_mul(TICKS_PER_SECOND))
    }

    /// A span of milliseconds; saturates.
    pub const fn from_millis(milliseconds: u64) -> Span {
        Span(milliseconds.saturating_mul(TICKS_PER_SECOND / 1_000))
    }

    /// A span of microseconds; saturates.
    pub const fn from_micros(microseconds: u64) -> Span {
        Span(microseconds.saturating_mul(TICKS_PER_SECOND / 1_000_000))
    }

    /// The nearest span to `seconds`; zero for a negative number or NaN, saturating above.
    pub fn from_secs_f64(seconds: f64) -> Span {
        // A cast from f64 saturates and sends NaN to zero.
        Span(libm::round(seconds * TICKS_PER_SECOND as f64) as u64)
    }

    /// Ticks of 10 ps.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Seconds, rounded to an `f64`: for output, never for a decision.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }
}

impl Add for Span {
    type Output = Span;
    /// Saturates.
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    /// Stops at zero.
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.as_secs_f64())
    }
}

/// A rate, held as the time that one byte takes: fixed-point ticks of 10 ps with
/// 24 bits of fraction.
///
/// From 1 bit/s to 10 Tbit/s the stored value is within 2⁻²⁰ of the rate requested, and up to 33
/// Mbit/s within 2⁻³⁸.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    ticks_per_byte: NonZeroU64,
}

impl Rate {
    pub(crate) const FRACTION_BITS: u32 = 24;
    /// Half a tick.
    const HALF: u64 = 1 << (Self::FRACTION_BITS - 1);
    /// Bits per second in a rate of one stored unit per byte.
    const SCALE: u128 = (8 * TICKS_PER_SECOND as u128) << Self::FRACTION_BITS;
    /// The weight of a rate of one stored unit per byte. For any weight, this constant divided by
    /// it is the time that [`exact_time_for`](Self::exact_time_for) gives for one byte.
    pub(crate) const WEIGHT_SCALE: u128 = Self::SCALE << 16;
    /// The highest rate that can be represented, in bit/s.
    pub const MAX_BITS_PER_SECOND: u64 = 10_000_000_000_000;

    /// The rate of `bits` bits per second; `None` outside 1 bit/s to 10 Tbit/s.
    /// The time per byte is rounded to the nearest 2⁻²⁴ tick, halves up.
    pub const fn from_bits_per_second(bits: u64) -> Option<Rate> {
        if bits == 0 || bits > Self::MAX_BITS_PER_SECOND {
            return None;
        }
        let bits = bits as u128;
        match NonZeroU64::new(((Self::SCALE + bits / 2) / bits) as u64) {
            Some(ticks_per_byte) => Some(Rate { ticks_per_byte }),
            None => None,
        }
    }

    /// The transmission time of `bytes` bytes at this rate, to the nearest tick, halves up;
    /// saturates.
    #[inline]
    pub fn time_for(self, bytes: u32) -> Span {
        let fraction = u64::from(bytes).checked_mul(self.ticks_per_byte.get());
        match fraction.and_then(|ticks| ticks.checked_add(Self::HALF)) {
            Some(ticks) => Span(ticks >> Self::FRACTION_BITS),
            None => self.long_time_for(bytes),
        }
    }

    /// Like [`time_for`](Self::time_for), for times that do not fit into 64 bits with the fraction:
    /// above some ten days.
    #[cold]
    fn long_time_for(self, bytes: u32) -> Span {
        let ticks = u128::from(bytes) * u128::from(self.ticks_per_byte.get()) + u128::from(Self::HALF);
        Span(u64::try_from(ticks >> Self::FRACTION_BITS).unwrap_or(u64::MAX))
    }

    /// The exact transmission time of `bytes` bytes: in ticks with
    /// [`FRACTION_BITS`](Self::FRACTION_BITS) bits of fraction.
    #[inline]
    pub(crate) fn exact_time_for(self, bytes: u64) -> u128 {
        u128::from(bytes) * u128::from(self.ticks_per_byte.get())
    }

    /// The rate as a weight that can be summed: units of 2⁻¹⁶ bit/s, within 2⁻³⁸ of the stored
    /// rate; at most 2⁶⁰.
    pub(crate) fn weight(self) -> u64 {
        let held = u128::from(self.ticks_per_byte.get());
        ((Self::WEIGHT_SCALE + held / 2) / held) as u64
    }

    /// Whole bytes that pass in `span` at this rate; saturates.
    pub fn bytes_in(self, span: Span) -> u64 {
        let bytes = (u128::from(span.0) << Self::FRACTION_BITS) / u128::from(self.ticks_per_byte.get());
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Bytes that pass in `span` at this rate, to the nearest; saturates.
    pub fn bytes_in_about(self, span: Span) -> u64 {
        let half_a_byte = self.ticks_per_byte.get() >> (Self::FRACTION_BITS + 1);
        self.bytes_in(Span(span.0.saturating_add(half_a_byte)))
    }

    /// Bits per second: of the whole numbers stored as this rate, the one with the most trailing
    /// zeros, which is the rate that was stated. Above 3.6 Gbit/s several whole numbers are stored
    /// alike.
    pub fn bits_per_second(self) -> f64 {
        let held = u128::from(self.ticks_per_byte.get());
        let bits = (Self::SCALE + held / 2) / held;
        let in_tens = (0..=12).rev().map(|zeros| {
            let unit = 10u128.pow(zeros);
            (bits + unit / 2) / unit * unit
        });
        let stated = in_tens.into_iter().find(|bits| {
            let bits = u64::try_from(*bits).unwrap_or(u64::MAX);
            Rate::from_bits_per_second(bits) == Some(self)
        });
        stated.unwrap_or(bits) as f64
    }
}

/// Ordered by rate: the faster one is the greater one.
impl Ord for Rate {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        other.ticks_per_byte.cmp(&self.ticks_per_byte)
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}bit/s", self.bits_per_second())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bits: u64) -> Rate {
        Rate::from_bits_per_second(bits).unwrap()
    }

    #[test]
    fn a_byte_at_800_gbit_is_one_tick() {
        assert_eq!(rate(800_000_000_000).time_for(1), Span::from_ticks(1));
        assert_eq!(rate(400_000).time_for(250), Span::from_millis(5));
        assert_eq!(rate(1).time_for(1500), Span::from_secs(12_000));
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        assert_eq!(Rate::from_bits_per_second(0), None);
        assert_eq!(Rate::from_bits_per_second(Rate::MAX_BITS_PER_SECOND + 1), None);
    }

    #[test]
    fn time_for_rounds_to_nearest() {
        // 33 Mbit/s: one byte is 24 242.42… ticks.
        assert_eq!(rate(33_000_000).time_for(1), Span::from_ticks(24_242));
        assert_eq!(rate(33_000_000).time_for(250), Span::from_ticks(6_060_606));
        assert_eq!(rate(33_000_000).time_for(1500), Span::from_ticks(36_363_636));
    }

    #[test]
    fn a_time_is_shown_to_the_tick() {
        assert_eq!(format!("{:?}", Time::ORIGIN + Span::from_millis(148)), "0.148s");
        assert_eq!(format!("{:?}", Time::ORIGIN + Span::from_ticks(1)), "0.00000000001s");
    }

    #[test]
    fn a_rate_is_shown_as_it_was_stated() {
        let odd = [1, 7, 64_000, 33_333_333, 999_999_999, 3_599_999_999];
        let fast =
            [33, 40, 100, 123, 400, 800, 999, 1_000, 2_500, 9_999, 10_000].map(|giga| giga * 1_000_000_000);
        for bits in odd.into_iter().chain(fast) {
            assert_eq!(rate(bits).bits_per_second(), bits as f64);
        }
    }

    #[test]
    fn two_years_fit_and_stamps_saturate() {
        let two_years = Span::from_secs(2 * 366 * 86_400);
        assert!((Time::ORIGIN + two_years).since(Time::ORIGIN) == two_years);
        assert_eq!(Time::ORIGIN + Span::MAX, Time::NEVER);
        assert_eq!(rate(1).time_for(u32::MAX), Span::MAX);
    }

    #[test]
    fn a_faster_rate_is_greater() {
        assert!(rate(2) > rate(1));
        assert_eq!(rate(10_000_000).bytes_in(Span::from_secs(1)), 1_250_000);
    }
}
