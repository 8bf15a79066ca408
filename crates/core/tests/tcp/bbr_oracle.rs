//! The pseudocode of draft-cardwell-iccrg-bbr-congestion-control-00, written out.
//!
//! Where Linux 6.1 is known to differ, a comment begins with "Linux".

use tidegate_core::endpoint::tcp::congestion::{Delivery, Repair};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

const INF: f64 = f64::INFINITY;
const BBR_HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The variables of the draft: bytes, seconds and bytes per second.
#[derive(Clone, Debug)]
pub struct Draft {
    pub random: Rng,
    pub smss: f64,
    pub cwnd: f64,
    pub state: State,
    pub pacing_rate: f64,
    pub pacing_gain: f64,
    pub cwnd_gain: f64,
    pub btlbw: f64,
    pub btlbw_filter: Vec<(u64, f64)>,
    pub rtprop: f64,
    pub rtprop_stamp: Time,
    pub rtprop_expired: bool,
    pub next_round_delivered: f64,
    pub round_count: u64,
    pub round_start: bool,
    pub filled_pipe: bool,
    pub full_bw: f64,
    pub full_bw_count: u32,
    pub cycle_stamp: Time,
    pub cycle_index: usize,
    pub probe_rtt_done_stamp: Option<Time>,
    pub probe_rtt_round_done: bool,
    pub packet_conservation: bool,
    pub prior_cwnd: f64,
    pub idle_restart: bool,
    pub repair: Repair,
    pub has_srtt: bool,
    pub app_limits: bool,
    /// Acknowledgements that come together: bytes beyond the bandwidth, with the number of their
    /// window of five rounds.
    pub extra_acked: Vec<(u64, f64)>,
    pub extra_acked_delivered: f64,
    pub extra_acked_interval_start: Time,
    /// Acknowledgements in each state, and things that happened.
    pub seen: Seen,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub states: [u64; 4],
    pub conserved: u64,
    pub restored: u64,
    pub timeouts: u64,
    pub idle: u64,
    pub limited: u64,
    pub aggregated: u64,
    pub phases: [u64; 8],
}

impl Draft {
    pub fn new(random: Rng) -> Draft {
        Draft {
            random,
            smss: 0.0,
            cwnd: 0.0,
            state: State::Startup,
            pacing_rate: 0.0,
            pacing_gain: BBR_HIGH_GAIN,
            cwnd_gain: BBR_HIGH_GAIN,
            btlbw: 0.0,
            btlbw_filter: Vec::new(),
            rtprop: INF,
            rtprop_stamp: Time::ORIGIN,
            rtprop_expired: false,
            next_round_delivered: 0.0,
            round_count: 0,
            round_start: false,
            filled_pipe: false,
            full_bw: 0.0,
            full_bw_count: 0,
            cycle_stamp: Time::ORIGIN,
            cycle_index: 0,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            packet_conservation: false,
            prior_cwnd: 0.0,
            idle_restart: false,
            repair: Repair::None,
            has_srtt: false,
            app_limits: false,
            extra_acked: Vec::new(),
            extra_acked_delivered: 0.0,
            extra_acked_interval_start: Time::ORIGIN,
            seen: Seen::default(),
        }
    }

    pub fn bbr_init(&mut self, now: Time, srtt: Option<Span>) {
        self.rtprop = srtt.map_or(INF, Span::as_secs_f64);
        self.rtprop_stamp = now;
        self.extra_acked_interval_start = now;
        self.has_srtt = srtt.is_some();
        self.init_pacing_rate(srtt.map_or(0.001, Span::as_secs_f64));
    }

    pub fn init_pacing_rate(&mut self, srtt: f64) {
        // Linux: all rates are 1 % lower, and this gain is the high one.
        self.pacing_rate = 0.99 * BBR_HIGH_GAIN * self.cwnd / srtt;
    }

    pub fn update_on_ack(&mut self, ack: &Delivery) {
        self.app_limits = false;
        self.update_btlbw(ack);
        self.update_ack_aggregation(ack);
        if self.state == State::ProbeBw && self.is_next_cycle_phase(ack) {
            self.advance_cycle_phase(ack.now);
        }
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_rtprop(ack);
        self.check_probe_rtt(ack);
        // Linux: the gains are set after all states.
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (BBR_HIGH_GAIN, BBR_HIGH_GAIN),
            State::Drain => (1.0 / BBR_HIGH_GAIN, BBR_HIGH_GAIN),
            State::ProbeBw => ([1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][self.cycle_index], 2.0),
            State::ProbeRtt => (1.0, 1.0),
        };
        if let (Some(rtt), false) = (ack.rtt, self.has_srtt) {
            self.has_srtt = true;
            self.init_pacing_rate(rtt.as_secs_f64());
        }
        self.set_pacing_rate_with_gain(self.pacing_gain);
        self.set_cwnd(ack);
        self.seen.states[self.state as usize] += 1;
        if self.state == State::ProbeBw {
            self.seen.phases[self.cycle_index] += 1;
        }
    }

    pub fn update_btlbw(&mut self, ack: &Delivery) {
        self.round_start = false;
        let Some(rs) = ack.sample else { return };
        if rs.prior as f64 >= self.next_round_delivered {
            self.next_round_delivered = ack.total as f64;
            self.round_count += 1;
            self.round_start = true;
            // "After one round-trip in Fast Recovery"
            self.packet_conservation = false;
        }
        let delivery_rate = rs.bytes as f64 / rs.interval.as_secs_f64();
        self.seen.limited += u64::from(rs.is_app_limited);
        if delivery_rate >= self.btlbw || !rs.is_app_limited {
            self.btlbw_filter.push((self.round_count, delivery_rate));
            self.btlbw_filter.retain(|(round, _)| round + 10 >= self.round_count);
            self.btlbw = self.btlbw_filter.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        }
    }

    /// BBRUpdateACKAggregation() of draft-ietf-ccwg-bbr. Linux: with two windows of five rounds, and
    /// an epoch that also ends with 2²⁰ packets.
    pub fn update_ack_aggregation(&mut self, ack: &Delivery) {
        if ack.sample.is_none() || ack.arrived == 0 {
            return;
        }
        let interval = ack.now.since(self.extra_acked_interval_start).as_secs_f64();
        let mut expected_delivered = self.btlbw * interval;
        if self.extra_acked_delivered <= expected_delivered {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = ack.now;
            expected_delivered = 0.0;
        }
        self.extra_acked_delivered += ack.arrived as f64;
        let extra = (self.extra_acked_delivered - expected_delivered).min(self.cwnd).floor();
        self.extra_acked.push((self.round_count / 5, extra));
    }

    pub fn aggregated(&mut self) -> f64 {
        let current = self.round_count / 5;
        self.extra_acked.retain(|(window, _)| window + 1 >= current);
        let most = self.extra_acked.iter().map(|(_, extra)| *extra).fold(0.0, f64::max);
        most.min((self.btlbw * 0.1).floor())
    }

    pub fn is_next_cycle_phase(&self, ack: &Delivery) -> bool {
        let is_full_length = ack.now.since(self.cycle_stamp).as_secs_f64() > self.rtprop;
        let prior_inflight = ack.prior_flight as f64;
        if self.pacing_gain == 1.0 {
            is_full_length
        } else if self.pacing_gain > 1.0 {
            is_full_length && (ack.lost > 0 || prior_inflight >= self.inflight(self.pacing_gain))
        } else {
            is_full_length || prior_inflight <= self.inflight(1.0)
        }
    }

    pub fn advance_cycle_phase(&mut self, now: Time) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % 8;
    }

    pub fn check_full_pipe(&mut self, ack: &Delivery) {
        if self.filled_pipe || !self.round_start || ack.sample.unwrap().is_app_limited {
            return;
        }
        if self.btlbw >= self.full_bw * 1.25 {
            self.full_bw = self.btlbw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        if self.full_bw_count >= 3 {
            self.filled_pipe = true;
        }
    }

    pub fn check_drain(&mut self, ack: &Delivery) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && ack.flight as f64 <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    pub fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cycle_index = 8 - 1 - self.random.below(7) as usize;
        self.advance_cycle_phase(now);
    }

    pub fn update_rtprop(&mut self, ack: &Delivery) {
        self.rtprop_expired = ack.now > self.rtprop_stamp + Span::from_secs(10);
        if let Some(rtt) = ack.rtt {
            // Linux: an equal round trip does not renew the filter.
            if rtt.as_secs_f64() < self.rtprop || self.rtprop_expired {
                self.rtprop = rtt.as_secs_f64();
                self.rtprop_stamp = ack.now;
            }
        }
    }

    pub fn check_probe_rtt(&mut self, ack: &Delivery) {
        if self.state != State::ProbeRtt && self.rtprop_expired && !self.idle_restart {
            self.prior_cwnd = self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done_stamp = None;
        }
        if self.state == State::ProbeRtt {
            self.app_limits = true;
            match self.probe_rtt_done_stamp {
                None if ack.flight as f64 <= 4.0 * self.smss => {
                    self.probe_rtt_done_stamp = Some(ack.now + Span::from_millis(200));
                    self.probe_rtt_round_done = false;
                    self.next_round_delivered = ack.total as f64;
                }
                None => {}
                Some(_) => {
                    if self.round_start {
                        self.probe_rtt_round_done = true;
                    }
                    if self.probe_rtt_round_done {
                        self.exit_probe_rtt(ack.now);
                    }
                }
            }
        }
        // Linux: only data that have arrived end it.
        if ack.sample.is_some() {
            self.idle_restart = false;
        }
    }

    pub fn exit_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_some_and(|done| now > done) {
            self.rtprop_stamp = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            if self.filled_pipe {
                self.enter_probe_bw(now);
            } else {
                self.state = State::Startup;
            }
        }
    }

    pub fn save_cwnd(&self) -> f64 {
        if self.repair == Repair::None && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        }
    }

    pub fn handle_restart_from_idle(&mut self, now: Time) {
        self.seen.idle += 1;
        self.idle_restart = true;
        // Linux: acknowledgements after the pause are counted anew.
        (self.extra_acked_interval_start, self.extra_acked_delivered) = (now, 0.0);
        match self.state {
            State::ProbeBw => self.set_pacing_rate_with_gain(1.0),
            State::ProbeRtt => self.exit_probe_rtt(now),
            _ => {}
        }
    }

    pub fn on_rto(&mut self) {
        self.seen.timeouts += 1;
        self.repair = Repair::Timeout;
        // Linux: the pipe may have changed.
        self.full_bw = 0.0;
    }

    pub fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = 0.99 * gain * self.btlbw;
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    pub fn inflight(&self, gain: f64) -> f64 {
        self.quantized(self.bdp(gain))
    }

    /// Whole segments, rounded up.
    pub fn bdp(&self, gain: f64) -> f64 {
        if self.rtprop == INF {
            return 10.0;
        }
        let estimated_bdp = self.btlbw * self.rtprop;
        (gain * estimated_bdp / self.smss).ceil()
    }

    /// Linux: three bursts of 1/1024 s at the pace, of one segment below 1.2 Mbit/s and otherwise of
    /// 2 to 127; an even number; and two more in the first phase. In bytes, of segments.
    pub fn quantized(&self, segments: f64) -> f64 {
        let least = if 8.0 * self.pacing_rate < 1_200_000.0 { 1.0 } else { 2.0 };
        let quantum = ((self.pacing_rate / 1024.0).floor() / self.smss).floor().clamp(least, 127.0);
        let even = ((segments + 3.0 * quantum) / 2.0).ceil() * 2.0;
        let probing = self.state == State::ProbeBw && self.cycle_index == 0;
        (even + if probing { 2.0 } else { 0.0 }) * self.smss
    }

    pub fn set_cwnd(&mut self, ack: &Delivery) {
        if ack.arrived > 0 {
            self.set_cwnd_for(ack);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(4.0 * self.smss);
        }
    }

    pub fn set_cwnd_for(&mut self, ack: &Delivery) {
        let (flight, delivered) = (ack.flight as f64, ack.arrived as f64);
        // BBRModulateCwndForRecovery(), and the text of section 4.2.3.3 on recovery.
        if ack.lost > 0 {
            self.cwnd = (self.cwnd - ack.lost as f64).max(self.smss);
        }
        if ack.repair == Repair::Recovery && self.repair != Repair::Recovery {
            self.packet_conservation = true;
            self.next_round_delivered = ack.total as f64;
            self.cwnd = flight + delivered;
            self.seen.conserved += 1;
        } else if ack.repair == Repair::None && self.repair != Repair::None {
            self.packet_conservation = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.seen.restored += 1;
        }
        self.repair = ack.repair;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(flight + delivered);
            return;
        }
        let mut target_cwnd = self.bdp(self.cwnd_gain);
        if self.filled_pipe {
            let aggregated = self.aggregated();
            self.seen.aggregated += u64::from(aggregated > 0.0);
            target_cwnd = ((target_cwnd * self.smss + aggregated) / self.smss).ceil();
        }
        let target_cwnd = self.quantized(target_cwnd);
        if self.filled_pipe {
            self.cwnd = (self.cwnd + delivered).min(target_cwnd);
        } else if self.cwnd < target_cwnd || (ack.total as f64) < 10.0 * self.smss {
            self.cwnd += delivered;
        }
        self.cwnd = self.cwnd.max(4.0 * self.smss);
    }
}
