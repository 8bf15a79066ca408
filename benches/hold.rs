//! The hold model: pop the first event and push it again at its time plus an
//! exponential increment, with a fixed number of events pending.
//!
//! `cargo bench --bench hold [-- [--json] [PENDING…]]` compares the two event queues,
//! interleaved in one process. `-- count QUEUE PENDING OPERATIONS` runs one of them
//! under an instruction counter; `none` as QUEUE is the loop alone. Subtract two runs
//! of different length to take out the set-up.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::{BinaryHeapQueue, EventQueue, Ladder};

/// An event as the simulator has it: a kind, a component and an argument.
#[derive(Clone, Copy)]
struct Event {
    component: u32,
    argument: u64,
}

/// A stand-in that keeps one event: the cost of the loop.
struct Alone(Option<(Time, Event)>);

impl EventQueue<Event> for Alone {
    fn new() -> Self {
        Alone(None)
    }
    fn with_capacity(_: usize) -> Self {
        Alone(None)
    }
    #[inline]
    fn push(&mut self, time: Time, _: u32, event: Event) {
        self.0 = Some((time, event));
    }
    #[inline]
    fn pop(&mut self) -> Option<(Time, Event)> {
        self.0
    }
    fn pop_until(&mut self, _: Time) -> Option<(Time, Event)> {
        self.0
    }
    fn next_time(&mut self) -> Option<Time> {
        None
    }
    fn len(&self) -> usize {
        1
    }
}

/// Increments drawn beforehand, so that the loop measures the queue.
const INCREMENTS: usize = 1 << 12;

fn increments() -> Vec<Span> {
    let mut rng = Rng::named(1, "increments");
    (0..INCREMENTS).map(|_| rng.exponential(Span::from_micros(100))).collect()
}

fn filled<Q: EventQueue<Event>>(pending: usize) -> Q {
    let mut queue = Q::new();
    let mut rng = Rng::named(2, "start");
    for component in 0..pending as u32 {
        let time = Time::ORIGIN + rng.exponential(Span::from_micros(100));
        queue.push(time, component % 64, Event { component, argument: 0 });
    }
    queue
}

#[inline(never)]
fn hold<Q: EventQueue<Event>>(queue: &mut Q, increments: &[Span], operations: usize) -> u64 {
    let mut sum = 0u64;
    for operation in 0..operations {
        let Some((time, event)) = queue.pop() else { break };
        sum = sum.wrapping_add(event.argument);
        let event = Event { argument: operation as u64, ..event };
        queue.push(time + increments[operation % INCREMENTS], event.component % 64, event);
    }
    sum
}

/// Nanoseconds per pop and push.
fn time<Q: EventQueue<Event>>(queue: &mut Q, increments: &[Span], operations: usize) -> f64 {
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
        println!("hold model, ns per pop and push, median of {PAIRS} interleaved pairs");
        println!("{:>9}  {:>10}  {:>8}  {:>6}", "pending", "BinaryHeap", "Ladder", "ratio");
    }
    for &pending in sizes {
        let operations = (2 * pending).max(400_000);
        let mut heap: BinaryHeapQueue<Event> = filled(pending);
        let mut ladder: Ladder<Event> = filled(pending);
        // Into the steady state.
        hold(&mut heap, &increments, 3 * pending);
        hold(&mut ladder, &increments, 3 * pending);
        let pairs: Vec<(f64, f64)> = (0..PAIRS)
            .map(|_| (time(&mut heap, &increments, operations), time(&mut ladder, &increments, operations)))
            .collect();
        let heap = median(pairs.iter().map(|pair| pair.0).collect());
        let ladder = median(pairs.iter().map(|pair| pair.1).collect());
        let ratio = median(pairs.iter().map(|pair| pair.0 / pair.1).collect());
        if json {
            println!(
                r#"{{"bench":"hold","pending":{pending},"binary_heap_ns":{heap:.2},"ladder_ns":{ladder:.2},"ratio":{ratio:.3}}}"#
            );
        } else {
            println!("{pending:>9}  {heap:>10.1}  {ladder:>8.1}  {ratio:>6.2}");
        }
    }
}

fn count<Q: EventQueue<Event>>(pending: usize, operations: usize) {
    let mut queue: Q = filled(pending);
    black_box(hold(&mut queue, &increments(), operations));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |word: &str| {
        word.replace('_', "").parse().unwrap_or_else(|_| {
            eprintln!("usage: hold [--json] [PENDING…] | hold count none|heap|ladder PENDING OPERATIONS");
            std::process::exit(2)
        })
    };
    match words[..] {
        ["count", "none", pending, operations] => count::<Alone>(number(pending), number(operations)),
        ["count", "heap", pending, operations] => {
            count::<BinaryHeapQueue<Event>>(number(pending), number(operations))
        }
        ["count", "ladder", pending, operations] => {
            count::<Ladder<Event>>(number(pending), number(operations))
        }
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
