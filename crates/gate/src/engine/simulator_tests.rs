//! The gate's engine and the simulator run the same file on the same frames, and send the same
//! frames at the same times. Only tests know of both: they hand the frames over as a capture.

use super::tests::{Bench, cases, file};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::watch::Watch;
use tidegate_sim::world::World;

/// A flow of frames, as both identify it: direction, host, port, DSCP.
pub(super) type Whose = (bool, u8, u16, u8);
/// The time at which each frame's first bit leaves or, on an emulated link, its last bit comes out.
type Left = BTreeMap<(Whose, u64), Time>;

/// One frame: its time in ns from the first, its flow, and its payload's length.
type Arrival = (u64, Whose, usize);

/// A UDP packet between a host inside and one outside, with its number in its flow.
pub(super) fn frame((up, host, port, dscp): Whose, payload: usize, number: u64) -> Vec<u8> {
    let (inside, outside) = ([10, 0, 0, host], [192, 0, 2, 1]);
    let (from, to) = if up { (inside, outside) } else { (outside, inside) };
    let (from_port, to_port) = if up { (port, 80) } else { (80, port) };
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, dscp << 2]);
    frame.extend(((28 + payload) as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([from, to].concat());
    frame.extend([from_port, to_port].map(u16::to_be_bytes).concat());
    frame.extend([0; 4]);
    frame.extend(number.to_be_bytes());
    frame.resize(42 + payload, 0);
    frame
}

fn whose(frame: &[u8]) -> (Whose, u64) {
    let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let up = frame[26] == 10;
    let (host, port) = if up { (frame[29], port(34)) } else { (frame[33], port(36)) };
    ((up, host, port, frame[15] >> 2), u64::from_be_bytes(frame[42..50].try_into().unwrap()))
}

/// The frames with their numbers.
fn numbered(arrivals: &[Arrival]) -> Vec<(u64, bool, Vec<u8>)> {
    let mut next = BTreeMap::<Whose, u64>::new();
    let frame = |(at, whose, payload): &Arrival| {
        let number = next.entry(*whose).or_default();
        *number += 1;
        (*at, whose.0, frame(*whose, *payload, *number - 1))
    };
    arrivals.iter().map(frame).collect()
}

/// A classic capture in nanoseconds.
fn capture(frames: &[(u64, bool, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (at, _, frame) in frames {
        for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([(frame.len() as u32).to_le_bytes(); 2].concat());
        bytes.extend(frame);
    }
    bytes
}

fn by_the_engine(text: &str, frames: &[(u64, bool, Vec<u8>)], folder: &Path) -> Left {
    let name = folder.join("gate.toml").display().to_string();
    let file = tidegate_formats::GateFile::parse(text, &name, &[]).unwrap();
    let engine = Engine::new(Time::ORIGIN, &Plan::of(&file), 1536).unwrap();
    let mut bench = Bench { engine, now: Time::ORIGIN };
    let mut left = Left::new();
    let mut serve = |bench: &mut Bench, until: Time| {
        // A process that is never late.
        loop {
            let at = bench.engine.next_due().min(until);
            bench.now = at;
            bench.engine.advance(at, usize::MAX);
            for direction in Direction::BOTH {
                let leaving = bench.engine.departures(direction).to_vec();
                left.extend(leaving.iter().map(|one| (whose(bench.engine.frame(direction, *one)), one.due)));
                bench.engine.complete(direction, leaving.len(), 0);
            }
            if at == until {
                break;
            }
        }
    };
    let first = frames[0].0;
    for (at, up, frame) in frames {
        serve(&mut bench, Time::ORIGIN + Span::from_ticks((at - first) * 100));
        bench.receive(if *up { Direction::Up } else { Direction::Down }, frame);
    }
    serve(&mut bench, Time::ORIGIN + Span::from_secs(600));
    bench.check_identity();
    left
}

fn by_the_simulator(text: &str, frames: &[(u64, bool, Vec<u8>)], folder: &Path) -> Left {
    std::fs::write(folder.join("gate.toml"), text).unwrap();
    std::fs::write(folder.join("frames.pcap"), capture(frames)).unwrap();
    let flow = |(name, from, to): (&str, &str, &str)| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             source = {{ kind = \"capture\", file = \"frames.pcap\", inside = \"10.0.0.0/8\" }}\n"
        )
    };
    let ways = [("up", "inside", "outside"), ("down", "outside", "inside")];
    let flows =
        ways.into_iter().enumerate().filter(|(way, _)| frames.iter().any(|(_, up, _)| *up == (*way == 0)));
    let scenario = format!(
        "version = 1\nduration = \"600s\"\ntopology = {{ kind = \"gate\", file = \"gate.toml\" }}\n{}",
        flows.map(|(_, way)| flow(way)).collect::<String>()
    );
    let scenario = tidegate_formats::Scenario::parse(&scenario, "same.toml", folder, &[]).unwrap();
    let network = tidegate_sim::assemble::assemble(&scenario).unwrap();
    let mut left = Left::new();
    for (ix, flow) in network.flows.iter().enumerate() {
        let headers = flow.headers.as_ref().unwrap().ip.unwrap();
        let up = network.groups[flow.group] == "up";
        let ports = headers.ports.unwrap();
        let (inside, port) = if up { (headers.source, ports.0) } else { (headers.destination, ports.1) };
        let std::net::IpAddr::V4(inside) = inside else { panic!("{inside}") };
        let whose = (up, inside.octets()[3], port, headers.dscp);
        let watch = Some(Watch::new(ix as u32, usize::MAX));
        let mut world: World<Calendar> =
            World::new(&network, 1, &Probes { watch, ..Probes::default() }).unwrap();
        while !world.advance(1_000_000) {}
        let record = &world.records()[ix];
        let journeys = world.watch().unwrap().slowest();
        assert_eq!(record.sent.0, record.dropped + journeys.len() as u64);
        let emulated = scenario.gate.as_ref().unwrap().emulated[usize::from(!up)].is_some();
        left.extend(journeys.iter().map(|one| {
            let at = if emulated { one.arrived } else { one.hops[0].started.unwrap() };
            ((whose, one.sequence), at)
        }));
    }
    left
}

const FILES: &[&str] = &[
    "",
    "switch = { buffer = \"6p\" }",
    "switch = { buffer = \"5kB\" }\nport = { scheduler = \"virtual-clock\" }\n\
     [[flow]]\nname = \"voice\"\nmatch = { dscp = 46 }\nreserve = \"100kbit\"\n\
     [[flow]]\nname = \"hosts\"\neach = \"host\"\nidle = \"20ms\"\nreserve = \"1mbit\"\n",
    "switch = { buffer = \"12p\" }\nport = { scheduler = \"virtual-clock\", dropper = { kind = \"drop-tail\", limit = \"8p\" } }\n\
     class = [{ name = \"calls\", scheduler = \"fifo\", reserve = \"500kbit\" }, { name = \"rest\", scheduler = \"virtual-clock\", reserve = \"5mbit\", ceiling = \"6mbit\" }]\n\
     [[flow]]\nname = \"voice\"\nclass = \"calls\"\nmatch = { dscp = 46 }\n\
     [[flow]]\nname = \"one\"\nclass = \"rest\"\nmatch = { inside = \"10.0.0.0/31\", port = 1 }\nreserve = \"1mbit\"\nceiling = \"2mbit\"\n\
     [[flow]]\nname = \"all\"\nclass = \"rest\"\nmatch = { direction = \"up\" }\neach = \"5-tuple\"\nidle = \"3ms\"\nreserve = \"200kbit\"\ninterval = \"1s\"\n\
     [[flow]]\nname = \"others\"\nclass = \"rest\"\neach = \"subscriber\"\nreserve = \"50kbit\"\nceiling = \"70kbit\"\n",
    "switch = { buffer = \"25p\" }\nclass = [{ name = \"c\", ceiling = \"3mbit\" }]\n\
     [[flow]]\nname = \"voice\"\nmatch = { dscp = 46 }\nreserve = \"100kbit\"\n\
     [[flow]]\nname = \"one\"\nclass = \"c\"\nmatch = { inside = \"10.0.0.0/31\", port = 1 }\n\
     [[flow]]\nname = \"hosts\"\neach = \"host\"\nidle = \"20ms\"\nreserve = \"1mbit\"\n",
    "switch = { buffer = \"25p\" }\n[[flow]]\nname = \"voice\"\nmatch = { dscp = 46 }\nreserve = \"100kbit\"\n\
     [[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"5-tuple\"\nidle = \"20ms\"\nreserve = \"1mbit\"\n",
    "port = { scheduler = \"virtual-clock\" }\nswitch = { buffer = \"15p\" }\n\
     class = [{ name = \"c\", ceiling = \"3mbit\" }, { name = \"d\", scheduler = \"fifo\" }]\n\
     [[flow]]\nname = \"one\"\nclass = \"d\"\nmatch = { inside = \"10.0.0.0/31\", port = 1 }\n\
     [[flow]]\nname = \"hosts\"\nclass = \"c\"\neach = \"subscriber\"\nwithin = \"5-tuple\"\nidle = \"3ms\"\nreserve = \"1mbit\"\nceiling = \"2mbit\"\n",
    "port = { scheduler = \"strict-priority\" }\nswitch = { buffer = \"20p\" }\n\
     [[flow]]\nname = \"voice\"\nmatch = { dscp = 46 }\npriority = 0\n\
     [[flow]]\nname = \"bulk\"\nmatch = { outside_port = 80 }\neach = \"5-tuple\"\npriority = 3\n",
];

/// Replacements for the 24 bytes of overhead in the tests' files.
const FRAMINGS: &[&str] =
    &["overhead = 24", "overhead = -14", "overhead = 26, atm = true", "overhead = 24, mpu = 400"];

/// Loss and jitter are left out: the two draw from different random streams.
const EMULATED: &[&str] = &[
    "",
    "emulate = { up = { delay = \"7ms\" }, down = { delay = \"1ms\" } }\n",
    "emulate = { up = { trace = \"moody.trace\", delay = \"5ms\" } }\n",
    "emulate = { up = { delay = \"9ms\", repeat = \"40ms\", change = [{ at = \"7ms\", rate = \"1mbit\" }, \
     { at = \"15ms\", state = \"down\" }, { at = \"22ms\", state = \"up\", delay = \"1ms\" }] } }\n",
];

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let whose = (any::<bool>(), 0u8..4, 1u16..3, prop_oneof![Just(0u8), Just(46)]);
    // Dense bursts and pauses; never two at the same time.
    let gap = prop_oneof![1u64..200_000, 1u64..200_000, 1u64..20_000_000];
    prop::collection::vec((gap, whose, 8usize..1400), 1..150).prop_map(|all| {
        let mut at = 1_000_000_000;
        all.into_iter()
            .map(|(gap, whose, payload)| {
                at += gap;
                (at, whose, payload)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn the_simulator_sends_what_the_gate_sends(
        rest in prop::sample::select(FILES),
        framing in prop::sample::select(FRAMINGS),
        emulate in prop::sample::select(EMULATED),
        among in prop::sample::select(vec!["", "host, 5-tuple", "triple-isolate"]),
        arrivals in arrivals(),
    ) {
        let folder = std::env::temp_dir().join(format!("tidegate-same-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let frames = numbered(&arrivals);
        std::fs::write(folder.join("moody.trace"), "0\n1\n1\n1\n4\n17\n17\n18\n").unwrap();
        let mut text = file(rest).to_toml().replace("overhead = 24", framing);
        if emulate.contains("trace") {
            text = text.replace("up = \"8mbit\", ", "");
        }
        if !among.is_empty() && text.contains("within = ") {
            // Circuits of two hosts and of one, and a host that no circuit has.
            std::fs::write(folder.join("circuits.csv"), "name,addresses\na,10.0.0.0/31\nb,10.0.0.2\n").unwrap();
            text = text.replace("each = \"host\"", "circuits = \"circuits.csv\"");
            text = text.replace("each = \"subscriber\"", "circuits = \"circuits.csv\"");
            text = text.replace("\"5-tuple\"", &format!("\"{among}\""));
        }
        text = text.replacen("gate = ", &format!("{emulate}gate = "), 1);
        let simulated = by_the_simulator(&text, &frames, &folder);
        let forwarded = by_the_engine(&text, &frames, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        prop_assert_eq!(simulated, forwarded);
    }
}
