//! BBR against the text of draft-cardwell-iccrg-bbr-congestion-control-00: its pseudocode, written
//! out, sees what the control sees, and window and pace are compared at each acknowledgement.
//!
//! Where Linux 6.1 is known to differ, a comment begins with "Linux".

use crate::common::{pick, rounds};
use crate::path::{Path, World};
use crate::wire::{DATA, params};
use std::cell::RefCell;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::tcp::congestion::{
    AnyCongestionControl, CongestionControl, CongestionControlKind, Delivery, Repair, Ruling, Windows,
};
use tidegate_core::endpoint::tcp::{LossRecovery, TcpParams};
use tidegate_core::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

const INF: f64 = f64::INFINITY;
const BBR_HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The variables of the draft: bytes, seconds and bytes per second.
#[derive(Clone, Debug)]
struct Draft {
    random: Rng,
    smss: f64,
    cwnd: f64,
    state: State,
    pacing_rate: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    btlbw: f64,
    btlbw_filter: Vec<(u64, f64)>,
    rtprop: f64,
    rtprop_stamp: Time,
    rtprop_expired: bool,
    next_round_delivered: f64,
    round_count: u64,
    round_start: bool,
    filled_pipe: bool,
    full_bw: f64,
    full_bw_count: u32,
    cycle_stamp: Time,
    cycle_index: usize,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    packet_conservation: bool,
    prior_cwnd: f64,
    idle_restart: bool,
    repair: Repair,
    has_srtt: bool,
    app_limits: bool,
    /// Acknowledgements that come together: bytes beyond the bandwidth, with the number of their
    /// window of five rounds.
    extra_acked: Vec<(u64, f64)>,
    extra_acked_delivered: f64,
    extra_acked_interval_start: Time,
    /// Acknowledgements in each state, and things that happened.
    seen: Seen,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    states: [u64; 4],
    conserved: u64,
    restored: u64,
    timeouts: u64,
    idle: u64,
    limited: u64,
    aggregated: u64,
    phases: [u64; 8],
}

impl Draft {
    fn new(random: Rng) -> Draft {
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

    fn bbr_init(&mut self, now: Time, srtt: Option<Span>) {
        self.rtprop = srtt.map_or(INF, Span::as_secs_f64);
        self.rtprop_stamp = now;
        self.extra_acked_interval_start = now;
        self.has_srtt = srtt.is_some();
        self.init_pacing_rate(srtt.map_or(0.001, Span::as_secs_f64));
    }

    fn init_pacing_rate(&mut self, srtt: f64) {
        // Linux: all rates are 1 % lower, and this gain is the high one.
        self.pacing_rate = 0.99 * BBR_HIGH_GAIN * self.cwnd / srtt;
    }

    fn update_on_ack(&mut self, ack: &Delivery) {
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

    fn update_btlbw(&mut self, ack: &Delivery) {
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
    fn update_ack_aggregation(&mut self, ack: &Delivery) {
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

    fn aggregated(&mut self) -> f64 {
        let current = self.round_count / 5;
        self.extra_acked.retain(|(window, _)| window + 1 >= current);
        let most = self.extra_acked.iter().map(|(_, extra)| *extra).fold(0.0, f64::max);
        most.min((self.btlbw * 0.1).floor())
    }

    fn is_next_cycle_phase(&self, ack: &Delivery) -> bool {
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

    fn advance_cycle_phase(&mut self, now: Time) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % 8;
    }

    fn check_full_pipe(&mut self, ack: &Delivery) {
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

    fn check_drain(&mut self, ack: &Delivery) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && ack.flight as f64 <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cycle_index = 8 - 1 - self.random.below(7) as usize;
        self.advance_cycle_phase(now);
    }

    fn update_rtprop(&mut self, ack: &Delivery) {
        self.rtprop_expired = ack.now > self.rtprop_stamp + Span::from_secs(10);
        if let Some(rtt) = ack.rtt {
            // Linux: an equal round trip does not renew the filter.
            if rtt.as_secs_f64() < self.rtprop || self.rtprop_expired {
                self.rtprop = rtt.as_secs_f64();
                self.rtprop_stamp = ack.now;
            }
        }
    }

    fn check_probe_rtt(&mut self, ack: &Delivery) {
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

    fn exit_probe_rtt(&mut self, now: Time) {
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

    fn save_cwnd(&self) -> f64 {
        if self.repair == Repair::None && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        }
    }

    fn handle_restart_from_idle(&mut self, now: Time) {
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

    fn on_rto(&mut self) {
        self.seen.timeouts += 1;
        self.repair = Repair::Timeout;
        // Linux: the pipe may have changed.
        self.full_bw = 0.0;
    }

    fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = 0.99 * gain * self.btlbw;
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.quantized(self.bdp(gain))
    }

    /// Whole segments, rounded up.
    fn bdp(&self, gain: f64) -> f64 {
        if self.rtprop == INF {
            return 10.0;
        }
        let estimated_bdp = self.btlbw * self.rtprop;
        (gain * estimated_bdp / self.smss).ceil()
    }

    /// Linux: three bursts of 1/1024 s at the pace, of one segment below 1.2 Mbit/s and otherwise of
    /// 2 to 127; an even number; and two more in the first phase. In bytes, of segments.
    fn quantized(&self, segments: f64) -> f64 {
        let least = if 8.0 * self.pacing_rate < 1_200_000.0 { 1.0 } else { 2.0 };
        let quantum = ((self.pacing_rate / 1024.0).floor() / self.smss).floor().clamp(least, 127.0);
        let even = ((segments + 3.0 * quantum) / 2.0).ceil() * 2.0;
        let probing = self.state == State::ProbeBw && self.cycle_index == 0;
        (even + if probing { 2.0 } else { 0.0 }) * self.smss
    }

    fn set_cwnd(&mut self, ack: &Delivery) {
        if ack.arrived > 0 {
            self.set_cwnd_for(ack);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(4.0 * self.smss);
        }
    }

    fn set_cwnd_for(&mut self, ack: &Delivery) {
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

parameters! {
    /// Parameters of the comparison.
    pub struct BesideDraftParams {
        /// The seed of both
        seed: u32 as Integer(0, 1_000_000) = 0,
    }
}

impl PolicyParams for BesideDraftParams {
    type Policy = BesideDraft;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "bbr-beside-draft",
        title: "BBR beside its draft",
        role: Role::CongestionControl,
        help: "Compares BBR with the draft.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00",
        params: BesideDraftParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<BesideDraft, Refused> {
        let mut control = CongestionControlKind::named("bbr").unwrap().build()?;
        let random = Rng::named(self.seed.into(), "bbr beside draft");
        control.draw_from(random.clone());
        Ok(BesideDraft { control, draft: Draft::new(random) })
    }

    fn example() -> BesideDraftParams {
        BesideDraftParams { seed: 1 }
    }
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// BBR and the draft, with the same events.
#[derive(Debug)]
pub struct BesideDraft {
    control: AnyCongestionControl,
    draft: Draft,
}

impl BesideDraft {
    fn compare(&self, windows: &Windows, cwnd: u64) {
        assert_eq!(cwnd as f64, self.draft.cwnd, "{:#?}", self.draft);
        let pause = self.control.interval(windows, 1 << 24).unwrap().as_secs_f64();
        let pace = (1u64 << 24) as f64 / pause;
        assert!((pace / self.draft.pacing_rate - 1.0).abs() < 1e-6, "{pace} {:#?}", self.draft);
    }

    fn learn(&mut self, windows: &Windows) {
        (self.draft.smss, self.draft.cwnd) = (windows.mss as f64, windows.cwnd as f64);
    }
}

impl Drop for BesideDraft {
    fn drop(&mut self) {
        SEEN.with_borrow_mut(|seen| seen.push(self.draft.seen));
    }
}

impl CongestionControl for BesideDraft {
    fn has_model(&self) -> bool {
        true
    }

    fn begin(&mut self, now: Time, windows: &Windows, srtt: Option<Span>) {
        self.learn(windows);
        self.draft.bbr_init(now, srtt);
        self.control.begin(now, windows, srtt);
        self.compare(windows, windows.cwnd);
    }

    fn resumed(&mut self, now: Time, windows: &Windows) -> u64 {
        self.learn(windows);
        self.draft.handle_restart_from_idle(now);
        let cwnd = self.control.resumed(now, windows);
        self.compare(windows, cwnd);
        cwnd
    }

    fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        self.learn(windows);
        self.draft.update_on_ack(delivery);
        let ruling = self.control.delivered(windows, delivery);
        assert_eq!(ruling.limits_samples, self.draft.app_limits);
        self.compare(windows, ruling.cwnd);
        ruling
    }

    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.learn(windows);
        self.draft.prior_cwnd = self.draft.save_cwnd();
        self.control.decrease(now, windows, flight)
    }

    fn interval(&self, windows: &Windows, bytes: u64) -> Option<Span> {
        self.control.interval(windows, bytes)
    }

    fn begin_anew(&mut self, now: Time) {
        self.draft.on_rto();
        self.control.begin_anew(now);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        let (control, draft) = (self.control.clone(), self.draft.clone());
        Box::new(BesideDraft { control, draft })
    }
}

/// A path of random faults: of none or of all kinds.
fn path(rng: &mut Rng) -> Path {
    Path {
        delay: pick(rng, &[1, 5, 20, 60]),
        service: pick(rng, &[100, 300, 1000, 5000]),
        queue: pick(rng, &[5, 20, 60, 1000]),
        loss: pick(rng, &[0.0, 0.0, 0.003, 0.05, 0.2]),
        early: pick(rng, &[0.0, 0.0, 0.1]),
        marked: 0.0,
        lost_acks: pick(rng, &[0.0, 0.3, 0.8]),
        late: pick(rng, &[0.0, 0.0, 0.02]),
        lateness: 20,
    }
}

#[test]
fn window_and_pace_are_those_of_the_draft() {
    let mut rng = Rng::named(1, "bbr paths");
    SEEN.with_borrow_mut(Vec::clear);
    for seed in 0..rounds(40) as u32 {
        let params = TcpParams {
            congestion: CongestionControlKind::outside(BesideDraftParams { seed }),
            initial_window: pick(&mut rng, &[2, 10]),
            receiver_window: pick(&mut rng, &[30, 10_000]) * DATA as u32,
            delayed_acks: pick(&mut rng, &[None, Some(Span::from_millis(40))]),
            ..params(("bbr", LossRecovery::Rack))
        };
        let segments = pick(&mut rng, &[200, u64::MAX]);
        let mut world = World::new(&params, path(&mut rng), segments, seed.into());
        for second in 1..=24 {
            world.run(1000 * second, |_| {});
            if segments < u64::MAX {
                world.offer_at(1000 * second, 1 + rng.below(400));
            }
        }
    }
    // Each kind of event was among them.
    let seen = SEEN.with_borrow(Clone::clone);
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let least = [
        sum(|seen| *seen.states.iter().min().unwrap()),
        sum(|seen| seen.states[State::Drain as usize]),
        sum(|seen| seen.states[State::ProbeRtt as usize]),
        sum(|seen| seen.conserved),
        sum(|seen| seen.restored),
        sum(|seen| seen.timeouts),
        sum(|seen| seen.idle),
        sum(|seen| seen.limited),
        sum(|seen| seen.aggregated),
    ];
    println!("{least:?}");
    assert!(least.iter().all(|count| *count >= 100), "{least:?}");
    let mut phases = [0; 8];
    for one in &seen {
        phases.iter_mut().zip(one.phases).for_each(|(sum, count)| *sum += count);
    }
    assert!(phases.iter().all(|count| *count > 1000), "{phases:?}");
}
