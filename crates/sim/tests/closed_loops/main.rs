//! Closed loops in miniature: hosts that answer, control that flows back, stages that pace and
//! gate. Each is an endpoint or a stage of at most 60 lines; the world has no special case for any
//! of them.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../core/tests/common/toy.rs"]
mod toy;

mod credit;
mod explicit_rate;
mod multicast;
mod relative_rate;
mod windows;

use common::{add, chain};
use std::sync::Arc;
use tidegate_core::endpoint::window::WindowParams;
use tidegate_core::endpoint::{BuiltInTransport, TransportKind};
use tidegate_core::units::Span;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::host::TransportEnd;
use tidegate_sim::network::{Network, StagePlan};
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::stage::StageFactory;
use tidegate_sim::world::World;

/// Nodes s1 … s(N+1) in a row, joined by duplex links: link 2i goes from the i-th node to the next,
/// link 2i + 1 back.
fn row(links: usize, bits: u64, delay: Span, seconds: u64) -> Network {
    let mut network = chain(links, bits, delay, "fifo", Span::from_secs(seconds));
    network.links = std::mem::take(&mut network.links)
        .into_iter()
        .flat_map(|there| {
            let mut back = there.clone();
            (back.from, back.to) = (there.to, there.from);
            back.name = format!("s{}->s{}", there.to + 1, there.from + 1);
            [there, back]
        })
        .collect();
    network
}

/// A connection over all links of a row: the data's flow there, the answers' flow back.
fn connect(network: &mut Network, there: Traffic, back: Traffic) {
    let (links, flow) = (network.links.len(), network.flows.len());
    add(network, 0..links / 2, None, there);
    add(network, 0..links / 2, None, back);
    network.flows[flow].route = (0..links).step_by(2).collect();
    network.flows[flow + 1].route = (0..links).rev().step_by(2).collect();
    (network.flows[flow].peer, network.flows[flow + 1].peer) = (Some(flow + 1), Some(flow));
}

fn window(network: &mut Network, window: u32, acknowledgement: u32) {
    let params = WindowParams { window, acknowledgement, timeout: Span::from_secs(10) };
    let transport = TransportKind::BuiltIn(BuiltInTransport::Window(params));
    let [data, back] = TransportEnd::both(&transport, 1000, None).unwrap();
    connect(network, data, back);
}

fn run(network: &Network) -> World<Calendar> {
    let probes = Probes { sample: Some(Span::from_millis(10)), ..Probes::default() };
    common::run_with(network, 1, &probes)
}

fn throughput(world: &World<Calendar>, flow: usize, network: &Network) -> f64 {
    world.records()[flow].received.1 as f64 * 8.0 / (network.duration - network.warmup).as_secs_f64()
}

fn place(network: &mut Network, node: usize, factory: Arc<dyn StageFactory>) {
    network.stages.push(StagePlan { name: format!("stage {node}"), node, factory });
}
