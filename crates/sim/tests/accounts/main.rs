//! Counts in tables add up: every packet that left its source was received, dropped, lost or
//! absorbed, or is still in the
//! network, in the tables of flows and of links alike.
//!
//! The judge is the packet log, which `ledger` counts without looking at the world's own counts.

mod abr;
mod credit;
#[path = "../common/generate/mod.rs"]
mod generate;
mod ledger;
mod multicast;
#[path = "../common/pairs/mod.rs"]
mod pairs;
mod random;

use std::path::{Path, PathBuf};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// The network of a defect's file.
fn defect(file: &str) -> Network {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects").join(file);
    assemble(&Scenario::load(&path, &[]).unwrap()).unwrap()
}

/// The network of a scenario; `None` when it is refused.
fn network(text: &str, folder: &Path, sets: &[(String, String)]) -> Option<Network> {
    assemble(&Scenario::parse(text, "a.toml", folder, sets).ok()?).ok()
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a network to its end with a log of its packets; `None` after more than `most` events.
fn run(network: &Network, seed: u64, most: u64) -> Option<World<Calendar>> {
    let mut world = World::new(network, seed, &Probes { log: true, ..Probes::default() }).unwrap();
    world.advance(most).then_some(world)
}

/// Two of the three copies of every packet are lost: 25 packets, 75 copies, 50 of them missing.
#[test]
fn lost_copies_are_a_share_of_the_copies() {
    let network = defect("multicast-lost-200-percent.toml");
    let world = run(&network, 1, u64::MAX).unwrap();
    let record = &world.records()[0];
    assert_eq!((record.sent.0, record.received.0, world.lost(0)), (25, 25, 50));
    assert_eq!((network.flows[0].destinations(), world.missed(0)), (3, 50));
    ledger::check(&network, &world).unwrap();
}

/// Packets are sent when they are cut: those from before the warm-up that leave their envelope
/// after it do not count as received.
#[test]
fn no_more_packets_are_put_together_than_were_cut() {
    let network = defect("aal5-warmup.toml");
    let mut late = 0;
    for seed in 0..20 {
        let world = run(&network, seed, u64::MAX).unwrap();
        let counts = world.packets_of_cells(0).unwrap();
        assert!(counts.received.packets <= counts.sent.packets, "{counts:?}");
        assert!(world.records()[0].received.0 <= world.records()[0].sent.0);
        late += u64::from(counts.sent.packets == 0 && world.records()[0].received.0 > 0);
        ledger::check(&network, &world).unwrap();
    }
    assert!(late > 0, "cells of a packet from before the warm-up left their envelope after it");
}
