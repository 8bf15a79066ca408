//! Linux's form of RED against a slow oracle, over the whole history, and against the distances
//! that follow from its rule.

use crate::common::{pick, rounds};
use crate::line::{Event, passes, record};
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::dropper::{BuiltInDropper, Dropper, DropperKind, Occupancy};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::{Limit, NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::Time;

/// The outcome of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// The average was not between the thresholds.
    Outside,
    /// It was, and the packet passed.
    Passed,
    /// It was, and the packet was chosen.
    Chosen,
}

struct Oracle {
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    bytes: bool,
    mark: bool,
    /// The queue found by every arrival.
    found: Vec<f64>,
    fates: Vec<Fate>,
    /// The number drawn for the distance under way.
    drawn: f64,
    queue: Vec<Packet>,
}

impl Oracle {
    fn arrive(&mut self, packet: &Packet, rng: &mut Rng) -> Verdict {
        let length = |packet: &Packet| if self.bytes { f64::from(packet.len) } else { 1.0 };
        self.found.push(self.queue.iter().map(length).sum());
        let average =
            self.found.iter().fold(0.0, |average, queue| (1.0 - self.weight) * average + self.weight * queue);
        let verdict = if average < self.min {
            self.fates.push(Fate::Outside);
            Verdict::Accept
        } else if average >= self.max {
            self.fates.push(Fate::Outside);
            if self.mark { Verdict::Congested(Reason::ForcedDrop) } else { Verdict::Drop(Reason::ForcedDrop) }
        } else {
            self.between(self.max_p * (average - self.min) / (self.max - self.min), rng)
        };
        if passes(packet, verdict) {
            self.queue.push(*packet);
        }
        verdict
    }

    fn between(&mut self, p: f64, rng: &mut Rng) -> Verdict {
        // Packets since the last one that was chosen; the first one inside begins a distance.
        let since = self.fates.iter().rev().take_while(|fate| **fate == Fate::Passed).count();
        let is_first = self.fates.len() == since || self.fates[self.fates.len() - since - 1] == Fate::Outside;
        let number = if is_first { since } else { since + 1 };
        let chosen = number > 0 && number as f64 * p >= self.drawn;
        if number == 0 || chosen {
            self.drawn = rng.unit();
        }
        self.fates.push(if chosen { Fate::Chosen } else { Fate::Passed });
        match (chosen, self.mark) {
            (false, _) => Verdict::Accept,
            (true, true) => Verdict::Congested(Reason::EarlyDrop),
            (true, false) => Verdict::Drop(Reason::EarlyDrop),
        }
    }
}

fn dropper(
    min: Limit,
    max: Limit,
    (max_p, weight): (f64, f64),
    signal: &'static str,
    mean: u64,
) -> BuiltInDropper {
    let values = [
        ("min_th", Value::Limit(min)),
        ("max_th", Value::Limit(max)),
        ("max_p", Value::Number(max_p)),
        ("weight", Value::Number(weight)),
        ("signal", Value::Text(signal.into())),
        ("mean_packet", Value::Size(mean)),
        ("form", Value::Text("linux".into())),
    ];
    BuiltInDropper::read("red", &values).unwrap().unwrap()
}

#[test]
fn every_verdict_is_the_oracles() {
    let mut reasons = Vec::new();
    for seed in 0..rounds(80) {
        let mut rng = Rng::named(seed, "linux's red");
        let (bytes, size) = (rng.chance(0.4), pick(&mut rng, &[40, 1000]));
        let limit = |units: u64| if bytes { Limit::Bytes(units * size) } else { Limit::Packets(units) };
        let unit = if bytes { size as f64 } else { 1.0 };
        let min = 1 + rng.below(10);
        let max = min + 1 + rng.below(16);
        let (max_p, weight) = (pick(&mut rng, &[0.02, 0.1, 0.5]), pick(&mut rng, &[0.5, 0.02, 0.002]));
        let mark = rng.chance(0.5);
        let signal = if mark { "mark" } else { "drop" };
        // The mean packet changes nothing.
        let mean = pick(&mut rng, &[1, 500, 65_535]);
        let dropper = dropper(limit(min), limit(max), (max_p, weight), signal, mean);
        let (min, max) = (min as f64 * unit, max as f64 * unit);
        let mut oracle = Oracle {
            min,
            max,
            max_p,
            weight,
            bytes,
            mark,
            found: Vec::new(),
            fates: Vec::new(),
            drawn: 0.0,
            queue: Vec::new(),
        };
        let line = record(&dropper, seed, 1000);
        let mut rng = Rng::named(seed, "dropper");
        for (nth, (_, event)) in line.events.iter().enumerate() {
            match event {
                Event::Arrive(packet, verdict) => {
                    let expected = oracle.arrive(packet, &mut rng);
                    assert_eq!(*verdict, expected, "seed {seed}, event {nth}: {dropper:?}");
                    reasons.push(expected);
                }
                Event::Left(packet) => oracle.queue.retain(|other| other.body != packet.body),
                Event::Rate(_) | Event::Head(..) => {}
            }
        }
    }
    for verdict in [
        Verdict::Accept,
        Verdict::Drop(Reason::EarlyDrop),
        Verdict::Drop(Reason::ForcedDrop),
        Verdict::Congested(Reason::EarlyDrop),
        Verdict::Congested(Reason::ForcedDrop),
    ] {
        assert!(reasons.iter().filter(|said| **said == verdict).count() > 100, "{verdict:?}");
    }
}

/// At a constant p the distance from one choice to the next is uniform over 1, 2, …, 1/p, and the
/// first packet inside the thresholds is not chosen.
#[test]
fn distances_are_uniform() {
    // A weight of 1: the average is the queue, 10 packets.
    let kind = dropper(Limit::Packets(5), Limit::Packets(15), (0.1, 1.0), "drop", 1000);
    let mut dropper = DropperKind::BuiltIn(kind).build().unwrap();
    let (mut rng, mut counts, mut since) = (Rng::named(1, "distances"), [0u32; 21], None::<usize>);
    let queue = Count { packets: 10, bytes: 10_000 };
    let at = Occupancy { queue, ..Occupancy::default() };
    for nth in 0..200_000 {
        let mut cx = Ctx { now: Time::ORIGIN, rng: &mut rng, out: &mut Vec::new() };
        let verdict = dropper.arrive(&mut cx, &Packet::new(BodyId(nth), 1000), &at);
        assert!(nth > 0 || verdict == Verdict::Accept);
        let distance = since.map_or(0, |since| since + 1);
        if verdict == Verdict::Accept {
            since = Some(distance);
        } else {
            counts[if nth < 21 { 0 } else { distance }] += 1;
            since = Some(0);
        }
    }
    // p is 0.05: twenty distances, each some 952 times, with a standard deviation of 30.
    assert!(counts[1..].iter().all(|count| (830..1075).contains(count)), "{counts:?}");
}
