//! Formulas of the literature, evaluated beside the analyses.

use crate::common::{kind, pick, rate, reserved, rounds};
use crate::{flow, of, port};
use num_traits::Zero;
use tidegate_core::bounds::analysis::{Method, bounds_of};
use tidegate_core::bounds::network::{Flow, Network, Unbounded};
use tidegate_core::bounds::{Hop, virtual_clock_delay};
use tidegate_core::contract::Contract;
use tidegate_core::curves::{Exact, bytes_per_second, nearest, seconds, whole};
use tidegate_core::params::NoLine;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::tdm::TdmParams;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::units::Span;

const LINK: u64 = 10_000_000;

fn reserve(bits: u64) -> Contract {
    reserved(bits).contract
}

/// A flow whose traffic nobody bounds.
fn flood(route: &[usize], size: u32, contract: Contract) -> Flow {
    Flow { arrivals: None, ..flow(route, size, 0, 8, contract) }
}

/// Parekh and Gallager 1994 (the multiple-node case, theorem 5 with equal rates) for WFQ; Goyal, Lam
/// and Vin 1997 for VirtualClock; Bennett and Zhang 1997 for WF²Q+: with K hops, `(σ + (K − 1) L) / r +
/// Σ Lₖ / Cₖ`, whatever others send. VirtualClock's is the formula of this crate.
#[test]
fn rate_guarantees_add_up_as_published() {
    let mut rng = Rng::named(1, "published");
    for _ in 0..rounds(100) {
        let scheduler = kind(pick(&mut rng, &["wfq", "wf2q-plus", "virtual-clock"]));
        let hops = 1 + rng.below(4) as usize;
        let size = pick(&mut rng, &[100, 500, 1_500]);
        let burst = u64::from(size) * (1 + rng.below(8));
        let bits = pick(&mut rng, &[1_000_000, 2_000_000, 5_000_000]);
        let mut plan =
            Network { ports: vec![port(&scheduler, LINK); hops], flows: Vec::new(), windows: Vec::new() };
        let delay = Span::from_micros(rng.below(5_000));
        plan.ports.iter_mut().for_each(|port| port.delay = delay);
        let route: Vec<usize> = (0..hops).collect();
        plan.flows.push(flow(&route, size, burst, bits, reserve(bits)));
        for hop in 0..hops {
            plan.flows.push(flood(&[hop], 1_500, reserve(LINK - bits)));
        }
        let found = bounds_of(&plan);
        let bound = found.flows[0].as_ref().unwrap();
        let row = vec![Hop { rate: rate(LINK), largest: 1_500, delay }; hops];
        let published = seconds(virtual_clock_delay(burst, rate(bits), size, &row));
        let difference = nearest(&(&bound.delay - published)).abs();
        assert!(difference < 1e-9, "{scheduler:?} {difference}");
        assert_eq!(bound.method == Method::TotalFlow, hops == 1);
        assert_eq!(found.flows[1].as_ref().unwrap_err(), &Unbounded::Source);
    }
}

/// Golestani 1994 for SCFQ: a packet of every other flow comes on top. With n equal flows of packets
/// of L bytes at one hop: `σ / r + (n − 1) L / C`. Goyal, Vin and Cheng 1996 for SFQ: less by `L / r −
/// L / C`.
#[test]
fn self_clocked_and_start_time_fair_queueing_wait_for_a_packet_of_each_flow() {
    for (name, own) in [("scfq", LINK / 10), ("sfq", LINK)] {
        let scheduler = kind(name);
        let bits = LINK / 10;
        let mut plan =
            Network { ports: vec![port(&scheduler, LINK)], flows: Vec::new(), windows: Vec::new() };
        plan.flows.push(flow(&[0], 1_000, 3_000, bits, reserve(bits)));
        (1..10).for_each(|_| plan.flows.push(flood(&[0], 1_000, reserve(bits))));
        let time = |bytes: u64, bits: u64| of(8 * bytes, bits);
        let published = time(2_000, bits) + time(1_000, own) + time(9_000, LINK);
        assert_eq!(bounds_of(&plan).flows[0].as_ref().unwrap().delay, published, "{name}");
    }
}

/// Stiliadis and Varma 1998, table I: with quanta φ of a packet, the latency of DRR is (3F − 2φ) / C.
/// For n equal flows the curve of Boyer, Stea and Sofack 2012 has a packet less, and the one that
/// our turns cost brings it back.
#[test]
fn deficit_round_robin_has_the_latency_of_its_table() {
    let scheduler = kind("drr");
    let (flows, size) = (6, 1_514);
    let bits = LINK / flows;
    let mut plan = Network { ports: vec![port(&scheduler, LINK)], flows: Vec::new(), windows: Vec::new() };
    plan.flows.push(flow(&[0], size, u64::from(size), bits, reserve(bits)));
    (1..flows).for_each(|_| plan.flows.push(flood(&[0], size, reserve(bits))));
    let quanta = flows * u64::from(size);
    let latency = of(8 * (3 * quanta - 2 * u64::from(size)), LINK);
    let own = of(8 * u64::from(size), LINK) * whole(flows);
    assert_eq!(bounds_of(&plan).flows[0].as_ref().unwrap().delay, latency + own);
}

/// Cruz 1991, part I: at a FIFO port, every packet leaves within the sum of all bursts over the rate.
/// In a ring, part II: with n ports, and flows of rate ρ and burst σ that start at each port and pass
/// k of them, a fixed point exists while the rates fit, and is the solution of the linear equations.
#[test]
fn rings_have_the_fixed_point_of_their_equations() {
    let scheduler = kind("fifo");
    let (ports, passed, burst) = (4usize, 3usize, 1_000u64);
    for (bits, solved) in [(LINK / 30, true), (LINK / 6, true), (LINK / 3 + 1, false)] {
        let mut plan =
            Network { ports: vec![port(&scheduler, LINK); ports], flows: Vec::new(), windows: Vec::new() };
        for start in 0..ports {
            let route: Vec<usize> = (0..passed).map(|hop| (start + hop) % ports).collect();
            plan.flows.push(flow(&route, 1_000, burst, bits, Contract::default()));
        }
        let found = bounds_of(&plan);
        // A port has a flow of each age, so that D = Σ (σ + ρ · age · D) / C.
        let (rho, link) = (bytes_per_second(rate(bits)), bytes_per_second(rate(LINK)));
        let ages = whole((0..passed as u64).sum::<u64>());
        let left = &link - rho * ages;
        match (solved, &found.flows[0]) {
            (true, Ok(bound)) => {
                let delay = whole(passed as u64 * burst) / left * whole(passed as u64);
                // Links keep packets apart, so that the bound may be lower; it is no higher but for
                // the last steps of the iteration.
                let ratio = nearest(&(&bound.delay / &delay));
                assert!(ratio < 1.000_1, "{bits}: {ratio}");
                assert!(ratio > 0.3, "{bits}: {ratio}");
            }
            (false, Err(why)) => {
                assert!(left <= Exact::zero());
                assert!(matches!(why, Unbounded::Cycle { .. } | Unbounded::Overload { .. }), "{why:?}");
            }
            (_, other) => panic!("{bits}: {other:?}"),
        }
    }
}

/// A flow has no bound where its scheduler promises none, beside a flood that shares its line, above
/// the rate, and behind a port where it has lost its bound.
#[test]
fn where_there_is_no_bound_the_first_reason_is_given() {
    let fifo = kind("fifo");
    let plain = Contract::default();
    let mut plan = Network { ports: vec![port(&fifo, LINK); 2], flows: Vec::new(), windows: Vec::new() };
    plan.flows.push(flow(&[0, 1], 1_000, 1_000, 1_000_000, plain));
    plan.flows.push(flood(&[1], 1_000, plain));
    let why = |plan: &Network<'_>| *bounds_of(plan).flows[0].as_ref().unwrap_err();
    assert_eq!(why(&plan), Unbounded::Beside { port: 1, flow: 1 });
    plan.flows[1] = flow(&[1], 1_000, 1_000, LINK, plain);
    assert_eq!(why(&plan), Unbounded::Overload { port: 1 });
    let clock = kind("virtual-clock");
    plan.ports[1].scheduler = &*clock;
    plan.flows[0].contracts[1] = reserve(1_000_000);
    plan.flows[1] = flood(&[1], 1_000, reserve(LINK));
    let words = NoLine::Because("the reservations exceed the link");
    assert_eq!(why(&plan), Unbounded::Promise { port: 1, why: words });
}

/// However little the others send, so that some ports are sooner in any order of service than by the
/// promise, the bound of a route is not above the formula for that promise.
#[test]
fn no_route_is_later_than_its_promises_say() {
    let mut rng = Rng::named(2, "published");
    let (mut any_order, mut lower) = (0, 0);
    for _ in 0..rounds(60) {
        let scheduler = kind(pick(&mut rng, &["wfq", "wf2q-plus", "virtual-clock"]));
        let hops = 2 + rng.below(5) as usize;
        let bits = pick(&mut rng, &[500_000, 1_000_000]);
        let burst = 500 * (1 + rng.below(6));
        let mut plan =
            Network { ports: vec![port(&scheduler, LINK); hops], flows: Vec::new(), windows: Vec::new() };
        let route: Vec<usize> = (0..hops).collect();
        plan.flows.push(flow(&route, 500, burst, bits, reserve(bits)));
        // Reservations of the whole link, of which the traffic uses a part.
        for hop in 0..hops {
            let others = 1_000 * (1 + rng.below(20));
            let used = (LINK - bits) / (1 + rng.below(6));
            plan.flows.push(flow(&[hop], 500, others, used, reserve(LINK - bits)));
        }
        let bound = bounds_of(&plan).flows[0].clone().unwrap();
        let row = vec![Hop { rate: rate(LINK), largest: 500, delay: Span::ZERO }; hops];
        let published = nearest(&seconds(virtual_clock_delay(burst, rate(bits), 500, &row)));
        let delay = nearest(&bound.delay);
        assert!(delay < published + 1e-9, "{scheduler:?} {delay} {published}");
        any_order += u32::from(bound.hops.iter().any(|hop| hop.source.starts_with("any order")));
        lower += u32::from(delay < published - 1e-6);
    }
    assert!(any_order > 10 && lower > 10, "{any_order} {lower}");
}

/// Theorem 1 of Schmitt, Zdarsky and Martinovic 2008 by hand. Two links of 10 Mbit/s, packets of
/// 1,000 bytes, and another flow on both with a burst of 10,000 bytes and half the rate. The first
/// link hands over whole packets: its latency is one, 0.8 ms, and the second has none. 5 Mbit/s are
/// left. Meanwhile the other flow sends its burst and 500 bytes, 16.8 ms of that rate, and the packet
/// itself takes 1.6 ms: 19.2 ms.
#[test]
fn bursts_of_others_are_paid_once_with_what_they_send_meanwhile() {
    let scheduler = kind("round-robin");
    let plain = Contract::default();
    let mut plan = Network { ports: vec![port(&scheduler, LINK); 2], flows: Vec::new(), windows: Vec::new() };
    plan.flows.push(flow(&[0, 1], 1_000, 1_000, 1_000_000, plain));
    plan.flows.push(flow(&[0, 1], 1_000, 10_000, LINK / 2, plain));
    let bound = bounds_of(&plan).flows[0].clone().unwrap();
    assert_eq!((bound.delay, bound.method), (of(192, 10_000), Method::PayMultiplexingOnlyOnce));
}

/// A row of FIFO ports, each with others of its own, by hand. A packet waits at each port for the
/// others' burst and its own flow's once (Cruz 1991 for one port), and all ports but the last hand
/// over whole packets; the burst does not grow from port to port as in the analysis port by port.
/// Where others leave much of each link, the burst of the flow is paid once instead.
#[test]
fn in_a_row_of_fifo_ports_bursts_do_not_grow() {
    let scheduler = kind("fifo");
    let plain = Contract::default();
    let row = |ports: usize, bits: u64, others: u64| {
        let mut plan =
            Network { ports: vec![port(&scheduler, LINK); ports], flows: Vec::new(), windows: Vec::new() };
        let route: Vec<usize> = (0..ports).collect();
        plan.flows.push(flow(&route, 500, 2_000, bits, plain));
        for port in 0..ports {
            plan.flows.push(flow(&[port], 1_500, 19_500, others, plain));
        }
        let bound = bounds_of(&plan).flows[0].clone().unwrap();
        (bound.delay, bound.method)
    };
    for ports in 2..=8 {
        let waits = ports as u64 * (19_500 + 2_000) + (ports as u64 - 1) * 500;
        let expected = (of(8 * waits, LINK), Method::LeastUpperDelayBound);
        assert_eq!(row(ports, 1_000_000, 9_000_000), expected, "{ports}");
    }
    // Half of each link is left: 2,000 bytes at 5 Mbit/s once, and at no port.
    let expected = of(8 * (5 * 19_500 + 4 * 500), LINK) + of(8 * 2_000, LINK / 2);
    assert_eq!(row(5, 1_000_000, LINK / 2), (expected, Method::LeastUpperDelayBound));
}

/// With n slots in a frame, the k-th packet of a burst starts within ⌈k / n⌉ frames and takes its own
/// time. For one packet more than whole frames the line of the bound is as late as that.
#[test]
fn packets_wait_for_as_many_frames_as_they_need_slots() {
    let params = TdmParams { rate: None, slot: 1_000, slots: 10, window: 0 };
    let scheduler = SchedulerKind::BuiltIn(BuiltInScheduler::Tdm(params));
    let slot = of(8 * 1_000, LINK);
    for owned in [1, 2, 3, 5] {
        for frames in 1..4 {
            let packets = (frames - 1) * owned + 1;
            let mut plan =
                Network { ports: vec![port(&scheduler, LINK)], flows: Vec::new(), windows: Vec::new() };
            let bits = LINK / 10 * owned;
            plan.flows.push(flow(&[0], 1_000, packets * 1_000, bits, reserve(bits)));
            plan.flows.push(flood(&[0], 1_000, reserve(LINK - bits)));
            let needed = whole(frames * 10 + 1) * &slot;
            assert_eq!(bounds_of(&plan).flows[0].as_ref().unwrap().delay, needed, "{owned} {packets}");
        }
    }
}
