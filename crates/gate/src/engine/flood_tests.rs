//! A reserved flow beside floods from 1 to 100,000 addresses, in patterns drawn at random: it loses
//! nothing, and keeps the bound that `check` prints for its file.

use super::reserved::{LONGEST, Reserved, SHORTEST, frame_from, promised};
use super::tests::{cases, file_with_circuits};
use super::*;
use tidegate_core::context::Reason;
use tidegate_core::rng::Rng;
use tidegate_formats::GateFile;

const OVERHEAD: u32 = 24;
/// Greatest number of addresses, and of frames from them in one pattern.
const MOST_ADDRESSES: f64 = 100_000.0;
const MOST_FRAMES: u64 = 150_000;
/// Least number of packets of the reserved flow in a pattern.
const CALLS: f64 = 30.0;
const MOST_CIRCUITS: u64 = 200;

fn one_of<T: Clone>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize].clone()
}

/// A number between two, on a logarithmic scale.
fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// Lengths of frames.
#[derive(Clone, Debug)]
enum Lengths {
    Constant(u32),
    /// Shortest and longest frames, with this probability of a longest one.
    Mixed(f64),
    Between(u32, u32),
}

impl Lengths {
    fn draw(rng: &mut Rng) -> Lengths {
        let any = SHORTEST + rng.below(u64::from(LONGEST - SHORTEST + 1)) as u32;
        match rng.below(6) {
            0 => Lengths::Constant(SHORTEST),
            1 => Lengths::Constant(LONGEST),
            2 => Lengths::Constant(any),
            3 => Lengths::Mixed(rng.unit()),
            4 => Lengths::Between(SHORTEST, any),
            _ => Lengths::Between(SHORTEST, LONGEST),
        }
    }

    fn next(&self, rng: &mut Rng) -> u32 {
        match *self {
            Lengths::Constant(length) => length,
            Lengths::Mixed(longest) => {
                if rng.chance(longest) {
                    LONGEST
                } else {
                    SHORTEST
                }
            }
            Lengths::Between(least, most) => least + rng.below(u64::from(most - least + 1)) as u32,
        }
    }

    fn least(&self) -> u32 {
        match *self {
            Lengths::Constant(length) => length,
            Lengths::Mixed(_) => SHORTEST,
            Lengths::Between(least, _) => least,
        }
    }

    fn mean(&self) -> f64 {
        match *self {
            Lengths::Constant(length) => length.into(),
            Lengths::Mixed(longest) => f64::from(SHORTEST) + longest * f64::from(LONGEST - SHORTEST),
            Lengths::Between(least, most) => f64::from(least + most) / 2.0,
        }
    }
}

/// A gate at random, and traffic for it.
struct Pattern {
    text: String,
    list: String,
    rate: f64,
    reserve: f64,
    addresses: u64,
    /// Frames that come at once, from one address or from one each.
    burst: u64,
    of_one: bool,
    /// Addresses come one after the other, rather than at random.
    in_turn: bool,
    /// Times the rate of the link, while frames come.
    load: f64,
    /// Seconds in which frames come, and in which none do; without a pause, 0.
    on: f64,
    off: f64,
    lengths: Lengths,
    ports: u64,
    of_call: Lengths,
    /// The reserved flow pauses until its bucket is full again, with this probability.
    pauses: f64,
    /// It sends a packet when its own line is free, and so uses none of its workahead.
    steady: bool,
    frames: u64,
}

const UNITS: [&str; 7] = [
    "each = \"host\"\n",
    "each = \"host\"\nwithin = \"5-tuple\"\n",
    "each = \"subscriber\"\nwithin = \"host, 5-tuple\"\n",
    "each = \"subscriber\"\nwithin = \"triple-isolate\"\n",
    "circuits = \"circuits.csv\"\n",
    "circuits = \"circuits.csv\"\nwithin = \"host, 5-tuple\"\n",
    "circuits = \"circuits.csv\"\nwithin = \"triple-isolate\"\n",
];

impl Pattern {
    fn draw(seed: u64) -> Pattern {
        let rng = &mut Rng::named(seed, "flood");
        let rate = between(rng, 2e6, 100e6).round();
        let scheduler = one_of(rng, &["", "", "wf2q-plus", "wfq", "virtual-clock"]);
        let unit = match scheduler {
            // Neither promises a bound beside a list.
            "wfq" | "virtual-clock" => one_of(rng, &UNITS[..4]),
            _ => one_of(rng, &UNITS),
        };
        let reserve = (rate * between(rng, 0.02, 0.6)).round();
        let is_list = unit.contains("circuits");
        let in_list = 1 + rng.below(MOST_CIRCUITS);
        let each = match is_list {
            true => ((0.95 * rate - reserve) / in_list as f64 * between(rng, 0.1, 1.0)).round(),
            false => (rate * between(rng, 0.001, 0.3)).round(),
        };
        // The room that a burst leaves in the half of the buffer that belongs to the flow.
        let of_call = Lengths::draw(rng);
        let (of_shortest, of_longest) = (of_call.least() + OVERHEAD, LONGEST + OVERHEAD);
        let spared = 0.5 * reserve / rate;
        let buffer = one_of(rng, &[60.0, 200.0, 1000.0, 20_000.0]);
        let in_bytes = rng.chance(0.3);
        let unit_of_buffer = if in_bytes { f64::from(of_longest) } else { f64::from(of_shortest) };
        let room = (buffer * spared).floor() * unit_of_buffer;
        // It may have its burst queued, and what came while the link was behind.
        let burst = room - 3.0 * f64::from(of_longest);
        // Two packets of each circuit fit into the other half.
        let fits = burst > f64::from(of_longest) && (!is_list || buffer >= 1000.0);
        let (buffer, burst) = match fits {
            true if in_bytes => (format!("{}B", (buffer * f64::from(of_longest)) as u64), burst),
            true => (format!("{buffer}p"), burst),
            false => ("20000p".to_owned(), f64::from(of_longest)),
        };
        let workahead = between(rng, f64::from(of_longest), burst.min(60_000.0)).ceil();
        let mut text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"{rate}bit\", down = \"{rate}bit\", overhead = {OVERHEAD} }}\n\
             switch = {{ buffer = \"{buffer}\" }}\n"
        );
        if !scheduler.is_empty() {
            text += &format!("port = {{ scheduler = \"{scheduler}\" }}\n");
        }
        // The reserved flow may be in a class, with the flood or beside it.
        let fair = matches!(scheduler, "" | "wf2q-plus");
        let class = fair && !is_list && rng.chance(0.3) && each + reserve < 0.98 * rate;
        let together = class && rng.chance(0.5);
        if class {
            let least = reserve + if together { each } else { 0.0 };
            let most = 0.98 * rate - if together { 0.0 } else { each };
            let of_class = least + ((most - least) * rng.unit()).max(0.0).floor();
            text += &format!("[[class]]\nname = \"site\"\nreserve = \"{of_class}bit\"\n");
        }
        text += &format!(
            "[[flow]]\nname = \"call\"\nmatch = {{ inside = \"192.168.7.7\" }}\nreserve = \"{reserve}bit\"\nworkahead = \"{workahead}B\"\n"
        );
        text += if class { "class = \"site\"\n" } else { "" };
        text += &format!("[[flow]]\nname = \"others\"\n{unit}reserve = \"{each}bit\"\n");
        text += if together { "class = \"site\"\n" } else { "" };
        let line = |circuit: u64| format!("c{circuit},10.{circuit}.0.0/16\n");
        let list = format!("name,addresses\n{}", (0..in_list).map(line).collect::<String>());

        let addresses = between(rng, 1.0, MOST_ADDRESSES + 1.0) as u64;
        let load = between(rng, 1.02, 8.0);
        let on_off = rng.chance(0.4);
        let lengths = Lengths::draw(rng);
        // Every address comes up, and the reserved flow has time for its packets.
        let calls = CALLS * (of_call.mean() + f64::from(OVERHEAD)) / reserve;
        let of_flood = load * rate / (lengths.mean() + f64::from(OVERHEAD));
        let frames = (addresses as f64 * 1.2).max(calls * of_flood).max(3_000.0) as u64;
        Pattern {
            text,
            list,
            rate,
            reserve,
            addresses,
            burst: one_of(rng, &[1, 1, 10, 300]),
            of_one: rng.chance(0.5),
            in_turn: rng.chance(0.5),
            load,
            on: if on_off { between(rng, 0.001, 0.3) } else { f64::INFINITY },
            off: if on_off { between(rng, 0.001, 0.3) } else { 0.0 },
            lengths,
            ports: one_of(rng, &[1, 3, 2000]),
            of_call,
            pauses: one_of(rng, &[0.0, 0.02, 0.3]),
            // CoDel, which the default has, takes packets from a queue that stands.
            steady: scheduler.is_empty() || rng.chance(0.2),
            frames: frames.min(MOST_FRAMES),
        }
    }

    fn file(&self) -> GateFile {
        file_with_circuits(&self.text, &self.list)
    }

    /// Runs the flood beside the reserved flow, until all has left.
    fn run(&self, file: &GateFile, seed: u64) -> Reserved {
        let mut flow = Reserved::new(file);
        let (flood, call) = (&mut Rng::named(seed, "frames"), &mut Rng::named(seed, "call"));
        let seconds = |bytes: f64, rate: f64| Span::from_secs_f64(bytes * 8.0 / rate);
        let full_again = seconds(self.bucket(file), self.reserve);
        let (mut calls_at, mut number, mut address) = (Time::ORIGIN, 0, 0);
        let (mut at, mut on_since) = (Time::ORIGIN, Time::ORIGIN);
        let mut length = self.of_call.next(call);
        while number < self.frames {
            if calls_at <= at {
                flow.wait_until(calls_at);
                if flow.call(length) {
                    length = self.of_call.next(call);
                }
                let gap = if call.chance(self.pauses) { full_again } else { Span::ZERO };
                let of_packet = f64::from(length + OVERHEAD) * call.unit() * 1.5;
                calls_at += gap + seconds(of_packet, self.reserve);
                if self.steady {
                    calls_at = calls_at.max(flow.free);
                }
                continue;
            }
            flow.wait_until(at);
            let mut bytes = 0.0;
            for nth in 0..self.burst {
                if nth == 0 || !self.of_one {
                    address = if self.in_turn { address + 1 } else { flood.below(self.addresses) };
                }
                let length = self.lengths.next(flood);
                bytes += f64::from(length + OVERHEAD);
                let port = 1000 + flood.below(self.ports) as u16;
                let frame = frame_from(scattered(address % self.addresses), port, length, number);
                flow.bench.receive(Direction::Up, &frame);
                number += 1;
            }
            at += seconds(bytes * 2.0 * flood.unit(), self.rate * self.load);
            if at.since(on_since).as_secs_f64() > self.on {
                at += Span::from_secs_f64(self.off);
                on_since = at;
            }
        }
        let end = flow.bench.now + Span::from_secs(120);
        flow.wait_until(end);
        flow.bench.check_identity();
        flow
    }

    /// Bytes that the reserved flow may send at once.
    fn bucket(&self, file: &GateFile) -> f64 {
        file.flows[0].contract.contract().workahead.unwrap().into()
    }
}

/// Address of a host by its number: somewhere in 10.0.0.0/8.
fn scattered(number: u64) -> [u8; 4] {
    let [.., b, c, d] = (number.wrapping_mul(10_368_889) as u32).to_be_bytes();
    [10, b, c, d]
}

/// Whatever the others send, and whatever serves them, a flow within its reservation and its
/// workahead loses nothing, and no packet of it leaves later than `check` says.
#[test]
fn a_reserved_flow_beside_floods_loses_nothing_and_keeps_its_bound() {
    let count = u64::from(cases(40));
    let (mut wrong, mut seen) = (Vec::new(), [0_u64; 5]);
    for seed in 0..count {
        let pattern = Pattern::draw(seed);
        let file = pattern.file();
        let flow = pattern.run(&file, seed);
        let statistics = flow.bench.engine.statistics(Direction::Up, 0);
        let lost: u64 = statistics.dropped.iter().sum();
        let behind = promised(&file);
        let delay = file.delay_bounds(Direction::Up).find(|one| one.0 == 0).map(|one| one.1);
        // A packet of the slowest flow may take longer than VirtualClock's `lead`.
        assert!(behind.is_some() || pattern.text.contains("virtual-clock"), "{}", pattern.text);
        assert_eq!(statistics.envelope.as_ref().unwrap().beyond, 0, "{seed}");
        // `Rate` rounds the time of a packet, here and in the engine.
        let kept = behind.is_none_or(|behind| flow.latest <= behind + Span::from_ticks(flow.came()))
            && delay.is_none_or(|delay| statistics.largest_delay <= delay);
        if lost > 0 || flow.sent < flow.came() || !kept {
            wrong.push(format!(
                "{seed}: {} of {} lost, {:?} late for {behind:?}, waited {:?} for {delay:?}; {} addresses\n{}",
                flow.came() - flow.sent,
                flow.came(),
                flow.latest,
                statistics.largest_delay,
                pattern.addresses,
                pattern.text
            ));
        }
        let facts = [
            behind.is_some(),
            flow.others_lost() > 0,
            pattern.addresses >= 10_000,
            pattern.text.contains("within") || pattern.text.contains("circuits"),
            behind.is_some_and(|behind| 4 * flow.latest.ticks() > behind.ticks()),
        ];
        seen.iter_mut().zip(facts).for_each(|(count, fact)| *count += u64::from(fact));
    }
    println!("{count} patterns; promised, lost by others, many addresses, within, near the bound: {seen:?}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen.iter().all(|seen| seen * 10 >= count), "{seen:?} of {count}");
    assert!(seen[0] * 4 > count * 3, "{seen:?} of {count}");
}

/// A flow that uses its workahead and goes on at its reservation has a queue that stands: CoDel, in
/// the default, drops from it, and others take nothing.
#[test]
fn codel_drops_from_a_reserved_flow_whose_queue_stands() {
    let run = |port: &str| {
        let file = file_with_circuits(
            &format!(
                "version = 1\n{port}switch = {{ buffer = \"20000p\" }}\n\
                 gate = {{ inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\", overhead = 24 }}\n\
                 [[flow]]\nname = \"call\"\nmatch = {{ inside = \"192.168.7.7\" }}\nreserve = \"1mbit\"\nworkahead = \"10000B\"\n\
                 [[flow]]\nname = \"others\"\neach = \"host\"\nreserve = \"100kbit\"\n"
            ),
            "",
        );
        let mut flow = Reserved::new(&file);
        for millisecond in 0..2000 {
            flow.wait_until(Time::ORIGIN + Span::from_millis(millisecond));
            flow.bench.receive(Direction::Up, &frame_from([10, 0, 0, 1], 1, LONGEST, 0));
            while flow.call(400) {}
        }
        let dropped = flow.bench.engine.statistics(Direction::Up, 0).dropped;
        (dropped[Reason::SojournTime as usize], dropped.iter().sum::<u64>())
    };
    let (of_codel, all) = run("");
    assert!(of_codel == all && all > 10, "{of_codel} of {all}");
    assert_eq!(run("port = { scheduler = \"wf2q-plus\" }\n"), (0, 0));
}
