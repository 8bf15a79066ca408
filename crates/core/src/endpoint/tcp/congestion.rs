//! Congestion control: the congestion window and the slow start threshold (RFC 5681, section 3.1), and what CUBIC
//! changes (RFC 9438).

use super::cubic::Cubic;
use crate::units::{Span, Time};

/// The congestion window (cwnd) and the slow start threshold (ssthresh), in bytes.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    /// Segment size (SMSS).
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// What governs congestion avoidance in place of RFC 5681.
    cubic: Option<Cubic>,
}

impl Congestion {
    /// A connection starts with a window of `initial` bytes, in slow start up to a window of `ssthresh`.
    pub(super) fn new(mss: u64, initial: u64, ssthresh: u64, is_cubic: bool) -> Congestion {
        Congestion { mss, cwnd: initial, ssthresh, cubic: is_cubic.then(Cubic::default) }
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// An acknowledgement of `new` bytes has come outside of recovery, and the window was used to the full: slow
    /// start (equation 2 of RFC 5681), or congestion avoidance (equation 3) by acknowledgements.
    pub(super) fn grow(&mut self, now: Time, new: u64, srtt: Option<Span>) {
        if self.cwnd < self.ssthresh {
            self.cwnd += new.min(self.mss);
        } else if let Some(cubic) = &mut self.cubic {
            self.cwnd = cubic.grow(now, srtt.unwrap_or(Span::ZERO), self.cwnd, new, self.mss);
        } else {
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1);
        }
    }

    /// An acknowledgement has come while the window was not used to the full: it does not grow.
    pub(super) fn not_used(&mut self, now: Time) {
        if let Some(cubic) = &mut self.cubic {
            cubic.not_used(now);
        }
    }

    /// A loss was found with so many bytes in flight: ssthresh by equation 4 of RFC 5681, or section 4.6 of RFC 9438. Both
    /// are upper limits. Of data in flight beyond the window, which a recovery has sent over several round trips, nothing
    /// is left: a loss reduces the window.
    pub(super) fn reduce(&mut self, flight: u64) {
        let left = self.decrease(flight.min(self.cwnd));
        self.ssthresh = left.max(2 * self.mss);
    }

    /// A loss was found with so many bytes in flight, of a window of data that was reduced before: equation 4 of RFC 5681
    /// is an upper limit.
    pub(super) fn limit_ssthresh(&mut self, flight: u64) {
        let left = self.decrease(flight);
        self.ssthresh = self.ssthresh.min(left.max(2 * self.mss));
    }

    /// What a multiplicative decrease leaves of `flight` bytes.
    fn decrease(&mut self, flight: u64) -> u64 {
        match &mut self.cubic {
            Some(cubic) => cubic.decrease(self.cwnd, flight, self.mss),
            None => flight / 2,
        }
    }

    /// Congestion was marked, with so many bytes in flight: as after a loss, but the window may shrink to one segment
    /// (RFC 3168, section 6.1.2).
    pub(super) fn reduce_marked(&mut self, flight: u64) {
        let left = self.decrease(flight.min(self.cwnd));
        self.ssthresh = left.max(2 * self.mss);
        self.cwnd = left.max(self.mss).min(self.cwnd);
    }

    /// The timer has expired: a window of one segment (the loss window, LW).
    pub(super) fn timed_out(&mut self) {
        self.cwnd = self.mss;
        self.begin_anew();
    }

    /// After an idle time: the window is at most the restart window (RW), of `initial` bytes (RFC 5681, section 4.1).
    pub(super) fn restart(&mut self, initial: u64) {
        self.cwnd = self.cwnd.min(initial);
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        if let Some(cubic) = &mut self.cubic {
            cubic.begin_anew();
        }
    }

    /// Recovery sets the window.
    pub(super) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }
}
