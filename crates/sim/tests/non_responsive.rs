//! Flows found not to respond to congestion: no TCP, and every source that keeps its rate.

#[path = "common/long.rs"]
mod long;
#[path = "common/tcp.rs"]
mod settings;

use settings::{CUBIC, RENO_1990, SACK};
use std::path::Path;
use tidegate_core::context::Reason;
use tidegate_core::units::Time;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

const RED: &str = "dropper = { kind = \"red\", min_th = \"10p\", max_th = \"30p\", max_p = 0.02, limit = \"200p\", \
                   mean_packet = \"1500B\" }";
const STEEP_RED: &str = "dropper = { kind = \"red\", min_th = \"5p\", max_th = \"15p\", max_p = 0.1, limit = \"60p\", \
                         slope = \"gentle\", mean_packet = \"1500B\" }";
const RIO: &str = "dropper = { kind = \"rio\", min_in = \"40p\", max_in = \"70p\", min_out = \"10p\", max_out = \"30p\", \
                   max_p_out = 0.2, limit = \"200p\", mean_packet = \"1500B\" }";

fn network(text: &str) -> Network {
    let scenario =
        Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assemble(&scenario).unwrap()
}

fn run(network: &Network, seed: u64) -> World<Calendar> {
    let mut world = World::new(network, seed, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ORIGIN).as_secs_f64()
}

/// Connections over one bottleneck, their packets tagged at their hosts: every other one has a
/// target rate, of which all make up nine tenths of the bottleneck.
struct Dumbbell<'t> {
    mbit: u32,
    round_trip: u32,
    connections: u32,
    settings: &'t str,
    dropper: &'t str,
    /// Keys of the detector.
    detector: &'t str,
    seconds: u32,
}

impl Dumbbell<'_> {
    /// The scenario with more flows.
    fn text(&self, more: &str) -> String {
        let Dumbbell { mbit, round_trip, connections, settings, dropper, detector, seconds } = self;
        let pairs = connections + 1;
        let mut text = format!(
            "version = 1\nduration = \"{seconds}s\"\n\
             topology = {{ kind = \"dumbbell\", pairs = {pairs}, rate = \"{mbit}mbit\", delay = \"{}us\", \
             access = {{ rate = \"1gbit\" }} }}\n\
             host = {{ meter = {{ kind = \"tsw-tagger\", window = \"100ms\" }} }}\n\
             port = {{ {dropper}, detector = {{ {detector} }} }}\n",
            round_trip * 500
        );
        let target = 900 * mbit / connections.div_ceil(2);
        for nth in 1..=*connections {
            let reserve = if nth % 2 == 1 { format!("reserve = \"{target}kbit\"\n") } else { String::new() };
            text += &format!(
                "[[connection]]\nname = \"c{nth}\"\nfrom = \"l{nth}\"\nto = \"r{nth}\"\nsize = \"1500B\"\n{reserve}\
                 every = \"200ms\"\ntransport = {{ kind = \"tcp\", stack = \"rfc\", {settings}, \
                 receiver_window = \"4MB\", header = \"40B\" }}\n"
            );
        }
        text + more
    }
}

/// Alone, where it has all drops, and among others; at short and long round-trip times; with every
/// setting of TCP.
#[test]
fn no_tcp_is_named() {
    let guards = [
        (RED, "drops = \"all\""),
        (STEEP_RED, "drops = \"all\""),
        (RIO, "drops = \"out\""),
        (RIO, "drops = \"all\""),
    ];
    let mut cases = Vec::new();
    for mbit in if long::is_long() { vec![4, 10, 33, 100] } else { vec![4, 10] } {
        for round_trip in [5, 20, 100, 300] {
            for connections in [1, 2, 5, 10, 50] {
                for settings in [RENO_1990, SACK, CUBIC] {
                    cases.extend(guards.map(|guard| (mbit, round_trip, connections, settings, guard)));
                }
            }
        }
    }
    // A part of them has all rates, times, numbers, settings and droppers.
    let step = if long::is_long() { 1 } else { 11 };
    let (mut named, mut lost) = (Vec::new(), 0);
    for (mbit, round_trip, connections, settings, (dropper, detector)) in cases.into_iter().step_by(step) {
        let seconds = if long::is_long() { 30 } else { 8 };
        let dumbbell = Dumbbell { mbit, round_trip, connections, settings, dropper, detector, seconds };
        let network = network(&dumbbell.text(""));
        let world = run(&network, u64::from(connections));
        let bottleneck = network.links.iter().position(|link| link.name == "left->right").unwrap();
        lost += world.link(bottleneck).dropped;
        named.extend(world.non_responsive().iter().map(|found| {
            let (flow, link) = (&network.flows[found.flow as usize].name, &network.links[found.link as usize].name);
            let at = self::seconds(found.named);
            format!("{flow} on {link} at {at} s: {mbit} Mbit/s, {round_trip} ms, {connections} {settings}, {dropper}")
        }));
    }
    assert!(lost > 2_000, "{lost}");
    assert!(named.is_empty(), "{} were named:\n{}", named.len(), named.join("\n"));
}

/// A constant bit rate.
fn constant(mbit: f64, more: &str, pair: u32) -> String {
    format!(
        "[[flow]]\nname = \"cbr\"\nfrom = \"l{pair}\"\nto = \"r{pair}\"\nsize = \"1500B\"\n{more}\
         source = {{ kind = \"cbr\", rate = \"{}bit\" }}\n",
        (mbit * 1e6) as u64
    )
}

/// Within 5 s: out of profile, at half the rate of a link of which targets leave a tenth; and at
/// one and a half times the rate of the link, on all drops.
#[test]
fn a_constant_rate_above_its_share_is_named() {
    for (dropper, detector, share) in
        [(RIO, "drops = \"out\"", 0.5), (RED, "drops = \"all\"", 1.5), (STEEP_RED, "drops = \"all\"", 1.5)]
    {
        for connections in [1, 10] {
            for (round_trip, settings) in [(20, RENO_1990), (100, CUBIC)] {
                let dumbbell =
                    Dumbbell { mbit: 10, round_trip, connections, settings, dropper, detector, seconds: 7 };
                let network = network(&dumbbell.text(&constant(10.0 * share, "", connections + 1)));
                let world = run(&network, 1);
                let who: Vec<_> = world
                    .non_responsive()
                    .iter()
                    .map(|found| (network.flows[found.flow as usize].name.as_str(), seconds(found.named)))
                    .collect();
                let case = format!("{dropper}: {connections} {settings}, {round_trip} ms: {who:?}");
                assert!(matches!(who[..], [("cbr", at)] if at <= 5.0), "{case}");
            }
        }
    }
}

/// Times at which the detector named and released a source that stops after it was named, and one
/// that goes on.
#[test]
fn a_source_is_released_when_it_backs_off_and_not_before() {
    for action in ["report", "police"] {
        for (stop, released) in [(None, false), (Some(6), true)] {
            let detector = format!("action = \"{action}\", release_after = \"4s\"");
            let dumbbell = Dumbbell {
                mbit: 10,
                round_trip: 50,
                connections: 4,
                settings: SACK,
                dropper: RIO,
                detector: &detector,
                seconds: 14,
            };
            let more = stop.map_or(String::new(), |stop| format!("stop = \"{stop}s\"\n"));
            let network = network(&dumbbell.text(&constant(3.0, &more, 5)));
            let world = run(&network, 1);
            let [found] = world.non_responsive() else { panic!("{:?}", world.non_responsive()) };
            assert_eq!(network.flows[found.flow as usize].name, "cbr");
            assert_eq!(found.released.is_some(), released, "{action}, {stop:?}");
            if let Some((at, stop)) = found.released.zip(stop) {
                // Up to a window after its last excess packet, and a packet of others.
                let waited = seconds(at) - f64::from(stop);
                assert!(waited > 3.5 && waited < 4.2, "{action}: {waited}");
            }
        }
    }
}

/// Traffic inside its profile passes, and no more.
#[test]
fn who_is_policed_is_held_to_its_profile() {
    for (action, least, most) in [("report", 1.1, 6.0), ("police", 0.98, 1.02)] {
        let dumbbell = Dumbbell {
            mbit: 10,
            round_trip: 50,
            connections: 4,
            settings: SACK,
            dropper: RIO,
            detector: &format!("action = \"{action}\""),
            seconds: 14,
        };
        let more = "reserve = \"1mbit\"\nworkahead = \"15kB\"\n";
        let text = dumbbell.text(&constant(6.0, more, 5));
        let text = text.replace("kind = \"tsw-tagger\", window = \"100ms\"", "kind = \"srtcm\"");
        let text = text.replace("reserve = \"4500kbit\"", "reserve = \"3000kbit\"\nworkahead = \"30kB\"");
        let network = network(&text.replace("duration", "warmup = \"4s\"\nduration"));
        let world = run(&network, 1);
        let ix = network.flows.iter().position(|flow| flow.name == "cbr").unwrap();
        let mbit = world.records()[ix].received.1 as f64 * 8.0 / 10.0 / 1e6;
        assert!(mbit > least && mbit < most, "{action}: {mbit} Mbit/s");
        let at = (0..network.links.len()).find(|ix| network.links[*ix].name == "left->right").unwrap();
        let policed = world.drops(at).find(|(reason, _)| *reason == Reason::NonResponsive);
        assert_eq!(policed.is_some(), action == "police");
    }
}
