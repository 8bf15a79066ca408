use super::*;
use crate::link::{Distribution, GilbertElliott, Pace, Trace};
use crate::rng::Rng;
use proptest::prelude::*;

/// The reference line, slow and simple: opportunities one by one, packets in flight in a list.
struct Oracle {
    plan: LinePlan,
    start: Time,
    /// Start of the changes of the delay.
    delays_from: Time,
    /// Used bytes of each opportunity since the trace started.
    used: Vec<u32>,
    in_flight: Vec<(Time, u32)>,
    /// Arrival of the last packet that was not delayed.
    last: Time,
    lost: u64,
    /// True in the bad state of loss in bursts.
    is_bad: bool,
}

impl Oracle {
    fn new(now: Time, plan: &LinePlan) -> Oracle {
        let (used, in_flight) = (Vec::new(), Vec::new());
        Oracle {
            plan: plan.clone(),
            start: now,
            delays_from: now,
            used,
            in_flight,
            last: now,
            lost: 0,
            is_bad: false,
        }
    }

    fn change(&mut self, now: Time, plan: &LinePlan) {
        if plan.delays != self.plan.delays {
            self.delays_from = now;
        }
        if plan.pace != self.plan.pace {
            self.start = now;
            self.used.clear();
        }
        if plan.loss != self.plan.loss {
            self.is_bad = false;
        }
        self.plan = plan.clone();
    }

    /// Returns when opportunity `number` comes, found by counting milliseconds from the trace's
    /// start.
    fn comes(&self, trace: &[u32], number: usize) -> Time {
        let (round, ix) = (number / trace.len(), number % trace.len());
        let milliseconds = round as u64 * u64::from(trace[trace.len() - 1]) + u64::from(trace[ix]);
        self.start + Span::from_millis(milliseconds)
    }

    /// Returns the first opportunity from `now` on that has a byte left.
    fn next(&mut self, trace: &[u32], now: Time) -> usize {
        let mut number = 0;
        loop {
            if self.used.len() <= number {
                self.used.push(0);
            }
            if self.comes(trace, number) >= now && self.used[number] < Trace::BYTES {
                return number;
            }
            number += 1;
        }
    }

    fn opens(&mut self, trace: Option<&[u32]>, now: Time) -> Time {
        trace.map_or(now, |trace| {
            let number = self.next(trace, now);
            self.comes(trace, number)
        })
    }

    fn begin(&mut self, trace: Option<&[u32]>, now: Time, len: u32) -> Time {
        let Some(trace) = trace else { return now + self.plan.rate.time_for(len) };
        let mut at = now;
        for _ in 0..len {
            let number = self.next(trace, now);
            self.used[number] += 1;
            at = self.comes(trace, number);
        }
        at
    }

    fn fly(&mut self, now: Time, leaves: Time, item: u32, sample: &Sample, rng: &mut Rng) -> Flight {
        let Sample { probability, reordered: (reordered, longer), .. } = *sample;
        let is_lost = match sample.chain {
            None => probability > 0.0 && rng.chance(probability),
            Some(chain) if self.is_bad => {
                let is_lost = rng.chance(chain.loss_in_bad);
                self.is_bad = !rng.chance(chain.to_good);
                is_lost
            }
            Some(chain) => {
                let is_lost = rng.chance(chain.loss_in_good);
                self.is_bad = rng.chance(chain.to_bad);
                is_lost
            }
        };
        if is_lost {
            self.lost += 1;
            return Flight::Lost;
        }
        let delay = match &sample.delays {
            None => self.plan.delay,
            Some((changes, period)) => {
                let since = leaves.since(self.delays_from).ticks();
                let within = period.map_or(since, |period| since % period.ticks());
                let latest = changes.iter().rfind(|(at, _)| at.ticks() <= within);
                latest.map_or(self.plan.delay, |(_, delay)| *delay)
            }
        };
        let due = leaves + self.plan.jitter.takes(delay, rng);
        let takes_longer = reordered > 0.0 && longer > Span::ZERO && rng.chance(reordered);
        if due == now && self.in_flight.is_empty() && !takes_longer {
            return Flight::Arrived;
        }
        let at = if takes_longer {
            due + longer
        } else {
            // It overtakes only packets that take longer: it arrives when all others before it
            // have.
            self.last = self.last.max(due);
            if self.plan.jitter.reorders() { due } else { self.last }
        };
        self.in_flight.push((at, item));
        // At one instant, packets arrive in the order in which they were sent.
        self.in_flight.sort_by_key(|(at, _)| *at);
        Flight::InFlight { first: self.in_flight[0].1 == item }
    }

    fn landed(&mut self, now: Time) -> Vec<(Time, u32)> {
        let (landed, rest) = self.in_flight.iter().partition(|(at, _)| *at <= now);
        self.in_flight = rest;
        landed
    }

    fn offered(&self, trace: &[u32], from: Time, until: Time) -> u64 {
        let times = (0..).map(|number| self.comes(trace, number)).take_while(|at| *at < until);
        times.filter(|at| *at >= from).count() as u64 * u64::from(Trace::BYTES)
    }

    fn used(&self, trace: &[u32], until: Time) -> u64 {
        let before = |(number, _): &(usize, &u32)| self.comes(trace, *number) < until;
        self.used.iter().enumerate().filter(before).map(|(_, used)| u64::from(*used)).sum()
    }
}

/// A plan with the oracle's inputs: the trace's milliseconds, and the probability of loss or the
/// chain of loss in bursts.
#[derive(Clone, Debug)]
struct Sample {
    plan: LinePlan,
    trace: Option<Vec<u32>>,
    probability: f64,
    chain: Option<GilbertElliott>,
    reordered: (f64, Span),
    delays: Option<Changes>,
}

/// Changes of the delay, and their period.
type Changes = (Vec<(Span, Span)>, Option<Span>);

#[derive(Clone, Debug)]
enum Step {
    Wait(Span),
    /// A packet is sent as soon as the line is free and opens.
    Send(u32),
    Change(usize),
}

fn samples() -> impl Strategy<Value = Sample> {
    let trace = prop_oneof![
        2 => Just(None),
        1 => Just(Some(vec![0, 3, 3, 7])),
        1 => prop::collection::vec(0u32..4, 1..6).prop_map(|gaps| {
            let mut at = 1;
            Some(gaps.iter().map(|gap| { at += gap; at }).collect::<Vec<u32>>())
        }),
    ];
    let delay = prop_oneof![Just(0u64), 0u64..20_000];
    let chain = GilbertElliott { to_bad: 0.3, to_good: 0.4, loss_in_good: 0.1, loss_in_bad: 0.8 };
    let loss = prop_oneof![
        3 => Just((0.0, None)),
        1 => Just((0.3, None)),
        1 => Just((1.0, None)),
        2 => Just((0.0, Some(chain))),
    ];
    let reordered = prop_oneof![3 => Just(0.0), 2 => Just(0.3), 1 => Just(1.0)];
    let reordered = (reordered, 0u64..5_000).prop_map(|(share, micros)| (share, Span::from_micros(micros)));
    let span = |micros: core::ops::Range<u64>| micros.prop_map(Span::from_micros);
    let jitter = (0usize..4, span(1..4_000), any::<bool>()).prop_map(|(kind, scale, reorders)| {
        let distribution = match kind {
            0 => return Jitter::NONE,
            1 => Distribution::Uniform { spread: scale },
            2 => Distribution::Normal { deviation: scale },
            _ => Distribution::Pareto { mean: scale, shape: 2.5 },
        };
        Jitter::new(distribution, reorders).unwrap()
    });
    let change = (span(1..20_000), span(0..9_000));
    let delays = (prop::collection::vec(change, 1..4), prop::option::of(span(1..9_000)));
    let delays = delays.prop_map(|(changes, rest)| {
        let mut at = Span::ZERO;
        let changes: Vec<_> = changes
            .into_iter()
            .map(|(gap, delay)| {
                at += gap;
                (at, delay)
            })
            .collect();
        (changes, rest.map(|rest| at + rest))
    });
    let all = (1_000_000u64..50_000_000, trace, delay, loss, reordered, jitter, prop::option::of(delays));
    all.prop_map(|(bits, trace, delay, (probability, chain), reordered, jitter, delays)| Sample {
        plan: LinePlan {
            rate: Rate::from_bits_per_second(bits).unwrap(),
            pace: trace
                .clone()
                .map_or(Pace::Steady, |trace: Vec<u32>| Pace::Trace(Arc::new(Trace::new(trace).unwrap()))),
            delay: Span::from_micros(delay),
            delays: delays.clone().map(|(changes, period)| {
                Arc::new(Steps::new(Span::from_micros(delay), changes, period).unwrap())
            }),
            jitter,
            loss: chain.map_or(Loss::new(probability), Loss::in_bursts).unwrap(),
            reordering: Reordering::new(reordered.0, reordered.1).unwrap(),
        },
        trace,
        probability,
        chain,
        reordered,
        delays,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0u64..12_000).prop_map(|micros| Step::Wait(Span::from_micros(micros))),
        6 => (1u32..4000).prop_map(Step::Send),
        1 => (0usize..4).prop_map(Step::Change),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    /// Compares the line with the oracle under rates, traces, delays, losses and changes of them. A
    /// packet is sent off when its last bit is out, as the simulator does it, or `ahead`, when its
    /// first is, as the gate does.
    #[test]
    fn a_line_does_what_the_slow_one_does(
        samples in prop::collection::vec(samples(), 4), steps in steps(), ahead: bool,
    ) {
        let mut now = Time::ORIGIN;
        let mut sample = &samples[0];
        let (mut line, mut oracle) = (Line::new(now, &sample.plan), Oracle::new(now, &sample.plan));
        let (mut rng, mut oracles_rng) = (Rng::named(1, "line"), Rng::named(1, "line"));
        let mut free = now;
        for (item, step) in (0..).zip(steps) {
            match step {
                Step::Wait(span) => now += span,
                Step::Change(ix) => {
                    sample = &samples[ix];
                    line.change(now, &sample.plan);
                    oracle.change(now, &sample.plan);
                }
                Step::Send(len) => {
                    let trace = sample.trace.as_deref();
                    let opens = line.opens(now.max(free));
                    prop_assert_eq!(opens, oracle.opens(trace, now.max(free)));
                    prop_assert_eq!(line.opens(opens), opens);
                    free = line.begin(opens, len);
                    prop_assert_eq!(free, oracle.begin(trace, opens, len));
                    now = if ahead { opens } else { free };
                    let flight = line.fly(now, free, item, &mut rng);
                    let expected = oracle.fly(now, free, item, sample, &mut oracles_rng);
                    prop_assert_eq!(flight, expected);
                }
            }
            let mut landed = Vec::new();
            loop {
                let at = line.next_arrival();
                let Some(item) = line.land(now) else { break };
                landed.push((at, item));
            }
            prop_assert_eq!(landed, oracle.landed(now));
            prop_assert_eq!(line.in_flight(), oracle.in_flight.len());
            prop_assert_eq!(line.next_arrival(), oracle.in_flight.first().map_or(Time::NEVER, |(at, _)| *at));
            prop_assert_eq!(line.lost(), oracle.lost);
            let from = now.before(Span::from_millis(7));
            let offered = sample.trace.as_deref().map(|trace| oracle.offered(trace, from, now));
            prop_assert_eq!(line.offered(from, now), offered);
            for until in [now, now + Span::from_millis(2)] {
                let used = sample.trace.as_deref().map_or(0, |trace| oracle.used(trace, until));
                prop_assert_eq!(line.used(until), used);
            }
            let immediate = sample.plan.delay == Span::ZERO
                && sample.probability == 0.0
                && sample.chain.is_none()
                && !sample.plan.reordering.happens()
                && !sample.plan.jitter.happens()
                && sample.delays.is_none()
                && oracle.in_flight.is_empty();
            prop_assert_eq!(line.is_immediate(), immediate);
        }
    }

    /// Checks that a line whose times are all later by one span, with an equal plan, differs by
    /// that span only.
    #[test]
    fn a_line_does_not_know_the_date(sample in samples(), lengths in prop::collection::vec(1u32..4000, 1..40), later in 0u64..1 << 50) {
        let run = |origin: Time| {
            let mut line = Line::new(origin, &sample.plan);
            let mut rng = Rng::named(2, "line");
            let mut free = origin;
            let mut seen = Vec::new();
            for (item, len) in (0u32..).zip(&lengths) {
                let opens = line.opens(free);
                free = line.begin(opens, *len);
                let flight = line.fly(free, free, item, &mut rng);
                let arrives = line.next_arrival();
                let arrives = (arrives != Time::NEVER).then(|| arrives.since(origin));
                seen.push((free.since(origin), flight, arrives));
            }
            seen
        };
        prop_assert_eq!(run(Time::ORIGIN), run(Time::ORIGIN + Span::from_ticks(later)));
    }
}

/// A plain line is a rate, two flags and two empty pointers: the simulator has one per port.
#[test]
fn a_plain_line_is_small() {
    assert!(size_of::<Line<u64>>() <= size_of::<Rate>() + 8 + 2 * size_of::<usize>());
}
