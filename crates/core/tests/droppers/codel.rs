//! CoDel against the pseudo-code of RFC 8289, section 5, with a queue of its own, and against its
//! control law.

use crate::common::{pick, rate, rounds};
use crate::line::{Event, Line, record};
use std::collections::VecDeque;
use tidegate_core::context::{Reason, Verdict};
use tidegate_core::dropper::BuiltInDropper;
use tidegate_core::dropper::codel::{CodelParams, Form};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// The queue of the RFC's pseudo-code: it dequeues, drops and marks by itself.
struct Oracle {
    target: u64,
    interval: u64,
    queue: VecDeque<Packet>,
    largest: u64,
    first_above: Option<u64>,
    drop_next: u64,
    count: u64,
    last_count: u64,
    dropping: bool,
    /// Verdicts on the packets that were dequeued.
    done: Vec<(BodyId, Verdict)>,
}

const CHOSEN: Verdict = Verdict::Congested(Reason::SojournTime);

impl Oracle {
    fn new(target: Span, interval: Span) -> Oracle {
        Oracle {
            target: target.ticks(),
            interval: interval.ticks(),
            queue: VecDeque::new(),
            largest: 0,
            first_above: None,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            done: Vec::new(),
        }
    }

    /// The latest time t + s with s √count ≤ interval, by bisection.
    fn control_law(&self, t: u64) -> u64 {
        let (mut low, mut high) = (0, self.interval + 1);
        let fits = |s: u64| u128::from(s).pow(2) * u128::from(self.count) <= u128::from(self.interval).pow(2);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if fits(middle) { low = middle } else { high = middle }
        }
        t + low
    }

    fn dodequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above = None;
            return (None, false);
        };
        let bytes: u64 = self.queue.iter().map(|packet| u64::from(packet.len)).sum();
        let mut ok_to_drop = false;
        if now - packet.arrived.ticks() < self.target || bytes <= self.largest {
            self.first_above = None;
        } else if let Some(first_above) = self.first_above {
            ok_to_drop = now >= first_above;
        } else {
            self.first_above = Some(now + self.interval);
        }
        (Some(packet), ok_to_drop)
    }

    /// Dequeues the packet that leaves now.
    fn deque(&mut self, now: u64) -> Option<Packet> {
        let (mut packet, mut ok) = self.dodequeue(now);
        if self.dropping {
            if !ok {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let chosen = packet?;
                self.count += 1;
                self.done.push((chosen.body, CHOSEN));
                if chosen.mark.ecn() != 0 {
                    // It is marked, and leaves.
                    self.drop_next = self.control_law(self.drop_next);
                    return Some(chosen);
                }
                (packet, ok) = self.dodequeue(now);
                if ok {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            let chosen = packet?;
            self.done.push((chosen.body, CHOSEN));
            let marked = chosen.mark.ecn() != 0;
            if !marked {
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.last_count;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
            if marked {
                return packet;
            }
        }
        self.done.extend(packet.map(|packet| (packet.body, Verdict::Accept)));
        packet
    }
}

#[test]
fn every_verdict_is_the_oracles() {
    let (mut drops, mut marks, mut re_entries) = (0, 0, 0);
    for seed in 0..rounds(150) {
        let mut rng = Rng::named(seed, "codel");
        let interval = Span::from_millis(pick(&mut rng, &[1, 20, 100, 2_000]));
        let target = Span::from_ticks(interval.ticks() / pick(&mut rng, &[1, 20, 100]));
        let limit = pick(&mut rng, &[None, Some(Limit::Packets(200)), Some(Limit::Bytes(200_000))]);
        let params = CodelParams { target, interval, limit, form: Form::Rfc };
        let line = record(&BuiltInDropper::Codel(params), seed, 3000);
        let mut oracle = Oracle::new(target, interval);
        let (mut heads, mut serving) = (Vec::<(BodyId, Verdict)>::new(), None::<Packet>);
        for (at, event) in &line.events {
            match event {
                Event::Arrive(packet, verdict) => {
                    let queued: Vec<_> = oracle.queue.iter().chain(&serving).chain([packet]).collect();
                    let bytes = queued.iter().map(|packet| u64::from(packet.len)).sum();
                    let fits = limit.is_none_or(|limit| limit.admits(queued.len() as u64, bytes));
                    let expected = if fits { Verdict::Accept } else { Verdict::Drop(Reason::QueueLimit) };
                    assert_eq!(*verdict, expected, "seed {seed}: {params:?}");
                    oracle.largest = oracle.largest.max(u64::from(packet.len));
                    if *verdict == Verdict::Accept {
                        oracle.queue.push_back(*packet);
                    }
                }
                Event::Head(packet, verdict) => {
                    if oracle.done.len() == heads.len() {
                        let count = oracle.count;
                        let was = oracle.dropping;
                        serving = oracle.deque(at.ticks());
                        re_entries += u32::from(!was && oracle.dropping && oracle.count > 1 && count > 1);
                    }
                    heads.push((packet.body, *verdict));
                    let nth = heads.len() - 1;
                    assert_eq!(heads[nth], oracle.done[nth], "seed {seed}, packet {nth}: {params:?}");
                    let marked = packet.mark.ecn() != 0;
                    match verdict {
                        Verdict::Congested(_) if marked => marks += 1,
                        Verdict::Congested(_) => drops += 1,
                        _ => {}
                    }
                }
                Event::Left(packet) if serving.is_some_and(|serving| serving.body == packet.body) => {
                    serving = None;
                }
                Event::Rate(_) | Event::Left(_) => {}
            }
        }
        assert_eq!(heads.len(), oracle.done.len());
    }
    assert!(drops > 1000 && marks > 1000 && re_entries > 50, "{drops} {marks} {re_entries}");
}

/// A queue that nothing empties: drops are apart by interval / √n, n = 1, 2, 3, …
#[test]
fn drops_follow_the_control_law() {
    for bits in [10_000_000, 100_000_000] {
        let params = CodelParams {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            limit: None,
            form: Form::Rfc,
        };
        let mut line =
            Line::new(Time::ORIGIN, &BuiltInDropper::Codel(params), rate(bits), true, Rng::named(1, "law"));
        let packet = rate(bits).time_for(1000);
        for body in 0..20_000 {
            let mut arriving = Packet::new(BodyId(body), 1000);
            arriving.mark = Mark::from_ip(0, 0b10);
            line.arrive(arriving);
            line.wait(Span::from_ticks(packet.ticks() / 2));
        }
        let chosen = line.events.iter().filter(|(_, event)| matches!(event, Event::Head(_, CHOSEN)));
        let times: Vec<f64> = chosen.map(|(at, _)| at.since(Time::ORIGIN).as_secs_f64()).collect();
        assert!(times.len() > 15, "{}", times.len());
        let mut due = times[0];
        for (nth, time) in times.iter().enumerate().skip(1) {
            due += 0.1 / (nth as f64).sqrt();
            let late = time - due;
            // At the first packet that leaves when it is due.
            assert!((-1e-9..=packet.as_secs_f64() + 1e-9).contains(&late), "{nth}: {late}");
        }
    }
}
