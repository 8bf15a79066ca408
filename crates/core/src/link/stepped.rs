//! A link whose rate changes at stated times, or that is down for a while.
//!
//! Bits leave at the rate of their moment: a packet that is being sent when the rate changes goes on
//! at the new one, and when the link goes down, the rest of it leaves once the link is up again. No
//! packet starts on a link that is down.

use super::Steps;
use crate::units::{Rate, Span, Time};
use alloc::sync::Arc;

/// The rates of a link; `None` while it is down.
pub type RateSteps = Steps<Option<Rate>>;

/// Binary digits of a byte's fraction: the rest of a packet is counted to 2⁻⁴⁰ bytes.
const FRACTION: u32 = 40;

/// A link that sends at rates that change: it computes the start and the end of each packet.
#[derive(Clone, Debug)]
pub struct SteppedLink {
    rates: Arc<RateSteps>,
    start: Time,
    /// 2⁻⁴⁰ bytes of a whole period; zero without one.
    of_period: u128,
    /// The start, the end and the length of the latest packet.
    latest: (Time, Time, u32),
    /// Bytes of all packets that have started.
    taken: u64,
}

impl SteppedLink {
    /// Creates a link whose changes count from `start`.
    pub fn new(rates: Arc<RateSteps>, start: Time) -> SteppedLink {
        let of_period = rates.period().map_or(0, |period| sent_by(&rates, period));
        SteppedLink { rates, start, of_period, latest: (start, start, 0), taken: 0 }
    }

    /// The rates of the link.
    pub fn rates(&self) -> &RateSteps {
        &self.rates
    }

    /// Returns when a packet that is there at `now` may start: at `now`, or when the link is up
    /// again; [`Time::NEVER`] if that is never.
    pub fn opens(&self, now: Time) -> Time {
        let mut at = now;
        loop {
            match self.at(at) {
                (Some(_), _) => return at,
                (None, end) if end == Time::NEVER || self.is_down_for_ever(at) => return Time::NEVER,
                (None, end) => at = end,
            }
        }
    }

    /// Starts a packet of `len` bytes, at `now` or when the link [`opens`](Self::opens). Returns
    /// when its last bit is out, at least a tick later; [`Time::NEVER`] if that is never.
    pub fn departure(&mut self, now: Time, len: u32) -> Time {
        let begun = self.opens(now);
        let ends = self.end(begun, len).max(begun + Span::TICK);
        (self.latest, self.taken) = ((begun, ends, len), self.taken + u64::from(len));
        ends
    }

    /// Returns when the last bit of a packet is out that starts at `at`; [`Time::NEVER`] if that is
    /// never.
    fn end(&self, mut at: Time, len: u32) -> Time {
        let mut left = u128::from(len) << FRACTION;
        // Sum of roundings so far, at most: so little is not left for the next rate.
        let mut rounded = 0;
        if let (Some(period), 1..) = (self.rates.period(), self.of_period) {
            // A period sends as much from whichever of its moments on: that, or one for each rounding
            // more.
            let roundings = self.rates.values().count() as u128;
            let whole = left.saturating_sub(1) / (self.of_period + roundings);
            let longer = u128::from(period.ticks()).saturating_mul(whole);
            at += Span::from_ticks(u64::try_from(longer).unwrap_or(u64::MAX));
            left -= whole * self.of_period;
            rounded = whole.saturating_mul(roundings);
        }
        while at < Time::NEVER {
            let (rate, end) = self.at(at);
            if let Some(rate) = rate {
                rounded += 1;
                let fits = sent(rate, end.since(at));
                if left <= fits.saturating_add(rounded) {
                    return end.min(at + time_for(rate, left));
                }
                left -= fits;
            }
            if self.is_down_for_ever(at) {
                return Time::NEVER;
            }
            at = end;
        }
        at
    }

    /// Bytes that the link could send from `from` on and before `until`.
    pub fn offered(&self, from: Time, until: Time) -> u64 {
        self.sent_before(until).saturating_sub(self.sent_before(from))
    }

    /// Bytes of packets that left before `until`, which is not before the start of the latest one.
    pub fn used(&self, until: Time) -> u64 {
        let (begun, ends, len) = self.latest;
        if until >= ends {
            return self.taken;
        }
        self.taken - u64::from(len) + self.offered(begun, until).min(u64::from(len))
    }

    /// Time for which the link is down from `from` on and before `until`.
    pub fn down_between(&self, from: Time, until: Time) -> Span {
        self.down_before(until) - self.down_before(from)
    }

    fn down_before(&self, until: Time) -> Span {
        let since = until.since(self.start);
        let Some(period) = self.rates.period() else { return down_by(&self.rates, since) };
        let whole = since.ticks() / period.ticks();
        let rest = down_by(&self.rates, Span::from_ticks(since.ticks() % period.ticks()));
        Span::from_ticks(down_by(&self.rates, period).ticks() * whole) + rest
    }

    /// Returns true if the link is down.
    pub fn is_down(&self, now: Time) -> bool {
        self.at(now).0.is_none()
    }

    /// The rate of a moment, and the time until which it holds.
    fn at(&self, at: Time) -> (Option<Rate>, Time) {
        let (rate, end) = self.rates.at(at.since(self.start));
        (rate, self.start + end)
    }

    /// Returns true if nothing is sent from `at` on, on a link that is down then.
    fn is_down_for_ever(&self, at: Time) -> bool {
        self.rates.period().is_some() && self.of_period == 0 && self.at(at).0.is_none()
    }

    /// Whole bytes that the link could send before `until`; saturates.
    fn sent_before(&self, until: Time) -> u64 {
        let since = until.since(self.start);
        let periods = self.rates.period().map_or(0, |period| since.ticks() / period.ticks());
        let begun = self.rates.period().map_or(0, |period| period.ticks() * periods);
        let rest = sent_by(&self.rates, Span::from_ticks(since.ticks() - begun));
        let all = self.of_period.saturating_mul(u128::from(periods)).saturating_add(rest);
        u64::try_from(all >> FRACTION).unwrap_or(u64::MAX)
    }
}

/// Time for which the link is down in a span from the start of the period.
fn down_by(rates: &RateSteps, end: Span) -> Span {
    let parts = rates.parts_until(end).filter(|(rate, _)| rate.is_none());
    parts.fold(Span::ZERO, |sum, (_, lasts)| sum + lasts)
}

/// 2⁻⁴⁰ bytes that are sent in a span from the start of the period.
fn sent_by(rates: &RateSteps, end: Span) -> u128 {
    let parts = rates.parts_until(end);
    parts.filter_map(|(rate, lasts)| Some(sent(rate?, lasts))).fold(0, u128::saturating_add)
}

/// 2⁻⁴⁰ bytes that are sent in a span.
fn sent(rate: Rate, span: Span) -> u128 {
    (u128::from(span.ticks()) << (Rate::FRACTION_BITS + FRACTION)) / rate.exact_time_for(1)
}

/// The time of 2⁻⁴⁰ bytes, at most 2⁶⁰ of them, to the nearest tick, halves up; saturates.
fn time_for(rate: Rate, parts: u128) -> Span {
    let bits = Rate::FRACTION_BITS + FRACTION;
    let exact = parts.saturating_mul(rate.exact_time_for(1)).saturating_add(1 << (bits - 1));
    Span::from_ticks(u64::try_from(exact >> bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[path = "stepped_tests.rs"]
mod tests;
