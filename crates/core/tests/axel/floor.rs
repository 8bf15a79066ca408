//! The floor: no packet waits longer than a server of a share of its flow's rate would let it, but
//! for a constant.

use crate::common::{kind, pick, rate, rounds};
use crate::{Arrivals, LINK, bursts, contract, open};
use tidegate_core::contract::Contract;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::units::{Rate, Span, Time};

fn floor(share: f64) -> SchedulerKind {
    let share = [("floor", Value::Number(share))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("axel-floor", &share).unwrap().unwrap())
}

/// A packet that was sent.
#[derive(Clone, Copy)]
struct Sent {
    arrived: Time,
    began: Time,
    left: Time,
    len: u32,
}

/// Plays the arrivals, and returns each flow's packets in their order, and the order of service.
fn play(
    scheduler: SchedulerKind,
    contracts: &[Contract],
    arrivals: &Arrivals,
) -> (Vec<Vec<Sent>>, Vec<usize>) {
    let (mut lines, legs) = open(scheduler, contracts);
    for (at, flow, len) in arrivals {
        lines.run(*at);
        lines.arrive(&[legs[*flow]], *len);
    }
    lines.drain();
    let mut flows = vec![Vec::new(); contracts.len()];
    let mut order = Vec::new();
    for sent in &lines.sent {
        let flow = legs.iter().position(|leg| leg.flow == sent.packet.flow).unwrap();
        let (arrived, began, len) = (sent.packet.arrived, sent.at, sent.packet.len);
        flows[flow].push(Sent { arrived, began, left: began + rate(LINK).time_for(len), len });
        order.push(flow);
    }
    (flows, order)
}

/// Flows of the report's kinds that reserve the whole link, with bursts beyond their contracts.
fn full_link(rng: &mut Rng) -> (Vec<Contract>, Arrivals) {
    let smooth = |bits| contract(bits, bits, 9_600);
    let bursty = |rng: &mut Rng, bits| contract(bits, LINK, pick(rng, &[9_600, 96_000]));
    let contracts = vec![
        smooth(500_000),
        smooth(1_000_000),
        smooth(1_500_000),
        bursty(rng, 1_000_000),
        bursty(rng, 1_000_000),
        bursty(rng, 3_000_000),
    ];
    let mut arrivals = bursts(rng, &contracts, 2);
    // The first flow has always packets waiting.
    arrivals.extend((0..700).map(|nth| (Time::ORIGIN + Span::from_millis(nth), 0, 250)));
    arrivals.sort_by_key(|(at, flow, _)| (*at, *flow));
    (contracts, arrivals)
}

fn floor_rate(contract: &Contract, share: f64) -> Rate {
    rate((contract.reserve.unwrap().bits_per_second() * share).round() as u64)
}

/// Longest time by which a packet's last bit leaves later than the guarantee of a server of the
/// rate `share · r`, counted anew from each packet's arrival or from when it became the first.
fn latest_beyond(packets: &[Sent], floor: Rate) -> i128 {
    let ticks = |time: Time| i128::from(time.ticks());
    let mut worst = i128::MIN;
    for first in 0..packets.len() {
        let before = if first > 0 { packets[first - 1].began } else { Time::from_ticks(0) };
        // From here on the flow always has packets.
        let mut due = packets[first].arrived.max(before);
        for packet in packets[first..].iter().take(60) {
            due = due.max(packet.arrived) + floor.time_for(packet.len);
            worst = worst.max(ticks(packet.left) - ticks(due));
        }
    }
    worst
}

/// The guarantee of the floor: from any time on, a flow with packets gets the service of a server
/// of the rate φ r that is late by no more than (L + Σ L_j) / R, whatever the others send. Axel
/// alone is later, by far.
#[test]
fn a_floor_is_kept_from_any_time_on() {
    let (mut beyond, mut near) = (0, 0);
    for seed in 0..rounds(8) {
        let mut rng = Rng::named(seed, "floor");
        let (contracts, arrivals) = full_link(&mut rng);
        let share = pick(&mut rng, &[0.1, 0.5, 0.9, 1.0]);
        let longest = |flow: Option<usize>| {
            let of = arrivals.iter().filter(|(_, other, _)| flow.is_none_or(|flow| flow == *other));
            of.map(|(_, _, len)| *len).max().unwrap_or(0)
        };
        let all: u32 = (0..contracts.len()).map(|flow| longest(Some(flow))).sum();
        let most = i128::from(rate(LINK).time_for(longest(None) + all).ticks());
        let (floored, _) = play(floor(share), &contracts, &arrivals);
        let (plain, _) = play(kind("axel"), &contracts, &arrivals);
        for (flow, contract) in contracts.iter().enumerate() {
            let late = latest_beyond(&floored[flow], floor_rate(contract, share));
            assert!(late <= most, "seed {seed}, share {share}, flow {flow}: {late} of {most}");
            near += usize::from(4 * late > most);
            beyond += usize::from(latest_beyond(&plain[flow], floor_rate(contract, share)) > 2 * most);
        }
    }
    assert!(beyond > 10 && near > 0, "{beyond} {near}");
}

/// A floor so low that nothing is ever due leaves Axel's order; a high one changes it.
#[test]
fn a_floor_near_zero_is_axel() {
    let mut differing = 0;
    for seed in 0..rounds(5) {
        let mut rng = Rng::named(seed, "no floor");
        let (contracts, arrivals) = full_link(&mut rng);
        let (_, plain) = play(kind("axel"), &contracts, &arrivals);
        let (_, low) = play(floor(0.001), &contracts, &arrivals);
        assert_eq!(low, plain, "seed {seed}");
        differing += usize::from(play(floor(1.0), &contracts, &arrivals).1 != plain);
    }
    assert!(differing > 0);
}
