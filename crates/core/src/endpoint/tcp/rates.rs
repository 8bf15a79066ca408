//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02, section 3), in bytes.
//!
//! Each transmission keeps what had arrived when it left. The sample of an acknowledgement is that of
//! the last transmission among those that it reports.

use super::congestion::RateSample;
use crate::units::{Span, Time};
use alloc::collections::BTreeMap;

/// The connection's state (C of the draft), and the sample under way.
#[derive(Debug)]
pub(super) struct Rates {
    /// Bytes that have arrived (C.delivered), and the time of the last arrival (C.delivered_time).
    delivered: u64,
    delivered_at: Time,
    /// Departure of the transmission of the last sample (C.first_sent_time).
    first_sent: Time,
    /// Samples are limited by the application until so many bytes have arrived (C.app_limited); 0
    /// for no limit.
    limited_until: u64,
    /// Bytes found to be lost so far.
    lost: u64,
    /// The last transmission of each segment that has not arrived, by its first byte.
    flying: BTreeMap<u64, Transmission>,
    /// The last transmission that the acknowledgement reports.
    newest: Option<Transmission>,
}

/// State at a transmission (P of the draft).
#[derive(Clone, Copy, Debug)]
struct Transmission {
    /// Its number in the order of leaving.
    number: u64,
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    is_limited: bool,
}

impl Rates {
    pub(super) fn new() -> Rates {
        Rates {
            delivered: 0,
            delivered_at: Time::ORIGIN,
            first_sent: Time::ORIGIN,
            limited_until: 0,
            lost: 0,
            flying: BTreeMap::new(),
            newest: None,
        }
    }

    /// Bytes that have arrived in all.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes found to be lost in all, each time that they were.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Records a transmission (section 3.2); `is_first` is true with nothing outstanding before.
    pub(super) fn sent(&mut self, start: u64, number: u64, now: Time, is_first: bool) {
        if is_first {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let Rates { delivered, delivered_at, first_sent, .. } = *self;
        let is_limited = self.is_limited();
        let sent = Transmission { number, sent: now, delivered, delivered_at, first_sent, is_limited };
        self.flying.insert(start, sent);
    }

    /// Records the arrival of a segment: UpdateRateSample() (section 3.3).
    pub(super) fn arrived(&mut self, start: u64, bytes: u64, now: Time) {
        let Some(sent) = self.flying.remove(&start) else { return };
        self.delivered += bytes;
        self.delivered_at = now;
        if self.newest.is_none_or(|newest| newest.number < sent.number) {
            self.newest = Some(sent);
        }
    }

    /// Records a loss.
    pub(super) fn lose(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Returns the sample of the acknowledgement: GenerateRateSample() (section 3.3).
    pub(super) fn sample(&mut self, min_rtt: Option<Span>) -> Option<RateSample> {
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = self.newest.take()?;
        let in_sending = newest.sent.since(newest.first_sent);
        let in_arriving = self.delivered_at.since(newest.delivered_at);
        self.first_sent = newest.sent;
        let interval = in_sending.max(in_arriving);
        let is_valid = interval > Span::ZERO && min_rtt.is_none_or(|least| interval >= least);
        is_valid.then(|| RateSample {
            prior: newest.delivered,
            bytes: self.delivered - newest.delivered,
            interval,
            is_app_limited: newest.is_limited,
        })
    }

    /// Records that the application has no more data, with `flight` bytes in the network (section
    /// 3.4).
    pub(super) fn limit(&mut self, flight: u64) {
        self.limited_until = (self.delivered + flight).max(1);
    }

    /// Returns true while samples are limited by the application.
    pub(super) fn is_limited(&self) -> bool {
        self.limited_until > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ORIGIN + Span::from_millis(milliseconds)
    }

    /// Two segments leave at 0 and 10 ms, and arrive at 40 and 50 ms: the second sample is of 2000
    /// bytes in the 50 ms since the first departure. A least round trip above it makes it invalid.
    #[test]
    fn a_sample_spans_at_least_the_least_round_trip() {
        for (least, is_valid) in [(50, true), (51, false)] {
            let mut rates = Rates::new();
            rates.sent(0, 1, at(0), true);
            rates.sent(1000, 2, at(10), false);
            rates.arrived(0, 1000, at(40));
            rates.arrived(1000, 1000, at(50));
            let sample = rates.sample(Some(Span::from_millis(least)));
            let expected =
                RateSample { prior: 0, bytes: 2000, interval: Span::from_millis(50), is_app_limited: false };
            assert_eq!(sample, is_valid.then_some(expected));
            assert_eq!(rates.sample(None), None, "nothing has arrived since");
        }
    }
}
