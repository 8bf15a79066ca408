//! Cost of one decision of a dropper or a meter, with one state that stays in the nearest cache and
//! with a million.
//!
//! `cargo bench --bench decisions [-- --json]` prints nanoseconds; `-- names` lists the policies;
//! `-- count NAME STATES DECISIONS` runs one of them under an instruction counter. Subtract two
//! runs of different length to take out the set-up.
//!
//! The packets are of 64, 576 and 1500 bytes and of all colours. Every meter's profile is sent 1.5
//! times its rate. The queue in front of a dropper is a random walk of up to 60 packets, and a
//! decision is all work of the dropper for one packet, which leaves when some more have come.
//! `nothing` takes every packet: its cost is that of the benchmark.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tidegate_core::context::{Ctx, Effect, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::dropper::{AnyDropper, BuiltInDropper, Dropper, DropperKind, Left, Occupancy};
use tidegate_core::meter::{BuiltInMeter, Meter, MeterKind, ProfileIx};
use tidegate_core::packet::{BodyId, Colour, Packet};
use tidegate_core::params::NamedPolicy;
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Rate, Span, Time};

const SIZES: [u32; 3] = [64, 576, 1500];
/// Rate of each profile, in bit/s.
const TARGET: u64 = 1_000_000;
/// Packets drawn beforehand, so that the loop measures the policy.
const DRAWN: usize = 1 << 16;
const MILLION: u32 = 1_000_000;
const NOTHING: &str = "nothing";

/// One packet, and the queue that it finds.
struct Drawn {
    packet: Packet,
    at: Occupancy,
}

/// Packets drawn at random, and the time between two of them.
fn draw(states: u32) -> (Vec<Drawn>, Span) {
    let mut rng = Rng::named(1, "decisions");
    let mut waiting = 20u64;
    let drawn = (0..DRAWN).map(|_| {
        let mut packet = Packet::new(BodyId(0), SIZES[rng.below(3) as usize]);
        packet.mark =
            packet.mark.coloured([Colour::Green, Colour::Yellow, Colour::Red][rng.below(3) as usize]);
        waiting = (waiting + rng.below(3)).saturating_sub(1).min(60);
        let queue = Count { packets: waiting, bytes: 700 * waiting };
        let at = Occupancy { queue, flow: queue, port: queue, pool: queue, limit: None };
        Drawn { packet, at }
    });
    let bits = 8 * u64::from(SIZES.iter().sum::<u32>()) / SIZES.len() as u64;
    // In ticks of 10 ps, at 1.5 times the target of every state.
    let ticks = bits * 100_000_000_000 * 2 / (3 * TARGET * u64::from(states));
    (drawn.collect(), Span::from_ticks(ticks.max(1)))
}

/// Returns the state that the `nth` packet belongs to: all of them in turn, in an order that no
/// cache foresees.
fn state_of(nth: usize, states: u32) -> u32 {
    let mixed = (nth as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((mixed * u64::from(states)) >> 32) as u32
}

/// A policy with its states.
trait Decide {
    fn decide(&mut self, cx: &mut Ctx<'_>, state: u32, drawn: &Drawn) -> Verdict;
}

struct Metering(Box<dyn Meter + Send>);

impl Decide for Metering {
    fn decide(&mut self, cx: &mut Ctx<'_>, state: u32, drawn: &Drawn) -> Verdict {
        let mut packet = drawn.packet;
        self.0.see(cx, ProfileIx(state), &mut packet).verdict
    }
}

struct Dropping {
    droppers: Vec<AnyDropper>,
    /// Accepted packets with their states: a queue of some packets for each.
    queued: VecDeque<(u32, Packet)>,
    longest: usize,
}

impl Decide for Dropping {
    fn decide(&mut self, cx: &mut Ctx<'_>, state: u32, drawn: &Drawn) -> Verdict {
        let dropper = &mut self.droppers[state as usize];
        let verdict = dropper.arrive(cx, &drawn.packet, &drawn.at);
        if verdict == Verdict::Accept {
            self.queued.push_back((state, drawn.packet));
        }
        if self.queued.len() > self.longest
            && let Some((state, packet)) = self.queued.pop_front()
        {
            let dropper = &mut self.droppers[state as usize];
            if dropper.looks_at_head() {
                black_box(dropper.head(cx, &packet, &drawn.at));
            }
            dropper.left(cx, &packet, &drawn.at, Left::Sent);
        }
        verdict
    }
}

struct Nothing;

impl Decide for Nothing {
    fn decide(&mut self, _: &mut Ctx<'_>, _: u32, drawn: &Drawn) -> Verdict {
        let mut packet = drawn.packet;
        black_box(&mut packet);
        Verdict::Accept
    }
}

fn names() -> Vec<&'static str> {
    let droppers = BuiltInDropper::examples().into_iter().map(|one| one.record().name);
    let meters = BuiltInMeter::examples().into_iter().map(|one| one.record().name);
    [NOTHING].into_iter().chain(droppers).chain(meters).collect()
}

/// Creates the policy of this name with `states` states.
fn make(name: &str, states: u32) -> Result<Box<dyn Decide>, String> {
    if name == NOTHING {
        return Ok(Box::new(Nothing));
    }
    let refused = |refused: Refused| refused.to_string();
    let target = Rate::from_bits_per_second(TARGET);
    if let Some(meter) = BuiltInMeter::examples().into_iter().find(|one| one.record().name == name) {
        let mut meter = MeterKind::BuiltIn(meter).build().map_err(refused)?;
        let terms = Contract {
            reserve: target,
            peak: Rate::from_bits_per_second(2 * TARGET),
            workahead: Some(10_000),
            peak_burst: Some(10_000),
            interval: Some(Span::from_millis(80)),
            ..Contract::default()
        };
        (0..states).for_each(|state| meter.set_profile(ProfileIx(state), &terms));
        return Ok(Box::new(Metering(meter)));
    }
    let dropper = BuiltInDropper::examples().into_iter().find(|one| one.record().name == name);
    let kind = DropperKind::BuiltIn(dropper.ok_or_else(|| format!("no dropper or meter `{name}`"))?);
    let made = (0..states).map(|_| {
        let mut dropper = kind.build()?;
        dropper.set_rate(Time::ORIGIN, target);
        Ok(dropper)
    });
    let droppers = made.collect::<Result<_, _>>().map_err(refused)?;
    Ok(Box::new(Dropping { droppers, queued: VecDeque::new(), longest: 20.max(2 * states as usize) }))
}

/// Makes `decisions` decisions from `now` on; returns the time at their end.
fn run(
    policy: &mut dyn Decide,
    states: u32,
    (drawn, gap): (&[Drawn], Span),
    decisions: usize,
    mut now: Time,
) -> Time {
    let (mut rng, mut out) = (Rng::named(2, "decisions"), Vec::<Effect>::new());
    for nth in 0..decisions {
        let mut cx = Ctx { now, rng: &mut rng, out: &mut out };
        black_box(policy.decide(&mut cx, state_of(nth, states), &drawn[nth % DRAWN]));
        out.clear();
        now += gap;
    }
    now
}

/// Returns the number of decisions after which all states are in use and queues have their length.
fn settled(states: u32) -> usize {
    DRAWN.max(4 * states as usize)
}

/// Returns nanoseconds per decision: the median of some rounds.
fn time(name: &str, states: u32) -> Result<f64, String> {
    const ROUNDS: usize = 9;
    const DECISIONS: usize = 16 * DRAWN;
    let (drawn, gap) = draw(states);
    let mut policy = make(name, states)?;
    let mut now = run(&mut *policy, states, (&drawn, gap), settled(states), Time::ORIGIN);
    let mut taken = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        now = run(&mut *policy, states, (&drawn, gap), DECISIONS, now);
        taken.push(start.elapsed().as_nanos() as f64 / DECISIONS as f64);
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken[ROUNDS / 2])
}

fn show(json: bool) -> Result<(), String> {
    for name in names() {
        for states in [1, MILLION] {
            let ns = time(name, states)?;
            if json {
                println!(r#"{{"bench":"decisions","name":"{name}","states":{states},"ns":{ns:.1}}}"#);
            } else {
                println!("{name:>16}  {states:>9} states  {ns:>8.1} ns");
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["names"] => {
            names().iter().for_each(|name| println!("{name}"));
            Ok(())
        }
        ["count", name, states, more] => match (states.parse(), more.parse::<usize>()) {
            (Ok(states), Ok(more)) => make(name, states).map(|mut policy| {
                let (drawn, gap) = draw(states);
                run(&mut *policy, states, (&drawn, gap), settled(states) + more, Time::ORIGIN);
            }),
            _ => Err("count NAME STATES DECISIONS".to_owned()),
        },
        _ => show(words.contains(&"--json")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("decisions: {wrong}");
            ExitCode::FAILURE
        }
    }
}
