//! CUBIC (RFC 9438, section 4): a window that grows by the time since the last congestion, in bytes
//! here and in segments in the RFC's formulas.

use super::segments::Segments;
use super::traits::{Acknowledged, CongestionControl, Windows};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::units::{Span, Time};
use alloc::boxed::Box;

parameters! {
    /// Parameters of CUBIC: none.
    #[derive(Copy)]
    pub struct CubicParams {}
}

impl PolicyParams for CubicParams {
    type Policy = Cubic;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "cubic",
        title: "CUBIC",
        role: Role::CongestionControl,
        help: "Grows the congestion window by a cubic function of the time since the last loss, which leaves 0.7 \
               of it.",
        source: "RFC 9438",
        params: CubicParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Cubic, Refused> {
        Ok(Cubic::default())
    }

    fn example() -> CubicParams {
        CubicParams {}
    }
}

/// C, in segments per second cubed (section 4.1).
const C: f64 = 0.4;
/// β_cubic (section 4.6).
const BETA: f64 = 0.7;
/// α_cubic (section 4.3): gives the average window of Reno at the same loss rate.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC besides the windows.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    function: Function,
    /// Growth in whole segments, in place of the function; `None` for bytes.
    segments: Option<Segments>,
}

impl CongestionControl for Cubic {
    fn count_segments(&mut self) -> bool {
        self.segments = Some(Segments::cubic());
        true
    }

    fn has_hystart(&self) -> bool {
        true
    }

    fn measured(&mut self, _: Time, rtt: Span) {
        if let Some(segments) = &mut self.segments {
            segments.measured(rtt);
        }
    }

    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        match &mut self.segments {
            Some(segments) => segments.grow(windows, report),
            None if windows.is_slow_start() => windows.slow_start(report.new),
            None => self.avoid(windows, report),
        }
    }

    fn avoid(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        let Acknowledged { now, new, srtt, .. } = *report;
        self.function.grow(now, srtt.unwrap_or(Span::ZERO), windows.cwnd, new, windows.mss)
    }

    fn not_used(&mut self, now: Time) {
        self.function.not_used(now);
    }

    fn grows_beyond(&self, windows: &Windows, flight: u64) -> bool {
        self.segments.is_some() && Segments::may_double(windows, flight)
    }

    fn decrease(&mut self, _: Time, windows: &Windows, flight: u64) -> u64 {
        match &mut self.segments {
            Some(segments) => segments.decrease(windows),
            None => self.function.decrease(windows.cwnd, flight, windows.mss),
        }
    }

    fn recovered(&mut self, _: Time) {
        self.function.end_stage();
    }

    fn begin_anew(&mut self, _: Time) {
        self.function.begin_anew();
        if let Some(segments) = &mut self.segments {
            segments.begin_anew();
        }
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// The window as a function of time; windows in segments.
#[derive(Clone, Debug, Default)]
struct Function {
    /// W_max: the window before the last reduction; `None` before the first, and after slow start
    /// began anew.
    w_max: Option<f64>,
    /// cwnd_prior: the window at the last reduction.
    prior: f64,
    /// The congestion avoidance stage under way.
    stage: Option<Stage>,
}

/// A congestion avoidance stage.
#[derive(Clone, Debug)]
struct Stage {
    /// Start of the stage (t_epoch); later by the time without full use of the window (section
    /// 5.8).
    began: Time,
    /// Time of the last acknowledgement.
    last: Time,
    /// K, in seconds.
    k: f64,
    w_max: f64,
    /// W_est: the window of Reno, as CUBIC estimates it.
    estimate: f64,
}

impl Function {
    /// Returns the window in bytes after an acknowledgement of `new` bytes in congestion avoidance.
    fn grow(&mut self, now: Time, srtt: Span, cwnd: u64, new: u64, mss: u64) -> u64 {
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

    /// Discounts the time since the last acknowledgement, in which the window was not used to the
    /// full.
    fn not_used(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.began += now.since(stage.last);
            stage.last = now;
        }
    }

    /// Multiplicative decrease (section 4.6) with fast convergence (section 4.7): returns the bytes
    /// left of `flight`.
    fn decrease(&mut self, cwnd: u64, flight: u64, mss: u64) -> u64 {
        let window = cwnd as f64 / mss as f64;
        let shrinks = self.w_max.is_some_and(|w_max| window < w_max);
        self.w_max = Some(if shrinks { window * (1.0 + BETA) / 2.0 } else { window });
        (self.prior, self.stage) = (window, None);
        libm::round(flight as f64 * BETA) as u64
    }

    /// Ends the stage under way: the next one begins with the window that a recovery leaves.
    fn end_stage(&mut self) {
        self.stage = None;
    }

    /// After a timeout or an idle time the next stage begins with K = 0 and W_max = cwnd (sections
    /// 4.8 and 4.10).
    fn begin_anew(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(100);

    /// Runs `rounds` round trips of full windows, one acknowledgement a segment. Returns the
    /// windows in segments at their ends.
    fn run(cubic: &mut Function, mut cwnd: u64, begins: Time, rtt: Span, rounds: u64) -> Vec<f64> {
        let mut windows = Vec::new();
        for round in 0..rounds {
            let segments = cwnd / MSS;
            for nth in 0..segments {
                let within = Span::from_ticks(rtt.ticks() * nth / segments);
                let now = begins + Span::from_ticks(rtt.ticks() * round) + within;
                cwnd = cubic.grow(now, rtt, cwnd, MSS, MSS);
            }
            windows.push(cwnd as f64 / MSS as f64);
        }
        windows
    }

    /// Section 4.1: a window of 1000 segments comes back to W_max after K = ∛(1000 · 0.3 / 0.4) s =
    /// 9.09 s. The target is W_cubic one round trip ahead, and the window reaches it one round trip
    /// later.
    #[test]
    fn a_large_window_is_the_cubic_function() {
        let mut cubic = Function::default();
        let left = cubic.decrease(1000 * MSS, 1000 * MSS, MSS);
        assert_eq!(left, 700 * MSS);
        let windows = run(&mut cubic, left, Time::ORIGIN, RTT, 150);
        let k = libm::cbrt(300.0 / 0.4);
        for (round, window) in windows.iter().enumerate().skip(5) {
            let t = (round + 1) as f64 * 0.1;
            let expected = 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
            assert!((window / expected - 1.0).abs() < 0.01, "{round}: {window} of {expected}");
        }
        let passed = windows.iter().position(|window| *window >= 1000.0).unwrap() as f64 * 0.1;
        assert!((passed - k).abs() < 1.0, "{passed} of {k}");
    }

    /// Section 4.3: with a small window and a short round trip it grows as Reno's estimate does, α
    /// a round trip.
    #[test]
    fn a_small_window_is_reno_friendly() {
        let mut cubic = Function::default();
        let left = cubic.decrease(20 * MSS, 20 * MSS, MSS);
        let windows = run(&mut cubic, left, Time::ORIGIN, Span::from_millis(10), 10);
        for (round, pair) in windows.windows(2).enumerate() {
            let grown = pair[1] - pair[0];
            assert!((grown - ALPHA).abs() < 0.08, "{round}: {grown}");
        }
    }

    /// Section 4.7: a window that shrinks before it has come back leaves room, W_max = cwnd · (1 +
    /// β) / 2.
    #[test]
    fn a_second_reduction_below_the_first_gives_way() {
        let mut cubic = Function::default();
        cubic.decrease(100 * MSS, 100 * MSS, MSS);
        assert_eq!(cubic.w_max, Some(100.0));
        cubic.decrease(80 * MSS, 80 * MSS, MSS);
        assert_eq!(cubic.w_max, Some(80.0 * 1.7 / 2.0));
        cubic.decrease(90 * MSS, 90 * MSS, MSS);
        assert_eq!(cubic.w_max, Some(90.0));
    }

    /// Section 4.8: after a timeout a stage begins at the flat part of the function; section 5.8:
    /// time without use of the window does not count.
    #[test]
    fn a_stage_begins_flat_and_waits_for_use() {
        let mut cubic = Function::default();
        cubic.decrease(100 * MSS, 100 * MSS, MSS);
        cubic.begin_anew();
        let windows = run(&mut cubic, 400 * MSS, Time::ORIGIN, RTT, 12);
        let mut waiting = Function::default();
        waiting.begin_anew();
        waiting.grow(Time::ORIGIN, RTT, 400 * MSS, MSS, MSS);
        waiting.not_used(Time::ORIGIN + Span::from_secs(100));
        let later = run(&mut waiting, 400 * MSS, Time::ORIGIN + Span::from_secs(100), RTT, 12);
        assert!((windows[0] - 400.0).abs() < 1.5, "{windows:?}");
        assert!(windows.iter().zip(&later).all(|(one, other)| (one - other).abs() < 1.0), "{later:?}");
    }
}
