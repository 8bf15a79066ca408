//! The windows of a connection, and the congestion control that sets them.

use super::delivery::{Delivery, Ruling};
use super::registry::AnyCongestionControl;
use super::traits::{Acknowledged, CongestionControl, Windows};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Largest window, beyond any receiver's: sums with it stay within 64 bits.
const LARGEST: u64 = 1 << 62;

/// The windows of a connection with its congestion control.
#[derive(Clone, Debug)]
pub(in crate::endpoint::tcp) struct Congestion {
    windows: Windows,
    control: AnyCongestionControl,
}

impl Congestion {
    /// A connection starts with these windows: its initial window, in slow start.
    pub(in crate::endpoint::tcp) fn new(control: AnyCongestionControl, windows: Windows) -> Congestion {
        Congestion { windows, control }
    }

    pub(in crate::endpoint::tcp) fn cwnd(&self) -> u64 {
        self.windows.cwnd
    }

    pub(in crate::endpoint::tcp) fn ssthresh(&self) -> u64 {
        self.windows.ssthresh
    }

    /// Grows the window at an acknowledgement outside of recovery, while it was used to the full.
    pub(in crate::endpoint::tcp) fn grow(&mut self, report: &Acknowledged) {
        self.windows.cwnd = self.control.grow(&self.windows, report).clamp(self.windows.mss, LARGEST);
    }

    /// Returns true in slow start.
    pub(in crate::endpoint::tcp) fn is_slow_start(&self) -> bool {
        self.windows.is_slow_start()
    }

    /// Ends slow start with the window as it is.
    pub(in crate::endpoint::tcp) fn end_slow_start(&mut self) {
        self.windows.ssthresh = self.windows.cwnd;
    }

    /// Returns true if the window may grow at an acknowledgement that left room in it, with at most
    /// `flight` bytes in flight.
    pub(in crate::endpoint::tcp) fn grows_beyond(&self, flight: u64) -> bool {
        self.control.grows_beyond(&self.windows, flight)
    }

    /// Records a round trip.
    pub(in crate::endpoint::tcp) fn measured(&mut self, now: Time, rtt: Span) {
        self.control.measured(now, rtt);
    }

    /// Time from a segment of `bytes` to the next one, for congestion control that is paced.
    pub(in crate::endpoint::tcp) fn interval(&self, bytes: u64) -> Option<Span> {
        self.control.interval(&self.windows, bytes)
    }

    /// Records an acknowledgement.
    pub(in crate::endpoint::tcp) fn arrived(&mut self, report: &Acknowledged) {
        self.control.arrived(report);
    }

    /// Processes an acknowledgement while the window was not used to the full: it does not grow.
    pub(in crate::endpoint::tcp) fn not_used(&mut self, now: Time) {
        self.control.not_used(now);
    }

    /// Reduces ssthresh for a loss with `flight` bytes in flight (RFC 5681, equation 4, is an upper
    /// limit). Data in flight beyond the window, which a recovery has sent over several round trips,
    /// do not count: a loss reduces the window.
    pub(in crate::endpoint::tcp) fn reduce(&mut self, now: Time, flight: u64) {
        let left = self.control.decrease(now, &self.windows, flight.min(self.windows.cwnd));
        self.windows.ssthresh = left.clamp(2 * self.windows.mss, LARGEST);
    }

    /// Limits ssthresh for a loss with `flight` bytes in flight, in a window of data that was
    /// reduced before: equation 4 of RFC 5681 is an upper limit.
    pub(in crate::endpoint::tcp) fn limit_ssthresh(&mut self, now: Time, flight: u64) {
        let left = self.control.decrease(now, &self.windows, flight);
        self.windows.ssthresh = self.windows.ssthresh.min(left.clamp(2 * self.windows.mss, LARGEST));
    }

    /// Reduces the window for a congestion mark with `flight` bytes in flight: as after a loss, but
    /// the window may shrink to one segment (RFC 3168, section 6.1.2).
    pub(in crate::endpoint::tcp) fn reduce_marked(&mut self, now: Time, flight: u64) {
        let left = self.control.decrease_marked(now, &self.windows, flight.min(self.windows.cwnd));
        let Windows { mss, cwnd, .. } = self.windows;
        self.windows.ssthresh = left.clamp(2 * mss, LARGEST);
        self.windows.cwnd = left.max(mss).min(cwnd);
    }

    /// Lets the control respond to an acknowledgement that reports marks.
    pub(in crate::endpoint::tcp) fn marked(&mut self, report: &Acknowledged) {
        if let Some(left) = self.control.marked(&self.windows, report) {
            let Windows { mss, cwnd, .. } = self.windows;
            self.windows.ssthresh = left.clamp(2 * mss, LARGEST);
            self.windows.cwnd = self.windows.ssthresh.min(cwnd);
        }
    }

    /// Reduces ssthresh for a congestion mark with `flight` bytes in flight.
    pub(in crate::endpoint::tcp) fn reduce_ssthresh_marked(&mut self, now: Time, flight: u64) {
        let left = self.control.decrease_marked(now, &self.windows, flight.min(self.windows.cwnd));
        self.windows.ssthresh = left.clamp(2 * self.windows.mss, LARGEST);
    }

    /// Sets a window of one segment (the loss window, LW): the timer has expired.
    pub(in crate::endpoint::tcp) fn timed_out(&mut self, now: Time) {
        self.windows.cwnd = self.windows.mss;
        self.control.begin_anew(now);
    }

    /// Limits the window after an idle time to the restart window (RW), of `initial` bytes (RFC
    /// 5681, section 4.1).
    pub(in crate::endpoint::tcp) fn restart(&mut self, now: Time, initial: u64) {
        self.windows.cwnd = self.windows.cwnd.min(initial);
        self.control.begin_anew(now);
    }

    /// Sets the window with which a recovery ends, also one that began without a reduction.
    pub(in crate::endpoint::tcp) fn recovered(&mut self, now: Time, cwnd: u64) {
        self.set(cwnd);
        self.control.recovered(now);
    }

    /// Gives the control a random stream.
    pub(in crate::endpoint::tcp) fn draw_from(&mut self, rng: Rng) {
        self.control.draw_from(rng);
    }

    /// Records that the first data leave.
    pub(in crate::endpoint::tcp) fn begin(&mut self, now: Time, srtt: Option<Span>) {
        self.control.begin(now, &self.windows, srtt);
    }

    /// Records that data leave after an idle time.
    pub(in crate::endpoint::tcp) fn resumed(&mut self, now: Time) {
        let cwnd = self.control.resumed(now, &self.windows);
        self.set(cwnd.min(LARGEST));
    }

    /// Lets a control with a model set the window after an acknowledgement.
    pub(in crate::endpoint::tcp) fn delivered(&mut self, delivery: &Delivery) -> Ruling {
        let ruling = self.control.delivered(&self.windows, delivery);
        self.set(ruling.cwnd.min(LARGEST));
        ruling
    }

    /// Shows what the control keeps.
    pub(in crate::endpoint::tcp) fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.control.gauges(show);
    }

    /// Sets the window during recovery.
    pub(in crate::endpoint::tcp) fn set(&mut self, cwnd: u64) {
        self.windows.cwnd = cwnd.max(self.windows.mss);
    }
}
