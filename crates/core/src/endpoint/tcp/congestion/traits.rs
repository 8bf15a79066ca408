//! The trait of congestion controls.

use super::delivery::{Delivery, Ruling};
use crate::rng::Rng;
use crate::units::{Span, Time};
use alloc::boxed::Box;
use core::fmt;

/// The windows of a connection, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Segment size (SMSS).
    pub mss: u64,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
}

impl Windows {
    /// Returns true in slow start.
    pub fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Returns the congestion window after an acknowledgement of `new` bytes in slow start (RFC 5681,
    /// equation 2).
    pub fn slow_start(&self, new: u64) -> u64 {
        self.cwnd + new.min(self.mss)
    }

    /// Returns the congestion window after an acknowledgement in congestion avoidance (RFC 5681,
    /// equation 3).
    pub fn avoid(&self) -> u64 {
        self.cwnd + (self.mss * self.mss / self.cwnd).max(1)
    }
}

/// The report of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// Current time.
    pub now: Time,
    /// First byte that is not acknowledged (SND.UNA).
    pub una: u64,
    /// End of the data ever sent.
    pub max: u64,
    /// Bytes that it acknowledges for the first time.
    pub new: u64,
    /// Segments that it reports as arrived: with recovery by time those that are SACKed as well, and
    /// otherwise those before SND.UNA.
    pub delivered: u64,
    /// Those of them that came with a congestion mark.
    pub marked: u64,
    /// Smoothed round trip (SRTT, RFC 6298); `None` before the first.
    pub srtt: Option<Span>,
}

/// A congestion control: how the window of a connection grows, and by how much it is reduced.
///
/// The connection keeps the windows and says when: the control is asked to reduce them at most once
/// in a window of data (RFC 5681, section 3.2; RFC 3168, section 6.1.2), and to let them grow only
/// outside of recovery while the window was used to the full. Sizes are in bytes.
pub trait CongestionControl: fmt::Debug + Send + Sync {
    /// Counts in whole segments from now on, for all that an acknowledgement reports, as Linux does.
    /// Returns false if it cannot.
    fn count_segments(&mut self) -> bool {
        false
    }

    /// Returns true if Linux ends its slow start by HyStart, too.
    fn has_hystart(&self) -> bool {
        false
    }

    /// Learns of an acknowledgement, before the window grows or is reduced for it.
    fn arrived(&mut self, report: &Acknowledged) {
        let _ = report;
    }

    /// Learns of the round trip that an acknowledgement shows, which recovery by time measures at each.
    fn measured(&mut self, now: Time, rtt: Span) {
        let _ = (now, rtt);
    }

    /// Returns the congestion window after an acknowledgement: [slow start](Windows::slow_start),
    /// or [`avoid`](Self::avoid).
    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        match windows.is_slow_start() {
            true => windows.slow_start(report.new),
            false => self.avoid(windows, report),
        }
    }

    /// Returns the congestion window after an acknowledgement in [congestion
    /// avoidance](Windows::avoid).
    fn avoid(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        let _ = report;
        windows.avoid()
    }

    /// Learns of an acknowledgement while the window was not used to the full.
    fn not_used(&mut self, now: Time) {
        let _ = now;
    }

    /// Returns true if the window may grow at an acknowledgement although it left room, with at most
    /// `flight` bytes in flight.
    fn grows_beyond(&self, windows: &Windows, flight: u64) -> bool {
        let _ = (windows, flight);
        false
    }

    /// Returns what a loss leaves of `flight` bytes in flight: the new slow start threshold, before
    /// its lower limit of two segments.
    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64;

    /// Returns what a congestion mark leaves of `flight` bytes in flight; as a loss, unless the
    /// control says otherwise.
    fn decrease_marked(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.decrease(now, windows, flight)
    }

    /// Returns the congestion window after an acknowledgement that reports marks, for a control that
    /// [responds to each](crate::params::MarkResponse::Each); `None` to leave it.
    fn marked(&mut self, windows: &Windows, report: &Acknowledged) -> Option<u64> {
        let _ = (windows, report);
        None
    }

    /// Returns the time from a packet with `bytes` of data to the next one; `None` for no pacing.
    fn interval(&self, windows: &Windows, bytes: u64) -> Option<Span> {
        let _ = (windows, bytes);
        None
    }

    /// Learns that a recovery has ended, also one that began without a reduction.
    fn recovered(&mut self, now: Time) {
        let _ = now;
    }

    /// Learns that the window begins anew: after a timeout, or an idle time.
    fn begin_anew(&mut self, now: Time) {
        let _ = now;
    }

    /// Returns true for a control with a model of the path, which needs recovery by time. It sets the
    /// window at each acknowledgement, also during recovery ([`delivered`](Self::delivered)):
    /// neither growth nor a loss nor a mark then changes the window, and `decrease` only reports
    /// that losses are about to be repaired.
    fn has_model(&self) -> bool {
        false
    }

    /// Takes a random stream of its own, before the connection begins, if it has a model.
    fn draw_from(&mut self, rng: Rng) {
        let _ = rng;
    }

    /// Learns that the first data leave, with the round trip that a handshake has measured.
    fn begin(&mut self, now: Time, windows: &Windows, srtt: Option<Span>) {
        let _ = (now, windows, srtt);
    }

    /// Returns the congestion window when data leave after an idle time: nothing was in the network,
    /// and the application was the limit.
    fn resumed(&mut self, now: Time, windows: &Windows) -> u64 {
        let _ = now;
        windows.cwnd
    }

    /// Returns the congestion window after an acknowledgement, for a control [with a
    /// model](Self::has_model).
    fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        let _ = delivery;
        Ruling { cwnd: windows.cwnd, limits_samples: false }
    }

    /// Shows what the control keeps, by name.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }

    /// Returns a copy with its state, which comes back when a reduction is undone.
    fn copy(&self) -> Box<dyn CongestionControl>;
}
