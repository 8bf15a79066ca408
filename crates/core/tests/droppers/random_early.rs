//! RED, RIO and WRED against a slow oracle: packet by packet, from the papers' pseudo-code, over
//! the whole history.

use crate::averages::{Average, Fate, Rates, chooses};
use crate::common::{pick, rounds};
use crate::line::{Event, passes, record};
use tidegate_core::context::{Reason, Verdict};
use tidegate_core::dropper::BuiltInDropper;
use tidegate_core::packet::{Colour, Packet};
use tidegate_core::params::{Limit, NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;

/// Thresholds and a probability.
#[derive(Clone, Copy)]
struct Class {
    min: f64,
    max: f64,
    max_p: f64,
}

/// Averages by which a class of packets is judged.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Red,
    Rio(&'static str),
    Wred,
}

struct Oracle {
    rule: Rule,
    classes: Vec<Class>,
    weight: f64,
    limit: Limit,
    gentle: bool,
    signal: &'static str,
    mean: f64,
    bytes: bool,
    rates: Rates,
    /// Averages of all packets, of those in profile, of those out of profile.
    averages: [Average; 3],
    fates: Vec<Vec<Fate>>,
    queue: Vec<Packet>,
}

fn is_in(packet: &Packet) -> bool {
    packet.mark.colour() == Colour::Green
}

impl Oracle {
    fn class(&self, packet: &Packet) -> usize {
        match (self.rule, packet.mark.colour()) {
            (Rule::Red, _) | (_, Colour::Green) => 0,
            (Rule::Rio(_), _) | (Rule::Wred, Colour::Yellow) => 1,
            (Rule::Wred, Colour::Red) => 2,
        }
    }

    fn length(&self, of: impl Fn(&Packet) -> bool) -> f64 {
        let packets = self.queue.iter().filter(|packet| of(packet));
        packets.map(|packet| if self.bytes { f64::from(packet.len) } else { 1.0 }).sum()
    }

    fn arrive(&mut self, now: Time, packet: &Packet, rng: &mut Rng) -> Verdict {
        let (all, own) = (self.length(|_| true), self.length(|other| is_in(other) == is_in(packet)));
        self.averages[0].arrive(now, all, &self.rates, self.mean);
        self.averages[if is_in(packet) { 1 } else { 2 }].arrive(now, own, &self.rates, self.mean);
        let [total, within, beyond] = self.averages.each_ref().map(|average| average.value(self.weight));
        let average = match self.rule {
            Rule::Rio(_) if is_in(packet) => within,
            Rule::Rio("out") => beyond,
            Rule::Rio("in") => within,
            Rule::Rio("both") => within.max(beyond),
            _ => total,
        };
        let class = self.class(packet);
        let (verdict, fate) = self.decide(average, class, packet, rng);
        self.fates[class].push(fate);
        if passes(packet, verdict) {
            self.queue.push(*packet);
        }
        verdict
    }

    fn decide(&self, average: f64, class: usize, packet: &Packet, rng: &mut Rng) -> (Verdict, Fate) {
        let bytes: u64 = self.queue.iter().map(|packet| u64::from(packet.len)).sum();
        let full = match self.limit {
            Limit::Packets(most) => self.queue.len() as u64 + 1 > most,
            Limit::Bytes(most) => bytes + u64::from(packet.len) > most,
        };
        if full {
            return (Verdict::Drop(Reason::QueueLimit), Fate::Chosen);
        }
        let Class { min, max, max_p } = self.classes[class];
        if average < min {
            return (Verdict::Accept, Fate::Below);
        }
        let p_b = if average < max {
            max_p * (average - min) / (max - min)
        } else if self.gentle && average < 2.0 * max {
            max_p + (1.0 - max_p) * (average - max) / max
        } else {
            let verdict = match self.signal {
                "mark" => Verdict::Congested(Reason::ForcedDrop),
                _ => Verdict::Drop(Reason::ForcedDrop),
            };
            return (verdict, Fate::Chosen);
        };
        let p_b = if self.bytes { p_b * f64::from(packet.len) / self.mean } else { p_b };
        if !chooses(&self.fates[class], p_b, rng) {
            return (Verdict::Accept, Fate::Passed);
        }
        let verdict = match self.signal {
            "drop" => Verdict::Drop(Reason::EarlyDrop),
            _ => Verdict::Congested(Reason::EarlyDrop),
        };
        (verdict, Fate::Chosen)
    }

    fn left(&mut self, now: Time, packet: &Packet) {
        self.queue.retain(|other| other.body != packet.body);
        let counted = [self.length(|_| true), self.length(is_in), self.length(|packet| !is_in(packet))];
        let mine = [true, is_in(packet), !is_in(packet)];
        for ((average, length), mine) in self.averages.iter_mut().zip(counted).zip(mine) {
            if mine && length == 0.0 {
                average.emptied(now);
            }
        }
    }
}

/// A dropper drawn at random with its oracle.
fn draw(rng: &mut Rng) -> (BuiltInDropper, Oracle) {
    let rule = pick(
        rng,
        &[Rule::Red, Rule::Wred, Rule::Rio("total"), Rule::Rio("out"), Rule::Rio("in"), Rule::Rio("both")],
    );
    let (name, keys): (&str, &[[&'static str; 3]]) = match rule {
        Rule::Red => ("red", &[["min_th", "max_th", "max_p"]]),
        Rule::Rio(_) => ("rio", &[["min_in", "max_in", "max_p_in"], ["min_out", "max_out", "max_p_out"]]),
        Rule::Wred => (
            "wred",
            &[
                ["min_green", "max_green", "max_p_green"],
                ["min_yellow", "max_yellow", "max_p_yellow"],
                ["min_red", "max_red", "max_p_red"],
            ],
        ),
    };
    let (bytes, size) = (rng.chance(0.4), pick(rng, &[40, 1000, 30_000]));
    let limit = |units: u64| if bytes { Limit::Bytes(units * size) } else { Limit::Packets(units) };
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    for [min_key, max_key, p_key] in keys {
        let min = 1 + rng.below(10);
        let max = min + rng.below(16);
        let max_p = pick(rng, &[0.02, 0.1, 0.5, 1.0]);
        values.extend([(*min_key, Value::Limit(limit(min))), (*max_key, Value::Limit(limit(max)))]);
        values.push((*p_key, Value::Number(max_p)));
        let unit = if bytes { size as f64 } else { 1.0 };
        classes.push(Class { min: min as f64 * unit, max: max as f64 * unit, max_p });
    }
    let (weight, mean) = (pick(rng, &[1.0, 0.5, 0.02, 0.002]), pick(rng, &[1, 500, 65_535]));
    let (signal, gentle) = (pick(rng, &["drop", "mark-then-drop", "mark"]), rng.chance(0.5));
    let longest = limit(30 + rng.below(30));
    values.extend([("weight", Value::Number(weight)), ("limit", Value::Limit(longest))]);
    values.extend([("signal", Value::Text(signal.into())), ("mean_packet", Value::Size(mean))]);
    values.push(("slope", Value::Text(if gentle { "gentle" } else { "step" }.into())));
    if let Rule::Rio(governs) = rule {
        values.push(("governs", Value::Text(governs.into())));
    }
    let dropper = BuiltInDropper::read(name, &values).unwrap().unwrap();
    dropper.check().unwrap();
    let fates = vec![Vec::new(); classes.len()];
    let oracle = Oracle {
        rule,
        classes,
        weight,
        limit: longest,
        gentle,
        signal,
        mean: mean as f64,
        bytes,
        rates: Rates::default(),
        averages: Default::default(),
        fates,
        queue: Vec::new(),
    };
    (dropper, oracle)
}

#[test]
fn every_verdict_is_the_oracles() {
    let mut reasons = Vec::new();
    for seed in 0..rounds(150) {
        let (dropper, mut oracle) = draw(&mut Rng::named(seed, "random early detection"));
        let line = record(&dropper, seed, 1500);
        let mut rng = Rng::named(seed, "dropper");
        for (nth, (at, event)) in line.events.iter().enumerate() {
            match event {
                Event::Rate(rate) => oracle.rates.0.push((*at, *rate)),
                Event::Arrive(packet, verdict) => {
                    let expected = oracle.arrive(*at, packet, &mut rng);
                    assert_eq!(*verdict, expected, "seed {seed}, event {nth}: {dropper:?}");
                    reasons.push(expected);
                }
                Event::Head(_, verdict) => assert_eq!(*verdict, Verdict::Accept),
                Event::Left(packet) => oracle.left(*at, packet),
            }
        }
    }
    // Every verdict came up often.
    for verdict in [
        Verdict::Accept,
        Verdict::Drop(Reason::QueueLimit),
        Verdict::Drop(Reason::EarlyDrop),
        Verdict::Drop(Reason::ForcedDrop),
        Verdict::Congested(Reason::EarlyDrop),
        Verdict::Congested(Reason::ForcedDrop),
    ] {
        assert!(reasons.iter().filter(|said| **said == verdict).count() > 100, "{verdict:?}");
    }
}
