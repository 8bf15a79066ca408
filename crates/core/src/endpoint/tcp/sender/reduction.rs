//! Round trips that each acknowledgement measures, and the reduction of the window over a round trip
//! (RFC 6937) for a loss or a mark.

use super::Sender;
use crate::endpoint::HostCx;
use crate::endpoint::tcp::congestion::{Acknowledged, Congestion};
use crate::endpoint::tcp::hystart::Measured;
use crate::endpoint::tcp::prr::Prr;
use crate::endpoint::tcp::rack::Arrived;
use crate::endpoint::tcp::segment::Segment;

impl Sender {
    /// Observes what an acknowledgement of `new` bytes reports as arrived: round trips, marked
    /// segments, and the end of a reduction for a mark.
    pub(super) fn observe(&mut self, report: &Acknowledged, arrived: Arrived) {
        let Acknowledged { now, una, max, new, .. } = *report;
        self.congestion.arrived(report);
        if self.has_timestamps
            && let Some(rtt) = arrived.first
        {
            self.timer.measured(rtt, una, max);
        }
        if let Some(rtt) = arrived.last {
            self.congestion.measured(now, rtt);
            let window = self.congestion.cwnd() / self.mss;
            let is_slow_start = self.congestion.is_slow_start();
            if let Some(hystart) = &mut self.hystart
                && hystart.ends(Measured { now, rtt, una, max, window }, is_slow_start)
            {
                self.congestion.end_slow_start();
            }
        }
        if new > 0 && !self.recovery.active && una > self.answered_to {
            self.end_reduction();
        }
    }

    /// Returns true if an acknowledgement reports marks, and on how many of the `delivered` packets.
    pub(super) fn marks(&mut self, segment: &Segment, delivered: u64) -> (bool, u64) {
        match &mut self.feedback {
            Some(feedback) => {
                let marked = feedback.marked(segment.ace, delivered);
                (marked > 0, marked)
            }
            None => (segment.echo, if segment.echo { delivered } else { 0 }),
        }
    }

    /// ECN-Echo (RFC 3168, section 6.1.2): the window is reduced at most once for each window of
    /// data. Returns true if the window may not grow.
    pub(super) fn answer_mark(&mut self, cx: &mut HostCx<'_>, report: &Acknowledged, flight: u64) -> bool {
        if self.feedback.is_some() {
            return self.answer_each_mark(report);
        }
        if self.una <= self.answered_to || self.recovery.active {
            return true;
        }
        if self.by_model {
            self.reduced();
            return true;
        }
        if self.reduces_gradually {
            self.begin_reduction(|congestion| congestion.reduce_ssthresh_marked(report.now, flight));
            return true;
        }
        if self.congestion.cwnd() <= self.mss {
            self.held = true;
        }
        self.congestion.reduce_marked(report.now, flight);
        self.reduced();
        if self.held {
            self.timer.restart(cx.now());
        }
        true
    }

    /// Lets the congestion control respond to marks; the window may grow by what was not marked.
    pub(super) fn answer_each_mark(&mut self, report: &Acknowledged) -> bool {
        if !self.recovery.active {
            self.congestion.marked(report);
        }
        false
    }

    /// Begins a reduction, unless one is under way; `reduce` sets ssthresh.
    pub(super) fn begin_reduction(&mut self, reduce: impl FnOnce(&mut Congestion)) {
        if self.prr.is_none() {
            let prior = self.congestion.cwnd();
            reduce(&mut self.congestion);
            self.prr = Some(Prr::new(prior / self.mss, self.congestion.ssthresh() / self.mss));
            self.reduced();
        }
    }

    /// Ends a gradual reduction, if one is under way.
    pub(super) fn end_reduction(&mut self) {
        if self.prr.take().is_some() {
            self.congestion.set(self.congestion.ssthresh());
        }
    }

    /// Sets the window during a reduction, by the segments that have arrived; `moved` is true if
    /// SND.UNA has moved.
    pub(super) fn reduce_gradually(&mut self, delivered: u64, moved: bool) {
        let pipe = self.outstanding();
        let has_lost = core::mem::take(&mut self.has_lost);
        if delivered > 0
            && let Some(prr) = &mut self.prr
        {
            let allowed = prr.allowed(delivered, pipe.div_ceil(self.mss), moved && !has_lost);
            self.congestion.set(pipe + allowed * self.mss);
        }
    }
}
