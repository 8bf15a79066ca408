//! The model of BBR, its states, and the pace and the window that follow from them.

use super::filters::{Excess, MaxFilter};
use crate::endpoint::tcp::congestion::{Delivery, RateSample, Repair, Ruling, Windows};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// BBRHighGain: the least gain that doubles the rate in each round.
const HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;
/// The gain of the window in ProbeBw.
const CWND_GAIN: f64 = 2.0;
/// Gains of the pace in ProbeBw.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Part of the rate at which packets leave.
const MARGIN: f64 = 0.99;
/// RTpropFilterLen, and ProbeRTTDuration.
const RTT_FILTER: Span = Span::from_secs(10);
const PROBE_RTT: Span = Span::from_millis(200);
/// BBRMinPipeCwnd, and the window without a round trip, in segments.
const MIN_PIPE: u64 = 4;
const INITIAL: u64 = 10;
/// Growth of the bandwidth with which the pipe is not full, and the rounds without it.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Round trip before one was measured.
const FIRST_RTT: Span = Span::from_millis(1);
/// Rate in bytes per second from which a burst of the kernel has two segments.
const TWO_SEGMENTS: f64 = 150_000.0;
/// The kernel's greatest burst, in segments.
const LARGEST_BURST: u64 = 127;

/// The states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    /// With the index of the gain, and the time from which it holds.
    ProbeBw(usize, Time),
    /// With the time at which it may end, once the flight is short, and true when a round has passed
    /// since.
    ProbeRtt(Option<Time>, bool),
}

/// State of BBR.
#[derive(Clone, Debug)]
pub(super) struct State {
    rng: Rng,
    phase: Phase,
    /// BtlBw, in bytes per second.
    bandwidth: MaxFilter,
    excess: Excess,
    /// Rounds so far, and the bytes that must have arrived by the departure of a segment whose
    /// arrival begins the next.
    round: u64,
    round_end: u64,
    /// True if this acknowledgement begins a round.
    round_start: bool,
    /// RTprop, and the time at which it was measured.
    rtprop: Option<Span>,
    rtprop_at: Time,
    /// Bandwidth of the full pipe, rounds without growth, and true once it is full.
    full_bw: f64,
    full_rounds: u32,
    filled_pipe: bool,
    /// Gain of the pace at the last acknowledgement: that of a phase that began since comes with the
    /// next, as in Linux.
    gain: f64,
    /// Bytes per second, the margin taken.
    pacing_rate: f64,
    /// True once the pace is by a measured round trip.
    has_seen_rtt: bool,
    /// The repair at the last acknowledgement; true in its first round; and the window before.
    repair: Repair,
    conserves: bool,
    prior_cwnd: u64,
    idle_restart: bool,
}

impl State {
    pub(super) fn new(rng: Rng) -> State {
        State {
            rng,
            phase: Phase::Startup,
            bandwidth: MaxFilter::default(),
            excess: Excess::new(Time::ORIGIN),
            round: 0,
            round_end: 0,
            round_start: false,
            rtprop: None,
            rtprop_at: Time::ORIGIN,
            full_bw: 0.0,
            full_rounds: 0,
            filled_pipe: false,
            gain: HIGH_GAIN,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            repair: Repair::None,
            conserves: false,
            prior_cwnd: 0,
            idle_restart: false,
        }
    }

    /// BBRInit().
    pub(super) fn begin(&mut self, now: Time, windows: &Windows, srtt: Option<Span>) {
        (self.rtprop, self.rtprop_at) = (srtt, now);
        self.excess.begin(now);
        self.has_seen_rtt = srtt.is_some();
        self.pace_by_rtt(windows.cwnd, srtt.unwrap_or(FIRST_RTT));
    }

    /// BBRInitPacingRate(): a window in a round trip, by the high gain.
    fn pace_by_rtt(&mut self, cwnd: u64, rtt: Span) {
        self.pacing_rate = MARGIN * HIGH_GAIN * cwnd as f64 / rtt.as_secs_f64();
    }

    pub(super) fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    /// BBRHandleRestartFromIdle().
    pub(super) fn resumed(&mut self, now: Time, windows: &Windows) -> u64 {
        self.idle_restart = true;
        self.excess.begin(now);
        match self.phase {
            Phase::ProbeBw(..) => self.set_pacing_rate(1.0),
            Phase::ProbeRtt(..) => return self.leave_probe_rtt(now, windows.cwnd),
            _ => {}
        }
        windows.cwnd
    }

    /// A timeout: the pipe may have changed.
    pub(super) fn timed_out(&mut self) {
        self.repair = Repair::Timeout;
        self.full_bw = 0.0;
    }

    /// BBRSaveCwnd().
    pub(super) fn save(&mut self, cwnd: u64) {
        let is_normal = self.repair == Repair::None && !matches!(self.phase, Phase::ProbeRtt(..));
        self.prior_cwnd = if is_normal { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// BBRUpdateOnACK().
    pub(super) fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        let Delivery { now, arrived, flight, rtt, .. } = *delivery;
        let Windows { mss, mut cwnd, .. } = *windows;
        self.update_bandwidth(delivery);
        if delivery.sample.is_some() && arrived > 0 {
            if self.round_start {
                self.excess.round();
            }
            self.excess.add(now, self.bandwidth.get(), arrived, cwnd, mss);
        }
        self.check_cycle_phase(delivery, mss);
        self.check_full_pipe(delivery.sample);
        self.check_drain(now, flight, mss);
        let expired = self.update_rtprop(now, rtt);
        let limits_samples = self.check_probe_rtt(delivery, expired, &mut cwnd, mss);
        if let Some(rtt) = rtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pace_by_rtt(windows.cwnd, rtt);
        }
        self.gain = self.pacing_gain();
        self.set_pacing_rate(self.gain);
        Ruling { cwnd: self.window(cwnd, delivery, mss), limits_samples }
    }

    /// BBRUpdateRound() and BBRUpdateBtlBw().
    fn update_bandwidth(&mut self, delivery: &Delivery) {
        self.round_start = false;
        let Some(sample) = delivery.sample else { return };
        if sample.prior >= self.round_end {
            self.round_end = delivery.total;
            self.round += 1;
            (self.round_start, self.conserves) = (true, false);
        }
        let rate = sample.rate();
        if !sample.is_app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.add(self.round, rate);
        }
    }

    /// BBRCheckCyclePhase().
    fn check_cycle_phase(&mut self, delivery: &Delivery, mss: u64) {
        let Phase::ProbeBw(index, began) = self.phase else { return };
        let Delivery { now, lost, prior_flight, .. } = *delivery;
        let is_long = self.rtprop.is_none_or(|rtprop| now.since(began) > rtprop);
        let gain = self.gain;
        let ends = if gain > 1.0 {
            is_long && (lost > 0 || prior_flight >= self.inflight(gain, mss))
        } else if gain < 1.0 {
            is_long || prior_flight <= self.inflight(1.0, mss)
        } else {
            is_long
        };
        if ends {
            self.phase = Phase::ProbeBw((index + 1) % CYCLE.len(), now);
        }
    }

    /// BBRCheckFullPipe().
    fn check_full_pipe(&mut self, sample: Option<RateSample>) {
        if self.filled_pipe || !self.round_start || sample.is_none_or(|sample| sample.is_app_limited) {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= FULL_GROWTH * self.full_bw {
            (self.full_bw, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.filled_pipe = self.full_rounds >= FULL_ROUNDS;
    }

    /// BBRCheckDrain().
    fn check_drain(&mut self, now: Time, flight: u64, mss: u64) {
        if self.phase == Phase::Startup && self.filled_pipe {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && flight <= self.inflight(1.0, mss) {
            self.enter_probe_bw(now);
        }
    }

    /// BBREnterProbeBW(): at any gain but the second.
    fn enter_probe_bw(&mut self, now: Time) {
        let drawn = self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.phase = Phase::ProbeBw((CYCLE.len() - drawn) % CYCLE.len(), now);
    }

    /// BBRUpdateRTprop(). Returns true if the least round trip is too old.
    fn update_rtprop(&mut self, now: Time, rtt: Option<Span>) -> bool {
        let expired = now > self.rtprop_at + RTT_FILTER;
        if let Some(rtt) = rtt
            && (expired || self.rtprop.is_none_or(|least| rtt < least))
        {
            (self.rtprop, self.rtprop_at) = (Some(rtt), now);
        }
        expired
    }

    /// BBRCheckProbeRTT(). Returns true if samples are not to count as the path's.
    fn check_probe_rtt(&mut self, delivery: &Delivery, expired: bool, cwnd: &mut u64, mss: u64) -> bool {
        let is_probing = matches!(self.phase, Phase::ProbeRtt(..));
        if expired && !self.idle_restart && !is_probing {
            self.save(*cwnd);
            self.phase = Phase::ProbeRtt(None, false);
        }
        let limits_samples = matches!(self.phase, Phase::ProbeRtt(..));
        match &mut self.phase {
            Phase::ProbeRtt(ends @ None, has_round) if delivery.flight <= MIN_PIPE * mss => {
                (*ends, *has_round) = (Some(delivery.now + PROBE_RTT), false);
                self.round_end = delivery.total;
            }
            Phase::ProbeRtt(Some(_), has_round) => {
                *has_round |= self.round_start;
                if *has_round {
                    *cwnd = self.leave_probe_rtt(delivery.now, *cwnd);
                }
            }
            _ => {}
        }
        if delivery.sample.is_some_and(|sample| sample.bytes > 0) {
            self.idle_restart = false;
        }
        limits_samples
    }

    /// BBRExitProbeRTT(), if its time has passed. Returns the window.
    fn leave_probe_rtt(&mut self, now: Time, cwnd: u64) -> u64 {
        let Phase::ProbeRtt(Some(ends), _) = self.phase else { return cwnd };
        if now <= ends {
            return cwnd;
        }
        self.rtprop_at = now;
        if self.filled_pipe {
            self.enter_probe_bw(now);
        } else {
            self.phase = Phase::Startup;
        }
        cwnd.max(self.prior_cwnd)
    }

    fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => HIGH_GAIN,
            Phase::Drain => 1.0 / HIGH_GAIN,
            Phase::ProbeBw(index, _) => CYCLE[index],
            Phase::ProbeRtt(..) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup | Phase::Drain => HIGH_GAIN,
            Phase::ProbeBw(..) => CWND_GAIN,
            Phase::ProbeRtt(..) => 1.0,
        }
    }

    /// BBRSetPacingRateWithGain().
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = MARGIN * gain * self.bandwidth.get();
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// BDP with a gain, in bytes of whole segments.
    fn bdp(&self, gain: f64, mss: u64) -> u64 {
        let Some(rtprop) = self.rtprop else { return INITIAL * mss };
        let bdp = self.bandwidth.get() * rtprop.as_secs_f64();
        libm::ceil(gain * bdp / mss as f64) as u64 * mss
    }

    /// BBRInflight(), as the kernel has it.
    fn inflight(&self, gain: f64, mss: u64) -> u64 {
        self.with_quanta(self.bdp(gain, mss), mss)
    }

    /// Adds room for three bursts of the kernel, of about a millisecond each, up to an even number of
    /// segments; and for two more while it probes for bandwidth.
    fn with_quanta(&self, bytes: u64, mss: u64) -> u64 {
        let least = if self.pacing_rate < TWO_SEGMENTS { 1 } else { 2 };
        let burst = ((self.pacing_rate / 1024.0) as u64 / mss).max(least).min(LARGEST_BURST);
        let even = (bytes.div_ceil(mss) + 3 * burst).next_multiple_of(2);
        let probes = matches!(self.phase, Phase::ProbeBw(0, _));
        (even + if probes { 2 } else { 0 }) * mss
    }

    /// BBRSetCwnd().
    fn window(&mut self, cwnd: u64, delivery: &Delivery, mss: u64) -> u64 {
        let next = if delivery.arrived > 0 { self.next_window(cwnd, delivery, mss) } else { cwnd };
        match self.phase {
            Phase::ProbeRtt(..) => next.min(MIN_PIPE * mss),
            _ => next,
        }
    }

    fn next_window(&mut self, mut cwnd: u64, delivery: &Delivery, mss: u64) -> u64 {
        let Delivery { total, arrived, lost, flight, repair, .. } = *delivery;
        let before = core::mem::replace(&mut self.repair, repair);
        cwnd = cwnd.saturating_sub(lost).max(mss);
        if repair == Repair::Recovery && before != Repair::Recovery {
            self.conserves = true;
            self.round_end = total;
            cwnd = flight + arrived;
        } else if repair == Repair::None && before != Repair::None {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        if self.conserves {
            return cwnd.max(flight + arrived);
        }
        let mut room = self.bdp(self.cwnd_gain(), mss);
        if self.filled_pipe {
            room += self.excess.get(self.bandwidth.get());
        }
        let target = self.with_quanta(room, mss);
        if self.filled_pipe {
            cwnd = (cwnd + arrived).min(target);
        } else if cwnd < target || total < INITIAL * mss {
            cwnd += arrived;
        }
        cwnd.max(MIN_PIPE * mss)
    }

    /// Shows the model and the state: 0 for Startup, 1 for Drain, 2 for ProbeBw, 3 for ProbeRtt.
    pub(super) fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let phase = match self.phase {
            Phase::Startup => 0.0,
            Phase::Drain => 1.0,
            Phase::ProbeBw(..) => 2.0,
            Phase::ProbeRtt(..) => 3.0,
        };
        show("bandwidth", 8.0 * self.bandwidth.get());
        show("min_rtt", self.rtprop.map_or(f64::NAN, Span::as_secs_f64));
        show("pacing_rate", 8.0 * self.pacing_rate);
        show("phase", phase);
    }
}
