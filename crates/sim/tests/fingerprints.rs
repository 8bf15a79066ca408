//! The outcome depends on the scenario and the seed, and on nothing else.

mod common;

use common::{add, chain, five_servers, poisson, run, run_with};
use tidegate_core::scheduler::drr::{DrrForm, DrrParams};
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::units::Span;
use tidegate_sim::event_queue::{BinaryHeapQueue, Calendar};
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::watch::Watch;
use tidegate_sim::world::World;

fn busy(scheduler: &str) -> Network {
    let mut network = five_servers(scheduler, Span::from_secs(2));
    network.nodes.iter_mut().for_each(|node| node.buffer = Some(tidegate_core::params::Limit::Packets(12)));
    network
        .links
        .iter_mut()
        .enumerate()
        .for_each(|(ix, link)| link.delay = Span::from_micros(50 * ix as u64));
    network
}

#[test]
fn equal_for_either_event_queue() {
    for scheduler in ["fifo", "virtual-clock", "strict-priority"] {
        let calendar = run_with::<Calendar>(&busy(scheduler), 5, &Probes::default());
        let heap = run_with::<BinaryHeapQueue>(&busy(scheduler), 5, &Probes::default());
        assert_eq!(calendar.fingerprint(), heap.fingerprint(), "{scheduler}");
        assert_eq!(calendar.packet_hops(), heap.packet_hops());
    }
}

#[test]
fn equal_with_and_without_probes() {
    let network = busy("virtual-clock");
    let probes = Probes {
        delays: true,
        flow_delays: true,
        sample: Some(Span::from_micros(777)),
        workahead: vec![1.0, 1.02],
        watch: Some(Watch::new(3, 5)),
        captured: vec![1, 2],
        log: true,
    };
    let probed = run_with::<Calendar>(&network, 5, &probes);
    assert_eq!(probed.fingerprint(), run(&network, 5).fingerprint());
    assert_eq!(probed.watch().map(|watch| watch.slowest().len()), Some(5));
}

#[test]
fn equal_in_slices_of_any_size() {
    let network = busy("fifo");
    let mut world: World<Calendar> = World::new(&network, 5, &Probes::default()).unwrap();
    let mut slice = 1;
    while !world.advance(slice) {
        slice = slice * 3 % 1009 + 1;
    }
    assert_eq!(world.fingerprint(), run(&network, 5).fingerprint());
}

/// Schedulers whose idle ports wait for all packets of an instant are among them.
#[test]
fn equal_behind_dyn() {
    for name in ["virtual-clock", "strict-priority", "edf"] {
        let network = busy(name);
        let mut behind_dyn = network.clone();
        for link in &mut behind_dyn.links {
            let built_in = link.port.scheduler.clone();
            link.port.scheduler =
                built_in.made_by(move || Box::new(SchedulerKind::named(name).unwrap().build().unwrap()));
        }
        assert_eq!(run(&network, 5).fingerprint(), run(&behind_dyn, 5).fingerprint(), "{name}");
    }
}

#[test]
fn different_for_another_seed_and_another_scheduler() {
    let of = |scheduler: &str, seed| run(&busy(scheduler), seed).fingerprint();
    assert_ne!(of("fifo", 1), of("fifo", 2));
    assert_ne!(of("fifo", 1), of("virtual-clock", 1));
}

/// Equal reservations and equal sizes at one priority level: strict priority is FIFO.
#[test]
fn one_level_of_strict_priority_is_fifo() {
    assert_eq!(run(&busy("fifo"), 9).fingerprint(), run(&busy("strict-priority"), 9).fingerprint());
}

/// One deadline for all is first in, first out, and deadlines without a hop before are not
/// regulated.
#[test]
fn equal_deadlines_are_fifo() {
    let with = |scheduler: &str, bounds: &[u64]| {
        let mut network = busy(scheduler);
        for (ix, flow) in network.flows.iter_mut().enumerate() {
            let bound = Span::from_micros(bounds[ix % bounds.len()]);
            flow.plans.iter_mut().for_each(|plan| plan.contract.deadline = Some(bound));
        }
        network
    };
    let run = |network: &Network| run(network, 9).fingerprint();
    assert_eq!(run(&with("edf", &[900])), run(&busy("fifo")));
    assert_ne!(run(&with("edf", &[900, 300])), run(&busy("fifo")));
    // A packet that leaves early is held at the next hop.
    assert_ne!(run(&with("jitter-edd", &[900, 300])), run(&with("edf", &[900, 300])));
    let at_one_hop = |mut network: Network| {
        network.flows.retain(|flow| flow.route.len() == 1);
        run(&network)
    };
    assert_eq!(at_one_hop(with("jitter-edd", &[900, 300])), at_one_hop(with("edf", &[900, 300])));
    assert_ne!(at_one_hop(with("edf", &[900, 300])), at_one_hop(busy("fifo")));
    assert_eq!(at_one_hop(busy("fifo-plus")), at_one_hop(busy("fifo")));
    assert_ne!(run(&busy("fifo-plus")), run(&busy("fifo")));
}

/// Packets of one size by quanta of that size take turns one by one. Without a limit on memory: the
/// two push out differently.
#[test]
fn a_packet_a_quantum_is_packet_round_robin() {
    let unlimited = |scheduler: &str| {
        let mut network = busy(scheduler);
        network.nodes.iter_mut().for_each(|node| node.buffer = None);
        network
    };
    let mut deficits = unlimited("drr");
    let reserve = deficits.flows[0].plans[0].contract.reserve.unwrap();
    let params = DrrParams { quantum: 48, unreserved: reserve, form: DrrForm::LookAhead };
    let scheduler = SchedulerKind::BuiltIn(BuiltInScheduler::Drr(params));
    deficits.links.iter_mut().for_each(|link| link.port.scheduler = scheduler.clone());
    assert_eq!(run(&deficits, 9).fingerprint(), run(&unlimited("round-robin"), 9).fingerprint());
    assert_ne!(run(&deficits, 9).fingerprint(), run(&unlimited("fifo"), 9).fingerprint());
}

/// Flows that never send faster than on average: a scheduler that accelerates bursts has none to
/// accelerate.
#[test]
fn axel_and_peak_vc_are_virtual_clock_where_the_peak_is_the_average() {
    let network = |scheduler: &str| {
        let mut network = busy(scheduler);
        for plan in network.flows.iter_mut().flat_map(|flow| &mut flow.plans) {
            plan.contract.peak = plan.contract.reserve;
            plan.contract.workahead = Some(9_600);
        }
        network
    };
    let plain = run(&network("virtual-clock"), 9).fingerprint();
    assert_ne!(plain, run(&network("fifo"), 9).fingerprint());
    for scheduler in ["axel", "peak-vc"] {
        assert_eq!(plain, run(&network(scheduler), 9).fingerprint(), "{scheduler}");
    }
}

/// Every component has its own stream: one flow more changes no other flow's packets.
#[test]
fn adding_a_flow_changes_no_other_flows_arrivals() {
    let sent = |network: &Network| -> Vec<(u64, u64)> {
        run(network, 3).records().iter().map(|record| record.sent).collect()
    };
    let mut network = chain(1, 1_000_000, Span::ZERO, "fifo", Span::from_secs(20));
    (0..5).for_each(|_| add(&mut network, 0..1, None, poisson(100_000, 100)));
    let before = sent(&network);
    add(&mut network, 0..1, Some(1000), poisson(300_000, 700));
    let after = sent(&network);
    assert_eq!(before[..], after[..5]);
}

/// A run of the longest time there is ends all the same, once nothing is pending.
#[test]
fn the_longest_run_ends() {
    let mut network = chain(1, 1_000_000, Span::ZERO, "fifo", Span::MAX);
    add(&mut network, 0..1, None, poisson(100_000, 100));
    network.flows[0].life.stop = Some(Span::from_secs(1));
    let world = run(&network, 1);
    assert_eq!(world.packet_hops(), world.records()[0].sent.0);
}

/// Two years of simulated time and 1 bit/s flows: nothing overflows, and every packet is accounted
/// for.
#[test]
fn two_years_at_one_bit_per_second() {
    let years = Span::from_secs(2 * 366 * 86_400);
    let mut network = chain(2, 20, Span::from_secs(3600), "virtual-clock", years);
    (0..3).for_each(|_| add(&mut network, 0..2, Some(1), poisson(1, 1500)));
    add(&mut network, 0..2, Some(10), poisson(12, 9000));
    let world = run(&network, 1);
    let seconds = years.as_secs_f64();
    for (ix, record) in world.records().iter().enumerate() {
        let bits = record.received.1 as f64 * 8.0 / seconds;
        let expected = if ix < 3 { 1.0 } else { 12.0 };
        // Poisson counts of some 5000 and 10 500 packets: 4.5 standard deviations.
        assert!((bits / expected - 1.0).abs() < 0.065, "flow {ix}: {bits} bit/s");
        assert!(record.dropped == 0 && record.sent.0 - record.received.0 < 60, "{record:?}");
    }
}
