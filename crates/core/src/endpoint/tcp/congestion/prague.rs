//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): a scalable response to marks, by the
//! share of packets that were marked, and growth that depends little on the round trip.
//!
//! ```text
//! once in each interval      α ← α + (share of marked packets − α) / 16
//! at a mark, once in each    cwnd ← cwnd · (1 − α / 2)
//! at each acknowledgement    cwnd ← cwnd + (unmarked bytes) · mss / cwnd · (RTT / virtual RTT)²
//! ```
//!
//! Packets leave at intervals: a window in a round trip, or in half of one in slow start.
//!
//! The virtual round trip is the smoothed one, but at least 25 ms; an interval is a round trip, but
//! at least 25 ms. A flow with a short round trip therefore sends as fast as one of 25 ms.
//!
//! Choices where the draft leaves one, and differences:
//! - Growth depends on the virtual round trip from the end of slow start on, without the transition
//!   over 500 round trips.
//! - α is 1 up to the first mark, which ends slow start.
//! - A loss halves the window. There is no fallback to a Classic response where a queue looks
//!   Classic.
//! - Every packet has its interval: there are no bursts.

use super::reno::Reno;
use super::traits::{Acknowledged, CongestionControl, Windows};
use crate::contract::Refused;
use crate::params::{Carry, MarkResponse, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::units::{Span, TICKS_PER_SECOND, Time};
use alloc::boxed::Box;

parameters! {
    /// Parameters of Prague: none.
    #[derive(Copy)]
    pub struct PragueParams {}
}

impl PolicyParams for PragueParams {
    type Policy = Prague;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "prague",
        title: "Prague",
        role: Role::CongestionControl,
        help: "For L4S queues: reduces the congestion window by the share of marked packets, and has a rate that \
               depends little on the round trip. It needs `recovery = \"rack\"` and `ecn = \"on\"`.",
        source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331, section 4",
        params: PragueParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Prague, Refused> {
        Ok(Prague { reno: Reno::default(), shares: Shares::new() })
    }

    fn example() -> PragueParams {
        PragueParams {}
    }

    fn mark_response(&self) -> MarkResponse {
        MarkResponse::Each
    }
}

/// The weight of a new share in the average (g).
const WEIGHT: f64 = 1.0 / 16.0;
/// The least virtual round trip.
const VIRTUAL_RTT: Span = Span::from_millis(25);

/// State of Prague besides the windows.
#[derive(Clone, Debug)]
pub struct Prague {
    /// Slow start, and the response to losses.
    reno: Reno,
    shares: Shares,
}

impl CongestionControl for Prague {
    fn count_segments(&mut self) -> bool {
        self.reno.count_segments()
    }

    fn arrived(&mut self, report: &Acknowledged) {
        self.shares.acknowledged(report);
    }

    fn measured(&mut self, now: Time, rtt: Span) {
        self.reno.measured(now, rtt);
        self.shares.measured(rtt);
    }

    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        if windows.is_slow_start() {
            return self.reno.grow(windows, report);
        }
        let Acknowledged { new, delivered, marked, .. } = *report;
        let unmarked = delivered.saturating_sub(marked) as f64 / delivered.max(1) as f64;
        self.shares.grow(windows.cwnd, new as f64 * unmarked, windows.mss)
    }

    fn grows_beyond(&self, windows: &Windows, flight: u64) -> bool {
        self.reno.grows_beyond(windows, flight)
    }

    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.reno.decrease(now, windows, flight)
    }

    fn marked(&mut self, windows: &Windows, report: &Acknowledged) -> Option<u64> {
        self.shares.reduce(report, windows.cwnd)
    }

    fn interval(&self, windows: &Windows, bytes: u64) -> Option<Span> {
        self.shares.interval(bytes, windows.cwnd, windows.is_slow_start())
    }

    fn begin_anew(&mut self, now: Time) {
        self.reno.begin_anew(now);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// The shares of marked packets, and the growth of the window.
#[derive(Clone, Debug)]
struct Shares {
    /// The average share of marked packets; 1 before the first mark.
    alpha: f64,
    has_seen_marks: bool,
    /// The interval of the average: its start, the end of the data sent by then, and the packets
    /// that have arrived since and those of them that were marked.
    began: Time,
    end: u64,
    delivered: u64,
    marked: u64,
    /// Time of the last reduction, and the end of the data sent by then.
    reduced: (Time, u64),
    /// The smoothed round trip, in seconds; `None` before the first.
    rtt: Option<f64>,
    /// Part of a byte by which the window is to grow.
    carry: f64,
}

impl Shares {
    fn new() -> Shares {
        Shares {
            alpha: 1.0,
            has_seen_marks: false,
            began: Time::ORIGIN,
            end: 0,
            delivered: 0,
            marked: 0,
            reduced: (Time::ORIGIN, 0),
            rtt: None,
            carry: 0.0,
        }
    }

    fn acknowledged(&mut self, report: &Acknowledged) {
        let Acknowledged { now, una, max, delivered, marked, .. } = *report;
        self.delivered += delivered;
        self.marked += marked;
        self.has_seen_marks |= marked > 0;
        if una < self.end || now.since(self.began) < VIRTUAL_RTT {
            return;
        }
        if self.has_seen_marks && self.delivered > 0 {
            let share = (self.marked as f64 / self.delivered as f64).min(1.0);
            self.alpha += WEIGHT * (share - self.alpha);
        }
        (self.began, self.end, self.delivered, self.marked) = (now, max, 0, 0);
    }

    /// Records a round trip.
    fn measured(&mut self, rtt: Span) {
        let rtt = rtt.as_secs_f64();
        self.rtt = Some(self.rtt.map_or(rtt, |smoothed| smoothed + (rtt - smoothed) / 8.0));
    }

    /// Time from a segment of `bytes` to the next, with a window of `cwnd` bytes; `None` before a
    /// round trip is known.
    fn interval(&self, bytes: u64, cwnd: u64, is_slow_start: bool) -> Option<Span> {
        let gain = if is_slow_start { 2.0 } else { 1.0 };
        let seconds = self.rtt? * bytes as f64 / (gain * cwnd as f64);
        Some(Span::from_ticks(libm::round(seconds * TICKS_PER_SECOND as f64) as u64))
    }

    /// Returns the window of `cwnd` bytes after an acknowledgement of `unmarked` bytes that were not
    /// marked.
    fn grow(&mut self, cwnd: u64, unmarked: f64, mss: u64) -> u64 {
        let ratio = self.rtt.map_or(1.0, |rtt| (rtt / VIRTUAL_RTT.as_secs_f64()).min(1.0));
        self.carry += unmarked * mss as f64 / cwnd as f64 * ratio * ratio;
        let whole = libm::floor(self.carry);
        self.carry -= whole;
        cwnd + whole as u64
    }

    /// Returns what a mark leaves of a window of `cwnd` bytes; `None` if the window was reduced for
    /// the interval.
    fn reduce(&mut self, report: &Acknowledged, cwnd: u64) -> Option<u64> {
        let Acknowledged { now, una, max, .. } = *report;
        let (at, end) = self.reduced;
        if una <= end && end > 0 || now.since(at) < VIRTUAL_RTT {
            return None;
        }
        self.reduced = (now, max);
        Some(libm::round(cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Sends windows of `cwnd` over a path of this round trip on which every `nth` packet is marked,
    /// and returns the mean rate of the second half, in packets a second.
    fn rate(rtt: Span, nth: u64) -> f64 {
        let mut prague = Shares::new();
        prague.measured(rtt);
        let (mut cwnd, mut sent, mut una) = (20 * MSS, 0u64, 0u64);
        let mut now = Time::ORIGIN + Span::from_secs(1);
        let begun = now;
        let (mut counted, half) = (0, begun + Span::from_secs(200));
        while now < begun + Span::from_secs(400) {
            let packets = (cwnd / MSS).max(1);
            for _ in 0..packets {
                sent += 1;
                una += MSS;
                let max = una + cwnd;
                now += Span::from_ticks(rtt.ticks() / packets);
                let marked = u64::from(sent.is_multiple_of(nth));
                let acknowledged = Acknowledged { now, una, max, new: MSS, delivered: 1, marked, srtt: None };
                prague.acknowledged(&acknowledged);
                if marked > 0
                    && let Some(left) = prague.reduce(&acknowledged, cwnd)
                {
                    cwnd = left.max(2 * MSS);
                }
                cwnd = prague.grow(cwnd, ((1 - marked) * MSS) as f64, MSS);
                counted += u64::from(now > half);
            }
        }
        counted as f64 / 200.0
    }

    /// A scalable response: the window is 2 (1 − p) / p packets for a share p of marks where each
    /// interval has some, and its rate is that of the virtual round trip.
    #[test]
    fn the_rate_goes_with_the_share_of_marks() {
        for (rtt, nth) in [(100, 4), (100, 10), (40, 10), (25, 10), (10, 20), (5, 20), (5, 50)] {
            let p = 1.0 / nth as f64;
            let law = 2.0 * (1.0 - p) / p / (rtt.max(25) as f64 / 1000.0);
            let found = rate(Span::from_millis(rtt), nth);
            assert!((found / law - 1.0).abs() < 0.15, "{rtt} ms, {p}: {found}, by the law {law}");
        }
    }

    #[test]
    fn the_first_mark_halves_the_window_and_the_average_follows() {
        let mut prague = Shares::new();
        let at = |ms: u64, una: u64, max: u64, delivered: u64, marked: u64| {
            let now = Time::ORIGIN + Span::from_millis(ms);
            Acknowledged { now, una, max, new: 1, delivered, marked, srtt: None }
        };
        (1..100).for_each(|nth| prague.acknowledged(&at(1000 + 30 * nth, nth, nth, 1, 0)));
        assert_eq!(prague.reduce(&at(5000, 100, 200, 1, 1), 10_000), Some(5_000));
        assert_eq!(prague.reduce(&at(5100, 200, 300, 1, 1), 5_000), None);
        (1..400).for_each(|nth| prague.acknowledged(&at(6000 + 30 * nth, 1000 + nth, 1000 + nth, 4, 1)));
        assert!((prague.alpha - 0.25).abs() < 1e-6, "{}", prague.alpha);
        assert_eq!(prague.reduce(&at(90_000, 2000, 2100, 1, 1), 8_000), Some(7_000));
    }
}
