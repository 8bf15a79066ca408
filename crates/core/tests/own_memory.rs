//! Promise of a memory of its own to a port: other ports make no difference.

mod common;

use common::lines::{Lines, held, measure};
use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{BodyId, Leg, Packet};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, PushOut, Sharing, SwitchPlan};
use tidegate_core::units::{Span, Time};

const SCHEDULERS: [&str; 8] =
    ["fifo", "strict-priority", "virtual-clock", "fifo-plus", "round-robin", "drr", "edf", "jitter-edd"];
const LARGEST: u32 = 1500;
const LINK: u64 = 10_000_000;

fn contract(rng: &mut Rng) -> Contract {
    let reserve = pick(rng, &[None, Some(100_000), Some(2_000_000)]);
    Contract { reserve: reserve.map(rate), priority: rng.below(3) as u8, ..Contract::default() }
}

/// Packets sent (true) and dropped (false) at each port: time, flow and body.
type Fates = Vec<Vec<(Time, u32, u32, bool)>>;

/// A port with flows of all kinds, and its arrivals: microseconds since the previous one, flow and
/// length.
#[derive(Clone, Debug)]
struct Loaded {
    port: PortPlan,
    flows: Vec<FlowPlan>,
    link: u64,
    arrivals: Vec<(u64, usize, u32)>,
}

impl Loaded {
    fn random(rng: &mut Rng) -> Loaded {
        let class = ClassPlan {
            ceiling: pick(rng, &[None, Some(rate(1_000_000))]),
            ..ClassPlan::new(kind(pick(rng, &SCHEDULERS)))
        };
        let port = PortPlan { classes: vec![class], ..PortPlan::new(kind(pick(rng, &SCHEDULERS))) };
        let shaper = ShaperPlan {
            rate: rate(200_000),
            burst: LARGEST,
            peak: None,
            queue: None,
            excess: Excess::Wait,
            calendar: None,
        };
        let flow = |rng: &mut Rng| FlowPlan {
            contract: contract(rng),
            class: pick(rng, &[None, Some(0)]),
            ceiling: pick(rng, &[None, None, Some(rate(20_000))]),
            shaper: pick(rng, &[None, None, Some(shaper)]),
            ..FlowPlan::default()
        };
        let flows: Vec<FlowPlan> = (0..1 + rng.below(4)).map(|_| flow(rng)).collect();
        let mut at = 0;
        let mut arrival = |rng: &mut Rng| {
            let longest = pick(rng, &[20, 2_000]);
            at += rng.below(longest);
            (at, rng.below(flows.len() as u64) as usize, pick(rng, &[40, 500, LARGEST]))
        };
        let arrivals = (0..100 + rng.below(300)).map(|_| arrival(rng)).collect();
        Loaded { port, link: pick(rng, &[64_000, 1_000_000, LINK]), arrivals, flows: flows.clone() }
    }
}

/// Fates of the packets of these ports of one switch.
fn fates(ports: &[Loaded], limit: Limit, push_out: PushOut, sharing: Sharing) -> Fates {
    let plan = SwitchPlan {
        ports: ports.iter().map(|one| one.port.clone()).collect(),
        buffer: Some(limit),
        sharing,
        push_out,
    };
    let rates: Vec<_> = ports.iter().map(|one| rate(one.link)).collect();
    let mut lines = Lines::new(World::new(&plan), &rates);
    let legs: Vec<Vec<Leg>> = (0..)
        .zip(ports)
        .map(|(ix, one)| one.flows.iter().map(|flow| lines.world.open(ix, flow)).collect())
        .collect();
    let mut all: Vec<_> = ports
        .iter()
        .enumerate()
        .flat_map(|(ix, one)| {
            one.arrivals.iter().zip(0..).map(move |(arrival, nth)| (arrival.0, ix, nth, *arrival))
        })
        .collect();
    all.sort_unstable_by_key(|(at, ix, nth, _)| (*at, *ix, *nth));
    let (mut fates, mut told) = (vec![Vec::new(); ports.len()], (0, 0));
    let mut note = |lines: &Lines, fates: &mut Fates| {
        for sent in &lines.sent[told.0..] {
            fates[usize::from(sent.port)].push((sent.at, sent.packet.flow.0, sent.packet.body.0, true));
        }
        for (port, packet, _) in &lines.dropped[told.1..] {
            fates[usize::from(*port)].push((lines.world.now, packet.flow.0, packet.body.0, false));
        }
        told = (lines.sent.len(), lines.dropped.len());
    };
    for (at, ix, nth, (_, flow, len)) in all {
        lines.run(Time::ORIGIN + Span::from_micros(at));
        note(&lines, &mut fates);
        lines.world.arrive_packet(&[legs[ix][flow]], Packet::new(BodyId(nth), len));
        lines.kick();
        note(&lines, &mut fates);
        for (port, legs) in legs.iter().enumerate() {
            let holds: u64 = legs.iter().map(|leg| measure(limit, held(&lines, *leg))).sum();
            let (Limit::Packets(most) | Limit::Bytes(most)) = limit;
            assert!(sharing == Sharing::Complete || holds <= most, "port {port} holds {holds}");
        }
    }
    lines.drain();
    note(&lines, &mut fates);
    fates
}

/// With memory of its own, a port sends and loses the same packets as a switch of its own; with
/// shared memory, not always.
#[test]
fn a_port_with_its_own_memory_is_a_switch_of_its_own() {
    let (mut lost, mut differing) = (0, 0);
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "partitioned");
        let limit = pick(&mut rng, &[Limit::Packets(8), Limit::Packets(30), Limit::Bytes(20_000)]);
        let push_out = pick(&mut rng, &[PushOut::Shares, PushOut::LongestQueue]);
        let ports: Vec<Loaded> = (0..2 + rng.below(2)).map(|_| Loaded::random(&mut rng)).collect();
        let together = fates(&ports, limit, push_out, Sharing::Partitioned);
        let alone: Fates = ports
            .iter()
            .map(|one| fates(std::slice::from_ref(one), limit, push_out, Sharing::Complete).remove(0))
            .collect();
        assert_eq!(together, alone, "seed {seed}");
        lost += together.iter().flatten().filter(|(.., sent)| !sent).count();
        differing += usize::from(fates(&ports, limit, push_out, Sharing::Complete) != alone);
    }
    assert!(lost as u64 > rounds(40) * 20, "{lost} packets were pushed out");
    assert!(differing as u64 > rounds(40) / 4, "shared memory made a difference {differing} times");
}
