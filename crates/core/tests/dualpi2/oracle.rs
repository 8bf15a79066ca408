//! The pseudocode of the appendix with two queues of its own, and the events of one link.

use super::world;
use crate::common::lines::Lines;
use crate::common::{pick, rate, rounds};
use std::collections::VecDeque;
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::Value;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

#[derive(Clone, Copy)]
struct Params {
    target: f64,
    update: Span,
    alpha: f64,
    beta: f64,
    k: f64,
    min_th: f64,
    range: f64,
    th_len: usize,
    shift: f64,
}

/// A packet with its timestamp.
#[derive(Clone, Copy)]
struct Pkt {
    body: u32,
    len: u32,
    ecn: u8,
    stamp: Time,
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<Pkt>,
    count: f64,
}

impl Queue {
    fn time(&self, now: Time) -> f64 {
        self.packets.front().map_or(0.0, |first| seconds(now.since(first.stamp)))
    }
}

/// Branches of the pseudocode that were taken, and sums that rounding decides.
#[derive(Default)]
struct Seen {
    native: u64,
    coupled: u64,
    squared_marks: u64,
    squared_drops: u64,
    capable_drops: u64,
    saturated_drops: u64,
    saturated_marks: u64,
    suppressed: u64,
    shifted: u64,
    close: u64,
}

/// The outcome of a packet: its body, and its ECN field, or `None` if it was dropped.
type Outcome = (u32, Option<u8>);

struct Dual {
    params: Params,
    lq: Queue,
    cq: Queue,
    base: f64,
    p_cl: f64,
    p_c: f64,
    prevq: f64,
    /// Time of the next update, from the first packet on.
    tick: Option<Time>,
    seen: Seen,
    outcomes: Vec<Outcome>,
}

fn seconds(span: Span) -> f64 {
    span.ticks() as f64 / TICKS_PER_SECOND as f64
}

impl Dual {
    fn enqueue(&mut self, pkt: Pkt) {
        self.tick.get_or_insert(pkt.stamp + self.params.update);
        if pkt.ecn % 2 == 1 { self.lq.packets.push_back(pkt) } else { self.cq.packets.push_back(pkt) }
    }

    /// Makes the updates by `now`.
    fn updates(&mut self, now: Time) {
        while let Some(tick) = self.tick.filter(|tick| *tick <= now) {
            self.tick = Some(tick + self.params.update);
            let curq = self.cq.time(tick);
            let Params { target, alpha, beta, k, .. } = self.params;
            self.base += alpha * (curq - target) + beta * (curq - self.prevq);
            self.base = self.base.clamp(0.0, 1.0);
            self.p_cl = (k * self.base).min(1.0);
            self.p_c = self.base * self.base;
            self.prevq = curq;
        }
    }

    /// True for the L4S queue: the packet that has waited longest, less the shift for Classic.
    fn scheduler(&mut self, now: Time) -> bool {
        let (Some(l), Some(c)) = (self.lq.packets.front(), self.cq.packets.front()) else {
            return !self.lq.packets.is_empty();
        };
        let (l, c) = (seconds(now.since(l.stamp)), seconds(now.since(c.stamp)));
        let chosen = l > c - self.params.shift;
        self.seen.shifted += u64::from(!chosen);
        self.seen.close += u64::from((l - c + self.params.shift).abs() < 1e-9);
        chosen
    }

    fn recur(&mut self, is_lq: bool, likelihood: f64) -> bool {
        let queue = if is_lq { &mut self.lq } else { &mut self.cq };
        queue.count += likelihood;
        let off = (queue.count - 1.0).abs();
        self.seen.close += u64::from(off > 0.0 && off < 1e-9);
        if queue.count > 1.0 {
            queue.count -= 1.0;
            return true;
        }
        false
    }

    fn laqm(&self, qdelay: f64) -> f64 {
        let Params { min_th, range, .. } = self.params;
        if qdelay >= min_th + range {
            1.0
        } else if qdelay > min_th {
            (qdelay - min_th) / range
        } else {
            0.0
        }
    }

    fn dequeue(&mut self, now: Time) -> Option<Pkt> {
        while !self.lq.packets.is_empty() || !self.cq.packets.is_empty() {
            if self.scheduler(now) {
                let mut pkt = self.lq.packets.pop_front().unwrap();
                if self.p_cl < 1.0 {
                    let qdelay = seconds(now.since(pkt.stamp));
                    let thresholds = [self.params.min_th, self.params.min_th + self.params.range];
                    self.seen.close +=
                        thresholds.iter().filter(|at| (qdelay - **at).abs() < 1e-9).count() as u64;
                    let mut native = self.laqm(qdelay);
                    if self.lq.packets.len() <= self.params.th_len {
                        self.seen.suppressed += u64::from(native > 0.0);
                        native = 0.0;
                    }
                    if self.recur(true, native.max(self.p_cl)) {
                        *(if native > self.p_cl { &mut self.seen.native } else { &mut self.seen.coupled }) +=
                            1;
                        pkt.ecn = 3;
                    }
                } else {
                    if self.recur(true, self.p_c) {
                        self.seen.saturated_drops += 1;
                        self.outcomes.push((pkt.body, None));
                        continue;
                    }
                    if self.recur(true, self.p_cl) {
                        self.seen.saturated_marks += 1;
                        pkt.ecn = 3;
                    }
                }
                return Some(pkt);
            }
            let mut pkt = self.cq.packets.pop_front().unwrap();
            if self.recur(false, self.p_c) {
                let p_cmax = (1.0 / (self.params.k * self.params.k)).min(1.0);
                self.seen.close += u64::from((self.p_c - p_cmax).abs() < 1e-9 && p_cmax < 1.0);
                if pkt.ecn == 0 || self.p_c >= p_cmax {
                    *(if pkt.ecn == 0 {
                        &mut self.seen.squared_drops
                    } else {
                        &mut self.seen.capable_drops
                    }) += 1;
                    self.outcomes.push((pkt.body, None));
                    continue;
                }
                self.seen.squared_marks += 1;
                pkt.ecn = 3;
            }
            return Some(pkt);
        }
        None
    }
}

/// The link behind the queues: the end of the service under way.
struct Served {
    link: Rate,
    until: Option<Time>,
}

impl Served {
    /// Sends all that can start by `now`.
    fn run(&mut self, dual: &mut Dual, now: Time) {
        loop {
            let at = match self.until {
                Some(until) if until > now => return,
                Some(until) => until,
                None if dual.lq.packets.is_empty() && dual.cq.packets.is_empty() => return,
                None => now,
            };
            dual.updates(at);
            self.until = dual.dequeue(at).map(|pkt| {
                dual.outcomes.push((pkt.body, Some(pkt.ecn)));
                at + self.link.time_for(pkt.len)
            });
            if self.until.is_none() {
                return;
            }
        }
    }
}

fn draw(rng: &mut Rng) -> (Params, Vec<(&'static str, Value)>) {
    let millis = |ms: f64| Span::from_ticks((ms * TICKS_PER_SECOND as f64 / 1000.0) as u64);
    let target = millis(pick(rng, &[2.0, 15.0, 40.0]));
    let update = millis(pick(rng, &[1.0, 7.3, 16.0]));
    let (min_th, range) = (millis(pick(rng, &[0.1, 0.8, 3.0])), millis(pick(rng, &[0.0, 0.4, 5.0])));
    let shift = millis(pick(rng, &[0.0, 3.0, 50.0]));
    let (alpha, beta) = (pick(rng, &[0.16, 2.0]), pick(rng, &[3.2, 10.0]));
    let (k, th_len) = (pick(rng, &[0.7, 1.0, 2.0, 3.1]), rng.below(3) as usize);
    let params = Params {
        target: seconds(target),
        update,
        alpha,
        beta,
        k,
        min_th: seconds(min_th),
        range: seconds(range),
        th_len,
        shift: seconds(shift),
    };
    let values = vec![
        ("target", Value::Time(target)),
        ("update", Value::Time(update)),
        ("alpha", Value::Number(alpha)),
        ("beta", Value::Number(beta)),
        ("k", Value::Number(k)),
        ("min_th", Value::Time(min_th)),
        ("range", Value::Time(range)),
        ("th_len", Value::Integer(th_len as i64)),
        ("shift", Value::Time(shift)),
    ];
    (params, values)
}

/// Each flow sends L4S packets or Classic ones alone, as the order of a flow is kept: both are then
/// queues of their own, as in the pseudocode.
#[test]
fn every_packet_fares_as_in_the_pseudocode() {
    let mut seen = Seen::default();
    let mut followed = 0;
    for seed in 0..rounds(120) {
        let mut rng = Rng::named(seed, "dualpi2");
        let (params, values) = draw(&mut rng);
        let link = rate(pick(&mut rng, &[1_000_000, 10_000_000, 100_000_000]));
        let mut lines = Lines::new(world(&values), &[link]);
        let legs: Vec<_> = (0..4).map(|_| lines.world.open(0, &FlowPlan::default())).collect();
        let mut dual = Dual {
            params,
            lq: Queue::default(),
            cq: Queue::default(),
            base: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
            tick: None,
            seen: Seen::default(),
            outcomes: Vec::new(),
        };
        let mut served = Served { link, until: None };
        let (mut load, mut l4s) = (1.0, 0.5);
        for body in 0..3000 {
            if body % 300 == 0 {
                (load, l4s) = (pick(&mut rng, &[0.5, 0.9, 1.05, 1.3, 3.0]), pick(&mut rng, &[0.1, 0.5, 0.9]));
            }
            let (is_l4s, len) = (rng.chance(l4s), pick(&mut rng, &[40, 576, 1500]));
            let ecn = if is_l4s { pick(&mut rng, &[1, 1, 3]) } else { pick(&mut rng, &[0, 2]) };
            let leg = legs[usize::from(is_l4s) * 2 + rng.below(2) as usize];
            let now = lines.world.now;
            served.run(&mut dual, now);
            let mut packet = Packet::new(BodyId(body), len);
            packet.mark = Mark::from_ip(0, ecn);
            lines.world.arrive_packet(&[leg], packet);
            lines.kick();
            dual.updates(now);
            dual.enqueue(Pkt { body, len, ecn, stamp: now });
            served.run(&mut dual, now);
            let mean = link.time_for(700).ticks() as f64 / load;
            lines.run(now + rng.exponential(Span::from_ticks(mean as u64)));
        }
        lines.drain();
        served.run(&mut dual, Time::NEVER);
        if dual.seen.close > 0 {
            continue;
        }
        followed += 1;
        let dropped = lines.dropped.iter().map(|(_, packet, _)| (packet.body.0, None));
        let mut real: Vec<Outcome> = dropped.collect();
        real.extend(lines.sent.iter().map(|sent| (sent.packet.body.0, Some(sent.packet.mark.ecn()))));
        let sent = |outcomes: &[Outcome]| -> Vec<Outcome> {
            outcomes.iter().copied().filter(|(_, ecn)| ecn.is_some()).collect()
        };
        let lost = |outcomes: &[Outcome]| -> Vec<Outcome> {
            outcomes.iter().copied().filter(|(_, ecn)| ecn.is_none()).collect()
        };
        assert_eq!(sent(&real), sent(&dual.outcomes), "seed {seed}: {values:?}");
        assert_eq!(lost(&real), lost(&dual.outcomes), "seed {seed}: {values:?}");
        let Seen { native, coupled, squared_marks, squared_drops, capable_drops, .. } = dual.seen;
        let Seen { saturated_drops, saturated_marks, suppressed, shifted, .. } = dual.seen;
        seen.native += native;
        seen.coupled += coupled;
        seen.squared_marks += squared_marks;
        seen.squared_drops += squared_drops;
        seen.capable_drops += capable_drops;
        seen.saturated_drops += saturated_drops;
        seen.saturated_marks += saturated_marks;
        seen.suppressed += suppressed;
        seen.shifted += shifted;
    }
    assert!(followed * 10 > rounds(120) * 9, "{followed} were followed");
    let branches = [
        seen.native,
        seen.coupled,
        seen.squared_marks,
        seen.squared_drops,
        seen.capable_drops,
        seen.saturated_drops,
        seen.saturated_marks,
        seen.suppressed,
        seen.shifted,
    ];
    println!("{followed} runs; branches {branches:?}");
    assert!(branches.iter().all(|taken| *taken > 100), "{branches:?}");
}
