//! HyStart as Linux has it: slow start ends when acknowledgements come in a train that spans half of
//! the least round trip, or when the round trip grows.

use crate::units::{Span, Time};

/// Windows below this one, in segments, do not end slow start.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements that follow each other within this time are a train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Time that a burst of a sender may add to the span of a train.
const BURST: Span = Span::from_millis(1);
/// Round trips of a round before their least one counts.
const SAMPLES: u32 = 8;
/// Bounds of the growth of the round trip that ends slow start, an eighth of it.
const LEAST_GROWTH: Span = Span::from_millis(4);
const MOST_GROWTH: Span = Span::from_millis(16);

/// Observations of slow start.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The least round trip.
    least: Option<Span>,
    /// True once the end was found.
    found: bool,
    /// The round under way: its start, the byte whose acknowledgement ends it, and the last
    /// acknowledgement of its train.
    began: Time,
    end: u64,
    last: Time,
    /// The least round trip of the round, of `samples`.
    current: Option<Span>,
    samples: u32,
}

/// An acknowledgement: its time, the round trip that it measures, the first byte that is not
/// acknowledged, the end of the data that were sent, and the window in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) now: Time,
    pub(super) rtt: Span,
    pub(super) una: u64,
    pub(super) max: u64,
    pub(super) window: u64,
}

impl HyStart {
    pub(super) fn new() -> HyStart {
        HyStart {
            least: None,
            found: false,
            began: Time::ORIGIN,
            end: 0,
            last: Time::ORIGIN,
            current: None,
            samples: 0,
        }
    }

    /// Begins anew after a timeout; the bytes before `max` were sent.
    pub(super) fn begin_anew(&mut self, now: Time, max: u64) {
        (self.least, self.found) = (None, false);
        self.begin_round(now, max);
    }

    fn begin_round(&mut self, now: Time, max: u64) {
        (self.began, self.last, self.end) = (now, now, max);
        (self.current, self.samples) = (None, 0);
    }

    /// Observes an acknowledgement. Returns true if slow start ends with it.
    pub(super) fn ends(&mut self, measured: Measured, is_slow_start: bool) -> bool {
        let Measured { now, rtt, una, max, window } = measured;
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.found || !is_slow_start {
            return false;
        }
        if una > self.end {
            self.begin_round(now, max);
        }
        if window < LOW_WINDOW {
            return false;
        }
        self.found = self.is_train(now, least) | self.has_grown(rtt, least);
        self.found
    }

    fn is_train(&mut self, now: Time, least: Span) -> bool {
        if now.since(self.last) > TRAIN_GAP {
            return false;
        }
        self.last = now;
        now.since(self.began) > Span::from_ticks((least + BURST).ticks() / 2)
    }

    fn has_grown(&mut self, rtt: Span, least: Span) -> bool {
        let current = self.current.map_or(rtt, |current| current.min(rtt));
        self.current = Some(current);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let growth = Span::from_ticks(least.ticks() / 8).max(LEAST_GROWTH).min(MOST_GROWTH);
        current > least + growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    /// Acknowledges segments 1 to `count` of a round of window `window`, `gap` µs apart, with round
    /// trips of `rtt`. Returns the acknowledgement at which slow start ends.
    fn round(hystart: &mut HyStart, start: u64, count: u64, gap: u64, rtt: Span, window: u64) -> Option<u64> {
        (1..=count).find(|nth| {
            let now = Time::ORIGIN + ms(start) + Span::from_micros(nth * gap);
            let measured = Measured { now, rtt, una: start + nth, max: start + 10_000, window };
            hystart.ends(measured, true)
        })
    }

    /// Half of 40 ms and 1 ms: the first acknowledgement begins the round, and one every 100 µs passes
    /// 20.5 ms with the 206th after it.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let mut hystart = HyStart::new();
        assert_eq!(round(&mut hystart, 100, 400, 100, ms(40), 100), Some(207));
        assert_eq!(round(&mut hystart, 200, 400, 100, ms(40), 100), None, "it ends once");
        let mut gaps = HyStart::new();
        assert_eq!(round(&mut gaps, 100, 400, 2100, ms(40), 100), None, "a train has no gaps");
        let mut small = HyStart::new();
        assert_eq!(round(&mut small, 100, 400, 100, ms(40), 15), None, "a small window goes on");
    }

    /// An eighth of 40 ms is 5 ms, and the ninth round trip of a round counts.
    #[test]
    fn a_longer_round_trip_ends_slow_start() {
        for (rtt, ends) in [(ms(45), None), (ms(46), Some(9))] {
            let mut hystart = HyStart::new();
            assert_eq!(round(&mut hystart, 0, 1, 2100, ms(40), 10), None);
            assert_eq!(round(&mut hystart, 20_000, 50, 2100, rtt, 100), ends);
        }
    }
}
