//! The window in whole segments, as Linux counts it: an acknowledgement counts for all segments that
//! it reports, and a segment is added when enough of them have come. CUBIC's function sets how many
//! are enough, at most once per millisecond.

use super::traits::{Acknowledged, Windows};
use crate::units::{Span, Time};

/// C, in segments per second cubed, and β, both in 1024ths.
const C: f64 = 410.0 / 1024.0;
const BETA: u64 = 717;
/// Most segments that must arrive for one, before the first loss: 5 % per round trip.
const FIRST: u64 = 20;
/// Time for which a count holds while the window stays.
const HOLDS: u64 = 31;

/// Growth of a window in segments.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// Segments that have arrived since one was added.
    arrived: u64,
    /// CUBIC; `None` for Reno.
    cubic: Option<Cubic>,
}

/// State of CUBIC; windows in segments, times in milliseconds.
#[derive(Clone, Debug, Default)]
struct Cubic {
    /// The window before the last reduction; 0 before the first, and after a timeout.
    w_max: u64,
    /// The least round trip.
    least_rtt: Option<Span>,
    /// Time and window for which `enough` was found.
    found: (u64, u64),
    /// Segments that must arrive for one to be added.
    enough: u64,
    stage: Option<Stage>,
}

/// A congestion avoidance stage.
#[derive(Clone, Debug)]
struct Stage {
    began: u64,
    /// K, in seconds.
    k: f64,
    /// The window at the flat part of the function.
    origin: f64,
    /// Reno's window by estimation, and the segments that have arrived since it grew.
    estimate: u64,
    arrived: u64,
}

impl Segments {
    pub(super) fn reno() -> Segments {
        Segments { arrived: 0, cubic: None }
    }

    pub(super) fn cubic() -> Segments {
        Segments { arrived: 0, cubic: Some(Cubic::default()) }
    }

    /// Records a round trip.
    pub(super) fn measured(&mut self, rtt: Span) {
        if let Some(cubic) = &mut self.cubic {
            cubic.least_rtt = Some(cubic.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Returns the window in bytes after an acknowledgement.
    pub(super) fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        let Windows { mss, cwnd, ssthresh } = *windows;
        self.grown(report.now, cwnd / mss, ssthresh / mss, report.delivered) * mss
    }

    /// Returns the window in segments after `arrived` more, in slow start up to `ssthresh`.
    fn grown(&mut self, now: Time, window: u64, ssthresh: u64, arrived: u64) -> u64 {
        let mut next = window;
        if window < ssthresh {
            next = (window + arrived).min(ssthresh);
        }
        let left = arrived - (next - window);
        if left == 0 {
            return next;
        }
        let enough = match &mut self.cubic {
            Some(cubic) => cubic.enough(now, next, left),
            None => next,
        };
        if self.arrived >= enough {
            self.arrived = 0;
            next += 1;
        }
        self.arrived += left;
        next += self.arrived / enough;
        self.arrived %= enough;
        next
    }

    /// Returns true if a window that left room may grow to twice the most in flight: in slow start.
    pub(super) fn may_double(windows: &Windows, flight: u64) -> bool {
        windows.is_slow_start() && windows.cwnd < 2 * flight
    }

    /// Returns what a loss or a mark leaves of the window, in bytes: half, or with CUBIC 0.7 after
    /// fast convergence (RFC 9438, section 4.7).
    pub(super) fn decrease(&mut self, windows: &Windows) -> u64 {
        self.arrived = 0;
        let window = windows.cwnd / windows.mss;
        let left = match &mut self.cubic {
            Some(cubic) => cubic.decrease(window),
            None => window / 2,
        };
        left * windows.mss
    }

    /// Forgets everything after a timeout.
    pub(super) fn begin_anew(&mut self) {
        self.arrived = 0;
        if let Some(cubic) = &mut self.cubic {
            *cubic = Cubic::default();
        }
    }
}

impl Cubic {
    fn decrease(&mut self, window: u64) -> u64 {
        self.stage = None;
        self.w_max = if window < self.w_max { window * (1024 + BETA) / 2048 } else { window };
        window * BETA / 1024
    }

    /// Returns how many segments must arrive for one to be added, when `arrived` more have come.
    fn enough(&mut self, now: Time, window: u64, arrived: u64) -> u64 {
        let now = now.since(Time::ORIGIN).ticks() / Span::from_millis(1).ticks();
        let Cubic { w_max, .. } = *self;
        let (at, for_window) = self.found;
        let is_new = self.stage.is_none();
        let stage = self.stage.get_or_insert_with(|| Stage::new(now, window, w_max));
        stage.arrived += arrived;
        if !is_new && for_window == window && now - at <= HOLDS {
            return self.enough;
        }
        if is_new || at != now {
            self.found = (now, window);
            let ahead = self.least_rtt.map_or(0.0, Span::as_secs_f64);
            let target = stage.cubic((now - stage.began) as f64 / 1000.0 + ahead);
            let missing = target.saturating_sub(window);
            self.enough = window.checked_div(missing).unwrap_or(100 * window);
            if w_max == 0 {
                self.enough = self.enough.min(FIRST);
            }
        }
        let missing = stage.reno(window).saturating_sub(window);
        if let Some(enough) = window.checked_div(missing) {
            self.enough = self.enough.min(enough);
        }
        self.enough = self.enough.max(2);
        self.enough
    }
}

impl Stage {
    fn new(now: u64, window: u64, w_max: u64) -> Stage {
        let k = libm::cbrt(w_max.saturating_sub(window) as f64 / C);
        Stage { began: now, k, origin: w_max.max(window) as f64, estimate: window, arrived: 0 }
    }

    /// W_cubic(t) of RFC 9438, in whole segments.
    fn cubic(&self, t: f64) -> u64 {
        let from_k = t - self.k;
        // Whole segments are cut off from the distance to the origin.
        let distance = libm::floor(C * libm::fabs(from_k * from_k * from_k));
        (self.origin + if from_k < 0.0 { -distance } else { distance }).max(0.0) as u64
    }

    /// Reno's window by estimation (RFC 9438, section 4.3).
    fn reno(&mut self, window: u64) -> u64 {
        // 8 (1 + β) / 3 (1 − β) in whole numbers, of which 8 are one.
        let scale = 8 * (1024 + BETA) / 3 / (1024 - BETA);
        let each = (window * scale / 8).max(1);
        while self.arrived > each {
            self.arrived -= each;
            self.estimate += 1;
        }
        self.estimate
    }
}
