//! The hold model: take the first event and give its component the next time, an exponential
//! increment later, with a fixed number of components.
//!
//! `cargo bench --bench hold [-- [--json] [PENDING…]]` compares the fast event queue with the
//! standard library's binary heap (popped and pushed as usual, entries of a time and a component),
//! interleaved in one process. `-- count QUEUE PENDING OPERATIONS` runs one of them under an
//! instruction counter; `none` as QUEUE is the loop alone. Subtract two runs of different length to
//! take out the set-up.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::{Calendar, EventQueue};

/// A stand-in that keeps one event: the cost of the loop.
struct Alone((Time, u32));

impl EventQueue for Alone {
    fn new(_: u32) -> Self {
        Alone((Time::NEVER, 0))
    }
    #[inline]
    fn set(&mut self, component: u32, at: Time) {
        self.0 = (at, component);
    }
    #[inline]
    fn first(&mut self) -> (Time, u32) {
        self.0
    }
}

/// The usual way: an event that comes out is popped, and pushed again.
struct Heap(BinaryHeap<Reverse<(Time, u32)>>);

impl EventQueue for Heap {
    fn new(components: u32) -> Self {
        Heap(BinaryHeap::with_capacity(components as usize))
    }
    #[inline]
    fn set(&mut self, component: u32, at: Time) {
        self.0.push(Reverse((at, component)));
    }
    #[inline]
    fn first(&mut self) -> (Time, u32) {
        self.0.pop().map_or((Time::NEVER, 0), |Reverse(first)| first)
    }
}

/// Increments drawn beforehand, so that the loop measures the queue.
const INCREMENTS: usize = 1 << 12;

fn increments() -> Vec<Span> {
    let mut rng = Rng::named(1, "increments");
    (0..INCREMENTS).map(|_| rng.exponential(Span::from_micros(100))).collect()
}

fn filled<Q: EventQueue>(pending: usize) -> Q {
    let mut queue = Q::new(pending as u32);
    let mut rng = Rng::named(2, "start");
    for component in 0..pending as u32 {
        queue.set(component, Time::ORIGIN + rng.exponential(Span::from_micros(100)));
    }
    queue
}

#[inline(never)]
fn hold<Q: EventQueue>(queue: &mut Q, increments: &[Span], operations: usize) -> u64 {
    let mut sum = 0u64;
    for operation in 0..operations {
        let (at, component) = queue.first();
        sum = sum.wrapping_add(at.ticks());
        queue.set(component, at + increments[operation % INCREMENTS]);
    }
    sum
}

/// Returns nanoseconds per event.
fn time<Q: EventQueue>(queue: &mut Q, increments: &[Span], operations: usize) -> f64 {
    let start = Instant::now();
    black_box(hold(queue, increments, operations));
    start.elapsed().as_nanos() as f64 / operations as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(json: bool, sizes: &[usize]) {
    const PAIRS: usize = 9;
    let increments = increments();
    if !json {
        println!("hold model, ns per event, median of {PAIRS} interleaved pairs");
        println!("{:>9}  {:>10}  {:>10}  {:>6}", "pending", "BinaryHeap", "Calendar", "ratio");
    }
    for &pending in sizes {
        let operations = (2 * pending).max(400_000);
        let mut heap: Heap = filled(pending);
        let mut calendar: Calendar = filled(pending);
        // Run into the steady state.
        hold(&mut heap, &increments, 3 * pending);
        hold(&mut calendar, &increments, 3 * pending);
        let pairs: Vec<(f64, f64)> = (0..PAIRS)
            .map(|_| (time(&mut heap, &increments, operations), time(&mut calendar, &increments, operations)))
            .collect();
        let heap = median(pairs.iter().map(|pair| pair.0).collect());
        let calendar = median(pairs.iter().map(|pair| pair.1).collect());
        let ratio = median(pairs.iter().map(|pair| pair.0 / pair.1).collect());
        if json {
            println!(
                r#"{{"bench":"hold","pending":{pending},"binary_heap_ns":{heap:.2},"calendar_ns":{calendar:.2},"ratio":{ratio:.3}}}"#
            );
        } else {
            println!("{pending:>9}  {heap:>10.1}  {calendar:>10.1}  {ratio:>6.2}");
        }
    }
}

fn count<Q: EventQueue>(pending: usize, operations: usize) {
    let mut queue: Q = filled(pending);
    black_box(hold(&mut queue, &increments(), operations));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |word: &str| {
        word.replace('_', "").parse().unwrap_or_else(|_| {
            eprintln!("usage: hold [--json] [PENDING…] | hold count none|heap|calendar PENDING OPERATIONS");
            std::process::exit(2)
        })
    };
    match words[..] {
        ["count", "none", pending, operations] => count::<Alone>(number(pending), number(operations)),
        ["count", "heap", pending, operations] => count::<Heap>(number(pending), number(operations)),
        ["count", "calendar", pending, operations] => count::<Calendar>(number(pending), number(operations)),
        _ => {
            let json = words.first() == Some(&"--json");
            let sizes: Vec<usize> = words[usize::from(json)..].iter().map(|word| number(word)).collect();
            match sizes[..] {
                [] => compare(json, &[16, 64, 100, 1_000, 10_000, 100_000, 1_000_000]),
                _ => compare(json, &sizes),
            }
        }
    }
}
