//! Both queues against an exact oracle: a B-tree keyed by (time, key, insertion).

use super::{BinaryHeapQueue, EventQueue, Ladder};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};

const TWO_YEARS: u64 = 2 * 366 * 86_400 * TICKS_PER_SECOND;

/// The two queues and the oracle, kept in step; every answer is compared.
struct Trio {
    ladder: Ladder<u64>,
    heap: BinaryHeapQueue<u64>,
    oracle: BTreeMap<(u64, u32, u64), ()>,
    pushed: u64,
    now: u64,
}

impl Trio {
    fn new() -> Trio {
        Trio {
            ladder: Ladder::new(),
            heap: BinaryHeapQueue::with_capacity(10),
            oracle: BTreeMap::new(),
            pushed: 0,
            now: Time::ORIGIN.ticks(),
        }
    }

    fn push(&mut self, time: u64, key: u32) {
        self.ladder.push(Time::from_ticks(time), key, self.pushed);
        self.heap.push(Time::from_ticks(time), key, self.pushed);
        self.oracle.insert((time, key, self.pushed), ());
        self.pushed += 1;
    }

    fn pop(&mut self) {
        let expected = self.oracle.pop_first().map(|((time, _, event), ())| (Time::from_ticks(time), event));
        assert_eq!(self.ladder.pop(), expected);
        assert_eq!(self.heap.pop(), expected);
        self.now = expected.map_or(self.now, |(time, _)| time.ticks());
        self.check_len();
    }

    fn pop_until(&mut self, limit: u64) {
        let first = self.oracle.first_key_value().map(|(&(time, ..), ())| time);
        assert_eq!(self.ladder.next_time(), first.map(Time::from_ticks));
        assert_eq!(self.heap.next_time(), first.map(Time::from_ticks));
        if first.is_some_and(|first| first > limit) {
            assert_eq!(self.ladder.pop_until(Time::from_ticks(limit)), None);
            assert_eq!(self.heap.pop_until(Time::from_ticks(limit)), None);
            return;
        }
        let expected = self.oracle.pop_first().map(|((time, _, event), ())| (Time::from_ticks(time), event));
        assert_eq!(self.ladder.pop_until(Time::from_ticks(limit)), expected);
        assert_eq!(self.heap.pop_until(Time::from_ticks(limit)), expected);
        self.now = expected.map_or(self.now, |(time, _)| time.ticks());
        self.check_len();
    }

    fn check_len(&self) {
        assert_eq!(self.ladder.len(), self.oracle.len());
        assert_eq!(self.heap.len(), self.oracle.len());
        assert_eq!(self.ladder.is_empty(), self.oracle.is_empty());
    }

    fn drain(&mut self) {
        while !self.oracle.is_empty() {
            self.pop();
        }
        self.pop();
    }
}

/// When an event is pushed, seen from the last one popped.
#[derive(Clone, Copy, Debug)]
enum When {
    Now,
    /// Later by less than 2 to this power.
    Later(u32),
    /// Earlier by less than 2 to this power.
    Earlier(u32),
    TwoYears,
    /// This long before the end of time.
    NearNever(u64),
    NearZero(u64),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(usize, When),
    /// So many events at one instant.
    Burst(usize, When),
    Pop(usize),
    /// Pop one, push one.
    Hold(usize, When),
    PopUntil(When),
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        2 => Just(When::Now),
        8 => (0..48u32).prop_map(When::Later),
        2 => (0..63u32).prop_map(When::Later),
        3 => (0..48u32).prop_map(When::Earlier),
        1 => (0..63u32).prop_map(When::Earlier),
        1 => Just(When::TwoYears),
        1 => (0..3u64).prop_map(When::NearNever),
        1 => (0..3u64).prop_map(When::NearZero),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let count = || prop_oneof![8 => 1..40usize, 1 => 40..400usize];
    prop_oneof![
        4 => (count(), when()).prop_map(|(n, when)| Step::Push(n, when)),
        1 => (count(), when()).prop_map(|(n, when)| Step::Burst(n, when)),
        3 => count().prop_map(Step::Pop),
        3 => (count(), when()).prop_map(|(n, when)| Step::Hold(n, when)),
        1 => when().prop_map(Step::PopUntil),
    ]
}

fn instant(when: When, now: u64, rng: &mut Rng) -> u64 {
    match when {
        When::Now => now,
        When::Later(power) => now.saturating_add(rng.below(1 << power)),
        When::Earlier(power) => now.saturating_sub(rng.below(1 << power)),
        When::TwoYears => now.saturating_add(rng.below(TWO_YEARS)),
        When::NearNever(before) => u64::MAX - before,
        When::NearZero(after) => after,
    }
}

/// After a visit to either end of time the workload returns to the origin.
fn run(steps: &[Step], seed: u64, keys: u64) {
    let mut trio = Trio::new();
    let mut rng = Rng::named(seed, "event queue workload");
    for &step in steps {
        if trio.now.abs_diff(Time::ORIGIN.ticks()) > 2 * TWO_YEARS {
            trio.now = Time::ORIGIN.ticks();
        }
        match step {
            Step::Push(n, when) => {
                for _ in 0..n {
                    let time = instant(when, trio.now, &mut rng);
                    trio.push(time, rng.below(keys) as u32);
                }
            }
            Step::Burst(n, when) => {
                let time = instant(when, trio.now, &mut rng);
                for _ in 0..n {
                    trio.push(time, rng.below(keys) as u32);
                }
            }
            Step::Pop(n) => (0..n).for_each(|_| trio.pop()),
            Step::Hold(n, when) => {
                for _ in 0..n {
                    trio.pop();
                    let time = instant(when, trio.now, &mut rng);
                    trio.push(time, rng.below(keys) as u32);
                }
            }
            Step::PopUntil(when) => {
                let limit = instant(when, trio.now, &mut rng);
                trio.pop_until(limit);
            }
        }
    }
    trio.drain();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_workload_comes_out_in_order(
        steps in prop::collection::vec(step(), 1..120), seed: u64, keys in prop_oneof![Just(1u64), Just(4), Just(1 << 32)]
    ) {
        run(&steps, seed, keys);
    }
}

#[test]
fn hold_model_at_every_size() {
    for (pending, mean) in
        [(1, 1), (3, 1 << 20), (31, 5), (32, 1 << 30), (70, 1 << 12), (1000, 100), (20_000, TWO_YEARS / 50)]
    {
        let mut trio = Trio::new();
        let mut rng = Rng::named(pending, "hold");
        let mean = Span::from_ticks(mean);
        let origin = trio.now;
        for _ in 0..pending {
            trio.push(origin + rng.exponential(mean).ticks(), rng.below(5) as u32);
        }
        for _ in 0..30_000.max(3 * pending) {
            trio.pop();
            trio.push(trio.now.saturating_add(rng.exponential(mean).ticks()), rng.below(5) as u32);
        }
        trio.drain();
    }
}

#[test]
fn equal_events_keep_the_order_of_insertion() {
    let mut trio = Trio::new();
    let origin = trio.now;
    for round in 0..200u64 {
        for event in 0..(round * 7) % 97 {
            trio.push(origin + round / 3 + event % 2, (event % 3) as u32);
        }
        for _ in 0..round % 50 {
            trio.pop();
        }
    }
    trio.drain();
}

/// Runs `pushes` with as many events pending as it likes and returns how it ended;
/// far too slow to finish if any of its steps were linear in the number pending.
fn ladder_of(times: impl Iterator<Item = u64>) -> Ladder<u32> {
    let mut ladder = Ladder::new();
    for (event, time) in times.enumerate() {
        ladder.push(Time::from_ticks(time), 0, event as u32);
    }
    ladder
}

fn assert_sorted(ladder: &mut Ladder<u32>) {
    let mut last = Time::from_ticks(0);
    while let Some((time, _)) = ladder.pop() {
        assert!(time >= last);
        last = time;
    }
}

#[test]
fn a_million_events_of_one_instant_with_more_arriving() {
    let mut ladder = ladder_of((0..1_000_000).map(|_| 7));
    for event in 0..1_000_000 {
        assert_eq!(ladder.pop(), Some((Time::from_ticks(7), event)));
        ladder.push(Time::from_ticks(7), 0, 1_000_000 + event);
    }
    for event in 1_000_000..2_000_000 {
        assert_eq!(ladder.pop(), Some((Time::from_ticks(7), event)));
    }
    assert!(ladder.is_empty());
}

#[test]
fn a_million_descending_pushes() {
    let n = 1_000_000u64;
    assert_sorted(&mut ladder_of((0..n).rev()));
    assert_sorted(&mut ladder_of((0..n).rev().map(|i| i << 40)));
    // Each one late: earlier than the one just popped.
    let mut ladder = ladder_of((0..n / 2).map(|i| (1 << 62) + (i << 20)));
    for time in (n / 2..n).rev() {
        ladder.pop();
        ladder.push(Time::from_ticks(time << 30), 0, 0);
        ladder.push(Time::from_ticks((time << 30) - 9), 0, 0);
    }
    assert_sorted(&mut ladder);
}

#[test]
fn a_cluster_below_far_outliers() {
    let mut ladder = ladder_of((0..64).map(|power| u64::MAX >> power));
    let mut rng = Rng::named(3, "cluster");
    for _ in 0..300_000 {
        ladder.push(Time::from_ticks(TWO_YEARS + rng.below(1000)), 0, 0);
    }
    for _ in 0..300_000 {
        let (time, _) = ladder.pop().unwrap();
        ladder.push(Time::from_ticks(time.ticks().saturating_add(rng.below(1000))), 0, 0);
    }
    assert_sorted(&mut ladder);
}

#[test]
fn memory_does_not_grow_past_the_peak() {
    let mut ladder = ladder_of((0..10_000).map(|i| i * 1_000_003));
    let mut rng = Rng::named(5, "memory");
    for _ in 0..2_000_000 {
        let (time, event) = ladder.pop().unwrap();
        let power = rng.below(40);
        ladder.push(time + Span::from_ticks(rng.below(1 << power)), 0, event);
    }
    assert!(ladder.memory() < 10_000 * 24 * 3, "{}", ladder.memory());
}
