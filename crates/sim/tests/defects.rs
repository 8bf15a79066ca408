//! Defects that were found by generated scenarios, each with the file that showed it.

use std::path::{Path, PathBuf};
use tidegate_core::units::{Span, Time};
use tidegate_sim::build::build;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::watch::Watch;
use tidegate_sim::world::{Answer, World};
use tidegate_spec::Scenario;

fn network(file: &str) -> Network {
    network_with(file, &[])
}

fn network_with(file: &str, sets: &[(String, String)]) -> Network {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("defects");
    build(&Scenario::load(&folder.join(file), sets).unwrap()).unwrap()
}

fn run(network: &Network, probes: &Probes) -> World<Calendar> {
    let mut world = World::new(network, 1, probes).unwrap();
    while !world.advance(1_000_000) {}
    world
}

fn series() -> Probes {
    Probes { sample: Some(Span::from_millis(100)), ..Probes::default() }
}

/// A source that has ended tears its flow down at once, whether or not samples are taken.
#[test]
fn an_ended_source_is_torn_down_at_once() {
    let network = network("fin2.toml");
    let worlds = [run(&network, &Probes::default()), run(&network, &series())];
    assert_eq!(worlds[0].fingerprint(), worlds[1].fingerprint());
    let torn_down = worlds[0].signals().iter().find(|signal| signal.answer == Answer::TornDown).unwrap();
    let at = torn_down.at.since(Time::ORIGIN);
    assert!(at > Span::from_millis(1900) && at < Span::from_millis(2100), "{at:?}");
}

/// What waits in an envelope leaves when a granted change widens it.
#[test]
fn a_wider_envelope_releases_what_waits() {
    let world = run(&network("late.toml"), &series());
    let received = world.series().unwrap().values(Subject::Group(0), "throughput");
    let at_change: f64 = received[9..12].iter().sum::<f64>() * 0.1 / 8.0;
    // 98 packets of 1000 B, but for what the old envelope let go.
    assert!(at_change >= 90_000.0, "{at_change} bytes in the 300 ms about the change");
}

/// Every packet of a link starts after the one before it has left.
#[test]
fn time_does_not_go_back() {
    for file in ["back.toml", "ceilback.toml", "ceilback2.toml"] {
        let network = network(file);
        let probes = Probes { watch: Some(Watch::new(0, usize::MAX)), ..Probes::default() };
        let world = run(&network, &probes);
        let mut journeys = world.watch().unwrap().slowest().to_vec();
        assert!(journeys.len() > 50, "{file}: {}", journeys.len());
        journeys.sort_by_key(|journey| journey.sequence);
        for pair in journeys.windows(2) {
            assert!(pair[0].arrived <= pair[1].arrived, "{file}: packet {} overtakes", pair[1].sequence);
            let starts = |ix: usize| pair[ix].hops[0].started.unwrap();
            assert!(starts(0) < starts(1), "{file}: packet {} starts too early", pair[1].sequence);
        }
    }
}

/// A change without an interval keeps the one that the flow has: that of the change before it.
#[test]
fn a_second_change_keeps_the_interval() {
    let network = network("panic1.toml");
    let [first, second] = [0, 1].map(|ix| network.flows[1].life.changes[ix].contract.interval);
    assert_eq!((first, second), (Some(Span::from_millis(100)), Some(Span::from_millis(100))));
    let world = run(&network, &series());
    let warnings: f64 = world.series().unwrap().values(Subject::Group(1), "warnings").iter().sum();
    assert_eq!(warnings, world.checks(1).warnings as f64);
    assert!(warnings >= 5.0, "a flow at twice its reservation is warned: {warnings}");
}

/// While a packet waits at a port that conserves work, the link sends: what it sent before the packet takes as long as the
/// packet waited, but for what was in service when it came. It waits from when its flow's envelope let it go.
#[test]
fn a_packet_waits_for_what_is_served_before_it() {
    for (file, keep) in [("over.toml", 20), ("envx.toml", usize::MAX)] {
        // With debug assertions every packet of the queue is looked at in every event.
        let network = network_with(file, &[("duration".to_owned(), "1s".to_owned())]);
        for flow in 0..network.flows.len() {
            let probes = Probes { watch: Some(Watch::new(flow as u32, keep)), ..Probes::default() };
            let world = run(&network, &probes);
            let watch = world.watch().unwrap();
            assert!(watch.slowest().len() >= 10);
            for hop in watch.slowest().iter().flat_map(|journey| &journey.hops) {
                let rate = network.links[hop.link as usize].rate;
                let served = watch.served_before(hop);
                let bytes: u64 = served.iter().map(|one| one.bytes).sum();
                let waited = hop.started.unwrap().since(hop.arrived);
                let (took, one) = (rate.time_for(bytes as u32), rate.time_for(network.flows[flow].largest));
                assert!(took <= waited && waited <= took + one, "{hop:?}");
                assert_eq!(hop.queue.is_none(), hop.held > Span::ZERO);
                let packets: u64 = served.iter().map(|one| one.packets).sum();
                assert_eq!(
                    hop.queue.map_or(packets, |queue| queue.saturating_sub(1)),
                    packets,
                    "first in, first out"
                );
            }
        }
    }
}
