//! CUBIC (RFC 9438, section 4): a window that grows by the time since the last congestion, in bytes here and in
//! segments in the RFC's formulas.

use crate::units::{Span, Time};

/// C, in segments per second cubed (section 4.1).
const C: f64 = 0.4;
/// β_cubic (section 4.6).
const BETA: f64 = 0.7;
/// α_cubic (section 4.3): as much as Reno's window takes with the same loss.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// What CUBIC keeps besides the window; windows in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    /// W_max: the window before the last reduction; `None` before the first, and after slow start began anew.
    w_max: Option<f64>,
    /// cwnd_prior: the window at the last reduction.
    prior: f64,
    /// The congestion avoidance stage under way.
    stage: Option<Stage>,
}

/// A congestion avoidance stage.
#[derive(Clone, Debug)]
struct Stage {
    /// When it began (t_epoch); later by what was spent without using the window (section 5.8).
    began: Time,
    /// The last acknowledgement.
    last: Time,
    /// K, in seconds.
    k: f64,
    w_max: f64,
    /// W_est: the window of Reno, as CUBIC estimates it.
    estimate: f64,
}

impl Cubic {
    /// The window in bytes after an acknowledgement of `new` bytes in congestion avoidance.
    pub(super) fn grow(&mut self, now: Time, srtt: Span, cwnd: u64, new: u64, mss: u64) -> u64 {
        let size = mss as f64;
        let window = cwnd as f64 / size;
        let w_max = self.w_max;
        let stage = self.stage.get_or_insert_with(|| {
            let w_max = w_max.unwrap_or(window).max(window);
            let k = libm::cbrt((w_max - window) / C);
            Stage { began: now, last: now, k, w_max, estimate: window }
        });
        stage.last = now;
        let alpha = if stage.estimate >= self.prior { 1.0 } else { ALPHA };
        stage.estimate += alpha * (new as f64 / size) / window;
        let since = now.since(stage.began).as_secs_f64();
        let next = if stage.cubic(since) < stage.estimate {
            // The Reno-friendly region (section 4.3).
            stage.estimate.max(window)
        } else {
            let target = stage.cubic(since + srtt.as_secs_f64()).clamp(window, 1.5 * window);
            window + (target - window) / window
        };
        libm::round(next * size) as u64
    }

    /// The window was not used to the full since the last acknowledgement: that time does not count.
    pub(super) fn not_used(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.began += now.since(stage.last);
            stage.last = now;
        }
    }

    /// Multiplicative decrease (section 4.6) with fast convergence (section 4.7): what is left of `flight` bytes.
    pub(super) fn decrease(&mut self, cwnd: u64, flight: u64, mss: u64) -> u64 {
        let window = cwnd as f64 / mss as f64;
        let shrinks = self.w_max.is_some_and(|w_max| window < w_max);
        self.w_max = Some(if shrinks { window * (1.0 + BETA) / 2.0 } else { window });
        (self.prior, self.stage) = (window, None);
        libm::round(flight as f64 * BETA) as u64
    }

    /// After a timeout or an idle time the next stage begins with K = 0 and W_max = cwnd (sections 4.8 and 4.10).
    pub(super) fn begin_anew(&mut self) {
        (self.w_max, self.stage) = (None, None);
    }
}

impl Stage {
    /// W_cubic(t), equation 1.
    fn cubic(&self, t: f64) -> f64 {
        let from_k = t - self.k;
        C * from_k * from_k * from_k + self.w_max
    }
}
