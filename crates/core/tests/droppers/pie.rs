//! PIE against a slow oracle that makes every update at its time, and its delay near the target
//! under overload.

use crate::common::{pick, rate, rounds};
use crate::line::{Event, Line, passes, record};
use tidegate_core::context::{Reason, Verdict};
use tidegate_core::dropper::BuiltInDropper;
use tidegate_core::dropper::pie::{Delay, Form, PieParams};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::{Limit, PolicyParams};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

/// Model from the text of RFC 8033, with every departure kept.
struct Oracle {
    params: PieParams,
    begun: Option<Time>,
    updates: u64,
    queue: Vec<Packet>,
    rate: Option<Rate>,
    /// Departure rates measured since the rate of the link was set, in seconds a byte.
    measured: Vec<f64>,
    measuring: Option<(Time, Vec<u32>)>,
    drop_prob: f64,
    old: f64,
    burst: f64,
    accu_prob: f64,
    /// True if the accumulated probability has met a threshold, so that rounding decides.
    met: bool,
}

fn seconds(span: Span) -> f64 {
    span.ticks() as f64 / TICKS_PER_SECOND as f64
}

impl Oracle {
    fn bytes(&self) -> f64 {
        self.queue.iter().map(|packet| f64::from(packet.len)).sum()
    }

    fn delay(&self) -> f64 {
        let measured = self.measured.iter().copied().reduce(|average, one| 0.25 * one + 0.75 * average);
        let link = self.rate.map(|rate| 8.0 / rate.bits_per_second());
        self.bytes() * measured.or(link).unwrap_or(0.0)
    }

    /// Every update that is due by now.
    fn run(&mut self, now: Time) {
        let begun = *self.begun.get_or_insert(now);
        let due = now.since(begun).ticks() / self.params.update.ticks();
        let delay = self.delay();
        let mut made = 0u32;
        while self.updates < due {
            let before = (self.drop_prob, self.old, self.burst);
            self.update(delay);
            self.updates += 1;
            made += 1;
            if before == (self.drop_prob, self.old, self.burst) || made == 65_536 {
                self.updates = due;
            }
        }
    }

    fn update(&mut self, delay: f64) {
        let target = seconds(self.params.target);
        let mut p = self.params.alpha * (delay - target) + self.params.beta * (delay - self.old);
        for (below, divisor) in
            [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0), (2.0, 1.0)]
        {
            if self.drop_prob < below {
                p /= divisor;
                break;
            }
        }
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if delay == 0.0 && self.old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst = (self.burst - seconds(self.params.update)).max(0.0);
        if self.burst < 1e-12 {
            self.burst = 0.0;
        }
        if self.drop_prob == 0.0 && delay < target / 2.0 && self.old < target / 2.0 {
            self.burst = seconds(self.params.max_burst);
        }
        self.old = delay;
    }

    fn arrive(&mut self, packet: &Packet, rng: &mut Rng) -> Verdict {
        let (packets, bytes) = (self.queue.len() as u64 + 1, self.bytes() as u64 + u64::from(packet.len));
        let verdict = if self.params.limit.is_some_and(|limit| !limit.admits(packets, bytes)) {
            Verdict::Drop(Reason::QueueLimit)
        } else if self.burst > 0.0 || !self.drop_early(rng) {
            Verdict::Accept
        } else if self.drop_prob < self.params.mark_below {
            Verdict::Congested(Reason::EarlyDrop)
        } else {
            Verdict::Drop(Reason::EarlyDrop)
        };
        if passes(packet, verdict) {
            self.queue.push(*packet);
        }
        verdict
    }

    fn drop_early(&mut self, rng: &mut Rng) -> bool {
        let target = seconds(self.params.target);
        if (self.old < target / 2.0 && self.drop_prob < 0.2)
            || self.bytes() <= 2.0 * f64::from(self.params.mean_packet)
        {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        self.met |= [0.85, 8.5].iter().any(|threshold| (self.accu_prob - threshold).abs() < 1e-9);
        let drops =
            if self.accu_prob < 0.85 { false } else { self.accu_prob >= 8.5 || rng.unit() <= self.drop_prob };
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }

    fn left(&mut self, now: Time, packet: &Packet) {
        self.queue.retain(|other| other.body != packet.body);
        if let Some((since, departed)) = &mut self.measuring {
            departed.push(packet.len);
            let bytes: u32 = departed.iter().sum();
            if bytes < 16_384 {
                return;
            }
            self.measured.push(seconds(now.since(*since)) / f64::from(bytes));
        }
        self.measuring = (self.bytes() >= 16_384.0).then(|| (now, Vec::new()));
    }
}

#[test]
fn every_verdict_is_the_oracles() {
    let (mut said, mut undecided) = (Vec::new(), 0);
    'seeds: for seed in 0..rounds(80) {
        let mut rng = Rng::named(seed, "pie");
        let update = Span::from_millis(pick(&mut rng, &[1, 15, 150, 20_000]));
        let params = PieParams {
            target: Span::from_ticks(update.ticks() * pick(&mut rng, &[1, 2, 5])),
            update,
            max_burst: Span::from_ticks(update.ticks() * rng.below(11)),
            alpha: pick(&mut rng, &[0.125, 2.0]),
            beta: pick(&mut rng, &[1.25, 20.0]),
            mark_below: pick(&mut rng, &[0.0, 0.1, 1.0]),
            mean_packet: pick(&mut rng, &[1, 1500]),
            limit: pick(&mut rng, &[None, Some(Limit::Packets(400)), Some(Limit::Bytes(100_000))]),
            delay: Delay::Departures,
            form: Form::Rfc,
        };
        let line = record(&BuiltInDropper::Pie(params), seed, 2000);
        let mut draws = Rng::named(seed, "dropper");
        let mut oracle = Oracle {
            params,
            begun: None,
            updates: 0,
            queue: Vec::new(),
            rate: None,
            measured: Vec::new(),
            measuring: None,
            drop_prob: 0.0,
            old: 0.0,
            burst: seconds(params.max_burst),
            accu_prob: 0.0,
            met: false,
        };
        for (nth, (at, event)) in line.events.iter().enumerate() {
            oracle.run(*at);
            match event {
                Event::Rate(rate) => {
                    oracle.rate = *rate;
                    oracle.measured.clear();
                    oracle.measuring = None;
                }
                Event::Arrive(packet, verdict) => {
                    let expected = oracle.arrive(packet, &mut draws);
                    if oracle.met {
                        undecided += 1;
                        continue 'seeds;
                    }
                    assert_eq!(*verdict, expected, "seed {seed}, event {nth}: {params:?}");
                    said.push(expected);
                }
                Event::Head(_, verdict) => assert_eq!(*verdict, Verdict::Accept),
                Event::Left(packet) => oracle.left(*at, packet),
            }
        }
        let found = line.gauge("drop_probability");
        assert!((found - oracle.drop_prob).abs() < 1e-9, "seed {seed}: {found} {}", oracle.drop_prob);
    }
    assert!(undecided * 50 <= rounds(80), "rounding decided in {undecided} runs");
    for verdict in [
        Verdict::Accept,
        Verdict::Drop(Reason::QueueLimit),
        Verdict::Drop(Reason::EarlyDrop),
        Verdict::Congested(Reason::EarlyDrop),
    ] {
        assert!(said.iter().filter(|one| **one == verdict).count() > 100, "{verdict:?}");
    }
}

/// Packets from one early drop to the next at the probability p (RFC 8033, section 5.4): none is
/// dropped until the sum of p over packets is 0.85, each one then with p, and the one with which
/// the sum is 8.5 for certain.
fn mean_gap(p: f64) -> f64 {
    let mut gap = 0.0;
    let mut still = 1.0;
    for nth in 1.. {
        gap += still;
        let sum = f64::from(nth) * p;
        if sum >= 8.5 {
            break;
        }
        if sum >= 0.85 {
            still *= 1.0 - p;
        }
    }
    gap
}

/// The p at which a share of all packets is dropped. The share jumps where 0.85 is a multiple of p;
/// within a jump it is that p.
fn probability_for(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        *(if 1.0 / mean_gap(middle) < share { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Sources that do not answer, at 1.1 to 2 times the link's rate: the dropped share approaches the
/// excess over the link, the drop probability the value that drops this share, and the queueing
/// delay stays near the target.
#[test]
fn under_overload_the_excess_is_dropped_and_the_delay_settles_near_the_target() {
    let loads = [1.1, 1.25, 1.5, 2.0].into_iter();
    for (load, delay) in loads.flat_map(|load| [(load, Delay::Departures), (load, Delay::Timestamps)]) {
        let params = PieParams { mark_below: 0.0, limit: None, delay, ..PieParams::example() };
        let link = rate(10_000_000);
        let mut line =
            Line::new(Time::ORIGIN, &BuiltInDropper::Pie(params), link, true, Rng::named(5, "pie"));
        let mut rng = Rng::named(5, "arrivals");
        let gap = Span::from_ticks((link.time_for(1000).ticks() as f64 / load) as u64);
        let (mut delays, mut probabilities, mut dropped) = (Vec::new(), Vec::new(), 0.0);
        for body in 0..60_000 {
            let joins = line.arrive(Packet::new(BodyId(body), 1000));
            // The first ten seconds or so are the controller's.
            if body >= 20_000 {
                delays.push(line.gauge("queue_delay"));
                probabilities.push(line.gauge("drop_probability"));
                dropped += f64::from(u8::from(!joins));
            }
            line.wait(rng.exponential(gap));
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (delay, target) = (mean(&delays), seconds(params.target));
        assert!((delay / target - 1.0).abs() < 0.15, "load {load}: {delay} s");
        let (share, excess) = (dropped / delays.len() as f64, 1.0 - 1.0 / load);
        assert!((share - excess).abs() < 0.02, "load {load}: {share} dropped of {excess}");
        // The probability is not the share: drops are kept apart.
        let (p, expected) = (mean(&probabilities), probability_for(excess));
        assert!((p - expected).abs() < 0.03, "load {load}: p {p}, {expected} drop {excess}");
        assert!(p > excess + 0.07, "load {load}: p {p} for {excess}");
    }
}
