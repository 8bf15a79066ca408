//! Small networks, built by hand.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::sync::Arc;
use tidegate_core::contract::Contract;
use tidegate_core::link;
use tidegate_core::packet::Colour;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, PushOut};
use tidegate_core::units::{Rate, Span};
use tidegate_formats::{StageTerms, WhenWarned};
use tidegate_sim::event_queue::{Calendar, EventQueue};
use tidegate_sim::network::{FlowSetup, FlowTerms, Life, LinkPlan, Network, NodePlan};
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::world::World;

pub fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

/// `hops` links in a row, all alike.
pub fn chain(hops: usize, bits: u64, delay: Span, scheduler: &str, duration: Span) -> Network {
    let node = |ix| NodePlan { name: format!("s{}", ix + 1), buffer: None };
    let link = |ix: usize| LinkPlan {
        name: format!("s{}->s{}", ix + 1, ix + 2),
        from: ix,
        to: ix + 1,
        line: link::LinePlan::long(rate(bits), delay),
        framing: link::Framing::NONE,
        port: PortPlan::new(SchedulerKind::named(scheduler).unwrap()).into(),
    };
    Network {
        nodes: (0..=hops).map(node).collect(),
        links: (0..hops).map(link).collect(),
        push_out: PushOut::default(),
        gate: None,
        groups: vec!["all".into()],
        entries: vec!["all".into()],
        classes: Vec::new(),
        profiles: Vec::new(),
        policies: Vec::new(),
        datagram_window: None,
        stage_terms: StageTerms::default(),
        stages: Vec::new(),
        flows: Vec::new(),
        notes: Vec::new(),
        duration,
        warmup: Span::ZERO,
        assurance: None,
    }
}

/// Adds a flow over the links `route`.
pub fn add(network: &mut Network, route: std::ops::Range<usize>, reserve: Option<u64>, traffic: Traffic) {
    let contract = Contract { reserve: reserve.map(rate), ..Contract::default() };
    let sizes = traffic.sizes();
    let terms = FlowTerms {
        group: 0,
        entry: 0,
        part: 0,
        plans: vec![FlowPlan { contract, sizes, ..FlowPlan::default() }; route.len()],
        route: route.collect(),
        paths: None,
        depths: Vec::new(),
        envelope: None,
        sizes,
        aal5: false,
        preparation: Span::ZERO,
        stage_terms: StageTerms::default(),
        colour: Colour::Green,
        when_warned: WhenWarned::Ignore,
        ecn_capable: false,
        life: Life::default(),
    };
    let name = format!("f{}", network.flows.len());
    network.flows.push(FlowSetup { name, peer: None, traffic, headers: None, shared: Arc::new(terms) });
}

pub fn poisson(bits: u64, size: u32) -> Traffic {
    Traffic::Poisson { rate: rate(bits), sizes: Arc::new([size]) }
}

/// The five-server chain: 8 flows end to end, 7 over each server, 48-byte packets.
pub fn five_servers(scheduler: &str, duration: Span) -> Network {
    const FLOW: u64 = 1920 * 48 * 8;
    let mut network = chain(5, FLOW * 15 * 1000 / 915, Span::ZERO, scheduler, duration);
    (0..8).for_each(|_| add(&mut network, 0..5, Some(FLOW), poisson(FLOW, 48)));
    for hop in 0..5 {
        (0..7).for_each(|_| add(&mut network, hop..hop + 1, Some(FLOW), poisson(FLOW, 48)));
    }
    network
}

pub fn run(network: &Network, seed: u64) -> World<Calendar> {
    run_with(network, seed, &Probes::default())
}

pub fn run_with<Q: EventQueue>(network: &Network, seed: u64, probes: &Probes) -> World<Q> {
    let mut world = World::new(network, seed, probes).unwrap();
    while !world.advance(1_000_000) {}
    world
}
