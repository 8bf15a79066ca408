//! Congestion control: the congestion window and the slow start threshold (RFC 5681, section 3.1),
//! with the changes by CUBIC (RFC 9438), DCTCP (RFC 8257) and Prague.

use super::cubic::Cubic;
use super::dctcp::Dctcp;
use super::params::{CongestionControl, Growth, TcpParams};
use super::prague::Prague;
use super::segments::Segments;
use crate::units::{Span, Time};

/// The congestion window (cwnd) and the slow start threshold (ssthresh), in bytes.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    /// Segment size (SMSS).
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Congestion avoidance by CUBIC; `None` for that of RFC 5681.
    cubic: Option<Cubic>,
    /// Growth in whole segments, in place of the above.
    segments: Option<Segments>,
    /// The share of marks, for DCTCP.
    dctcp: Option<Dctcp>,
    /// Congestion avoidance by Prague, and its response to marks.
    prague: Option<Prague>,
}

/// An acknowledgement that lets the window grow: its time, the new bytes before it, the segments
/// that it reports as arrived and as marked, and the smoothed round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) now: Time,
    pub(super) new: u64,
    pub(super) delivered: u64,
    pub(super) marked: u64,
    pub(super) srtt: Option<Span>,
}

impl Congestion {
    /// A connection starts with its initial window, in slow start up to a window of `ssthresh`.
    pub(super) fn new(params: &TcpParams, mss: u64, ssthresh: u64) -> Congestion {
        let (is_cubic, is_whole) =
            (params.congestion == CongestionControl::Cubic, params.growth == Growth::Segments);
        Congestion {
            mss,
            cwnd: u64::from(params.initial_window) * mss,
            ssthresh,
            cubic: (is_cubic && !is_whole).then(Cubic::default),
            segments: is_whole.then(|| Segments::new(is_cubic)),
            dctcp: (params.congestion == CongestionControl::Dctcp).then(Dctcp::new),
            prague: (params.congestion == CongestionControl::Prague).then(Prague::new),
        }
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Grows the window at an acknowledgement of `new` bytes outside of recovery, while the window
    /// was used to the full: slow start (equation 2 of RFC 5681), or congestion avoidance (equation
    /// 3) by acknowledgements.
    pub(super) fn grow(&mut self, progress: Progress) {
        let Progress { now, new, delivered, marked, srtt } = progress;
        if let Some(prague) = &mut self.prague
            && self.cwnd >= self.ssthresh
        {
            let unmarked = delivered.saturating_sub(marked) as f64 / delivered.max(1) as f64;
            self.cwnd = prague.grow(self.cwnd, new as f64 * unmarked, self.mss);
        } else if let Some(segments) = &mut self.segments {
            let (window, ssthresh) = (self.cwnd / self.mss, self.ssthresh / self.mss);
            self.cwnd = segments.grow(now, window, ssthresh, delivered) * self.mss;
        } else if self.cwnd < self.ssthresh {
            self.cwnd += new.min(self.mss);
        } else if let Some(cubic) = &mut self.cubic {
            self.cwnd = cubic.grow(now, srtt.unwrap_or(Span::ZERO), self.cwnd, new, self.mss);
        } else {
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1);
        }
    }

    /// Returns true in slow start.
    pub(super) fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Ends slow start with the window as it is.
    pub(super) fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Returns true if the window may grow to twice the `flight` before an acknowledgement that left
    /// room in it: growth in segments, in slow start.
    pub(super) fn may_double(&self, flight: u64) -> bool {
        self.segments.is_some() && self.is_slow_start() && self.cwnd < 2 * flight
    }

    /// Records a round trip.
    pub(super) fn measured(&mut self, rtt: Span) {
        if let Some(segments) = &mut self.segments {
            segments.measured(rtt);
        }
        if let Some(prague) = &mut self.prague {
            prague.measured(rtt);
        }
    }

    /// Time from a segment of `bytes` to the next one, for congestion control that is paced.
    pub(super) fn interval(&self, bytes: u64) -> Option<Span> {
        self.prague.as_ref()?.interval(bytes, self.cwnd, self.is_slow_start())
    }

    /// Records the arrival of `delivered` segments, of which `marked` were marked, by an
    /// acknowledgement of the bytes before `una`; the bytes before `max` were sent.
    pub(super) fn arrived(&mut self, now: Time, una: u64, max: u64, delivered: u64, marked: u64) {
        if let Some(dctcp) = &mut self.dctcp {
            dctcp.acknowledged(una, max, delivered, marked);
        }
        if let Some(prague) = &mut self.prague {
            prague.acknowledged(now, una, max, delivered, marked);
        }
    }

    /// Processes an acknowledgement while the window was not used to the full: it does not grow.
    pub(super) fn not_used(&mut self, now: Time) {
        if let Some(cubic) = &mut self.cubic {
            cubic.not_used(now);
        }
    }

    /// Reduces ssthresh for a loss with `flight` bytes in flight: by equation 4 of RFC 5681, or
    /// section 4.6 of RFC 9438. Both are upper limits. Data in flight beyond the window, which a
    /// recovery has sent over several round trips, do not count: a loss reduces the window.
    pub(super) fn reduce(&mut self, flight: u64) {
        let left = self.decrease(flight.min(self.cwnd));
        self.ssthresh = left.max(2 * self.mss);
    }

    /// Limits ssthresh for a loss with `flight` bytes in flight, in a window of data that was
    /// reduced before: equation 4 of RFC 5681 is an upper limit.
    pub(super) fn limit_ssthresh(&mut self, flight: u64) {
        let left = self.decrease(flight);
        self.ssthresh = self.ssthresh.min(left.max(2 * self.mss));
    }

    /// Returns the window that a multiplicative decrease leaves of `flight` bytes.
    fn decrease(&mut self, flight: u64) -> u64 {
        if let Some(segments) = &mut self.segments {
            return segments.decrease(self.cwnd / self.mss) * self.mss;
        }
        match &mut self.cubic {
            Some(cubic) => cubic.decrease(self.cwnd, flight, self.mss),
            None => flight / 2,
        }
    }

    /// Returns the window that a mark leaves of `flight` bytes.
    fn decrease_marked(&mut self, flight: u64) -> u64 {
        let left = self.decrease(flight);
        match &self.dctcp {
            Some(dctcp) => dctcp.left(self.cwnd / self.mss) * self.mss,
            None => left,
        }
    }

    /// Reduces the window for a congestion mark with `flight` bytes in flight: as after a loss, but
    /// the window may shrink to one segment (RFC 3168, section 6.1.2).
    pub(super) fn reduce_marked(&mut self, flight: u64) {
        let left = self.decrease_marked(flight.min(self.cwnd));
        self.ssthresh = left.max(2 * self.mss);
        self.cwnd = left.max(self.mss).min(self.cwnd);
    }

    /// Reduces the window for marks by their share, at most once in an interval: Prague.
    pub(super) fn reduce_by_share(&mut self, now: Time, una: u64, max: u64) {
        if let Some(prague) = &mut self.prague
            && let Some(left) = prague.reduce(now, una, max, self.cwnd)
        {
            self.ssthresh = left.max(2 * self.mss);
            self.cwnd = self.ssthresh.min(self.cwnd);
        }
    }

    /// Reduces ssthresh for a congestion mark with `flight` bytes in flight.
    pub(super) fn reduce_ssthresh_marked(&mut self, flight: u64) {
        self.ssthresh = self.decrease_marked(flight.min(self.cwnd)).max(2 * self.mss);
    }

    /// Sets a window of one segment (the loss window, LW): the timer has expired.
    pub(super) fn timed_out(&mut self) {
        self.cwnd = self.mss;
        self.begin_anew();
    }

    /// Limits the window after an idle time to the restart window (RW), of `initial` bytes (RFC
    /// 5681, section 4.1).
    pub(super) fn restart(&mut self, initial: u64) {
        self.cwnd = self.cwnd.min(initial);
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        if let Some(cubic) = &mut self.cubic {
            cubic.begin_anew();
        }
        if let Some(segments) = &mut self.segments {
            segments.begin_anew();
        }
    }

    /// Sets the window with which a recovery ends, also one that began without a reduction.
    pub(super) fn recovered(&mut self, cwnd: u64) {
        self.set(cwnd);
        if let Some(cubic) = &mut self.cubic {
            cubic.end_stage();
        }
    }

    /// Sets the window during recovery.
    pub(super) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }
}
