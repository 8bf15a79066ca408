//! Promises of a VirtualClock port to flows of known packets, in the smallest buffer that keeps
//! them.

mod common;

use common::{World, kind, pick, rate, rounds};
use tidegate_core::bounds::{FlowAtPort, Hop, buffer_for};
use tidegate_core::contract::Contract;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const LINK: u64 = 1_000_000;
const LARGEST: u32 = 1500;
/// Half a tick a packet.
const ROUNDING: Span = Span::from_ticks(20_000);

/// A packet: time, flow and size.
type Arrival = (Time, usize, u32);

/// Bursts of the flows with these reservations, and of a flow without one.
fn arrivals(rng: &mut Rng, reserves: &[u64]) -> Vec<Arrival> {
    let (mut packets, mut at) = (Vec::new(), Time::ORIGIN);
    for _ in 0..600 {
        at += Span::from_micros(rng.below(20_000));
        let flow = rng.below(reserves.len() as u64 + 1) as usize;
        let most = if flow == reserves.len() { 40 } else { 12 };
        for _ in 0..rng.below(most) {
            packets.push((at, flow, pick(rng, &[60, 200, 1000, LARGEST])));
        }
    }
    packets
}

/// Sends the packets through a port with such a pool; returns the departure time of each, `None`
/// for one that was pushed out.
fn left(packets: &[Arrival], reserves: &[u64], buffer: Limit) -> Vec<Option<Time>> {
    let ports = vec![PortPlan::new(kind("virtual-clock"))];
    let mut world = World::new(&SwitchPlan { ports, buffer: Some(buffer), ..SwitchPlan::default() });
    world.audited = false;
    let plan = |reserve: Option<u64>| FlowPlan {
        contract: Contract { reserve: reserve.map(rate), ..Contract::default() },
        ..FlowPlan::default()
    };
    let contracts = reserves.iter().copied().map(Some).chain([None]);
    let flows: Vec<_> = contracts.map(|reserve| world.open(0, &plan(reserve))).collect();
    let mut times = vec![None; packets.len()];
    // Time at which the last bit of the packet in service is out.
    let mut busy_until: Option<Time> = None;
    let end = (Time::ORIGIN + Span::from_secs(1000), None);
    for (at, packet) in packets.iter().map(|(at, flow, len)| (*at, Some((*flow, *len)))).chain([end]) {
        while let Some(done) = busy_until.filter(|done| *done <= at) {
            world.now = done;
            let (packet, _) = world.finish(0);
            // Bodies are numbered from 1, in the order of their arrivals.
            times[packet.body.0 as usize - 1] = Some(done);
            busy_until = world.start(0).map(|next| done + rate(LINK).time_for(next.len));
        }
        world.now = at;
        if let Some((flow, len)) = packet {
            world.arrive(&[flows[flow]], len);
        }
        if busy_until.is_none() {
            busy_until = world.start(0).map(|next| at + rate(LINK).time_for(next.len));
        }
    }
    times
}

/// In the smallest buffer no packet of a flow with a reservation is pushed out or late, in packets
/// and in bytes; with a smaller one some are, so that little of it is to spare.
#[test]
fn promises_are_kept_in_the_smallest_buffer() {
    let (mut lost_with_less, mut closest) = (0, 0.0f64);
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "buffered bounds");
        let reserves: Vec<u64> = (0..1 + rng.below(4)).map(|_| pick(&mut rng, &[100_000, 240_000])).collect();
        let packets = arrivals(&mut rng, &reserves);
        let port = Hop { rate: rate(LINK), largest: LARGEST, delay: Span::ZERO };
        let mut promises: Vec<FlowAtPort> =
            reserves.iter().map(|reserve| FlowAtPort::new(rate(*reserve), port)).collect();
        let promised: Vec<Option<Span>> =
            packets.iter().map(|(at, flow, len)| Some(promises.get_mut(*flow)?.see(*at, *len))).collect();
        let (count, bytes) = buffer_for(promises.iter().map(FlowAtPort::most), LARGEST);
        for buffer in [Limit::Packets(count), Limit::Bytes(bytes)] {
            let times = left(&packets, &reserves, buffer);
            assert!(times.contains(&None), "seed {seed}: nothing is pushed out");
            for ((at, ..), (promise, time)) in packets.iter().zip(promised.iter().zip(times)) {
                let Some(promise) = promise else { continue };
                let delay = time.expect("no packet of a flow with a reservation is pushed out").since(*at);
                assert!(delay <= *promise + ROUNDING, "seed {seed}: {delay:?} > {promise:?}");
                closest = closest.max(delay.as_secs_f64() / promise.as_secs_f64());
            }
        }
        let less = left(&packets, &reserves, Limit::Bytes(bytes * 6 / 10));
        lost_with_less +=
            less.iter().zip(&promised).filter(|(time, kept)| time.is_none() && kept.is_some()).count();
    }
    assert!(lost_with_less > 0);
    assert!(closest > 0.9, "{closest}");
}
