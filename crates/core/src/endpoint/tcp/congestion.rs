//! Congestion control: the congestion window and the slow start threshold (RFC 5681, section 3.1),
//! with the changes by CUBIC (RFC 9438).

use super::cubic::Cubic;
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
}

impl Congestion {
    /// A connection starts with a window of `initial` bytes, in slow start up to a window of
    /// `ssthresh`.
    pub(super) fn new(mss: u64, initial: u64, ssthresh: u64, is_cubic: bool) -> Congestion {
        Congestion { mss, cwnd: initial, ssthresh, cubic: is_cubic.then(Cubic::default) }
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
    pub(super) fn grow(&mut self, now: Time, new: u64, srtt: Option<Span>) {
        if self.cwnd < self.ssthresh {
            self.cwnd += new.min(self.mss);
        } else if let Some(cubic) = &mut self.cubic {
            self.cwnd = cubic.grow(now, srtt.unwrap_or(Span::ZERO), self.cwnd, new, self.mss);
        } else {
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1);
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
        match &mut self.cubic {
            Some(cubic) => cubic.decrease(self.cwnd, flight, self.mss),
            None => flight / 2,
        }
    }

    /// Reduces the window for a congestion mark with `flight` bytes in flight: as after a loss, but
    /// the window may shrink to one segment (RFC 3168, section 6.1.2).
    pub(super) fn reduce_marked(&mut self, flight: u64) {
        let left = self.decrease(flight.min(self.cwnd));
        self.ssthresh = left.max(2 * self.mss);
        self.cwnd = left.max(self.mss).min(self.cwnd);
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
    }

    /// Sets the window during recovery.
    pub(super) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }
}
