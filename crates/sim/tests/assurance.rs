//! Probability of assurance: a case by hand, and a slow count of every window from the log of
//! packets.

mod common;

use common::run_with;
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::assurance::{Scope, Windows};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

fn network(text: &str) -> Network {
    assemble(&Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap()).unwrap()
}

fn run(network: &Network, seed: u64) -> World<Calendar> {
    run_with(network, seed, &Probes { log: true, ..Probes::default() })
}

/// Windows by profile or flow, kind of scope and destination.
fn found(network: &Network, world: &World<Calendar>) -> BTreeMap<[String; 3], (u64, u64, u64)> {
    let scopes = &network.assurance.as_ref().unwrap().scopes;
    let rows = scopes.iter().zip(world.assurance());
    rows.map(|(scope, Windows { whole, attained })| {
        let who = format!("{}{}", scope.profile, scope.flow);
        ([who, scope.scope.name().to_owned(), scope.to.clone()], (scope.target, whole, attained))
    })
    .collect()
}

/// 20 packets of 500 bytes a second are 80 kbit/s. Two flows of a profile of 120 kbit/s overlap for
/// two of four seconds; each alone has two thirds of the target. A flow with a contract of its own
/// has its rate until it ends, a second before the run.
#[test]
fn a_case_by_hand() {
    let network = network(
        "version = 1\nduration = \"8s\"\nwarmup = \"1s\"\ntopology = { kind = \"star\", hosts = 4, rate = \"10mbit\" }\n\
         assurance = { window = \"1s\", scope = [{ name = \"both\", to = [\"h2\", \"h3\"] }, { name = \"one\", to = \"h3\" }] }\n\
         profile = [{ name = \"p\", reserve = \"120kbit\" }, { name = \"unused\", reserve = \"1mbit\" }]\n\
         flow = [\n\
         { name = \"a\", from = \"h1\", to = \"h2\", size = \"500B\", profile = \"p\", start = \"20ms\", stop = \"5020ms\", \
         source = { kind = \"cbr\", rate = \"80kbit\" } },\n\
         { name = \"b\", from = \"h1\", to = \"h3\", size = \"500B\", profile = \"p\", start = \"3020ms\", stop = \"7020ms\", \
         source = { kind = \"cbr\", rate = \"80kbit\" } },\n\
         { name = \"own\", from = \"h1\", to = \"h4\", size = \"500B\", reserve = \"80kbit\", stop = \"7020ms\", start = \"1ms\", \
         source = { kind = \"cbr\", rate = \"80kbit\" } },\n\
         { name = \"best-effort\", from = \"h1\", to = \"h4\", size = \"500B\", source = { kind = \"cbr\", rate = \"80kbit\" } }]\n",
    );
    let all = found(&network, &run(&network, 1));
    let row = |who: &str, scope: &str, to: &str, target, whole, attained| {
        ([who, scope, to].map(String::from), (target, whole, attained))
    };
    // Windows begin at 1 s. Of `a`, 1 to 5 s are whole; of `b`, 4 to 7 s; of the two, 1 to 7 s.
    let expected = [
        row("p", "destination", "h2", 120_000, 4, 0),
        row("p", "destination", "h3", 120_000, 3, 0),
        row("p", "set", "both", 120_000, 6, 2),
        row("p", "set", "one", 120_000, 3, 0),
        row("p", "anywhere", "", 120_000, 6, 2),
        row("own", "destination", "h4", 80_000, 6, 6),
    ];
    assert_eq!(all, expected.into());
}

/// Random traffic through a narrow link, profiles used together, divided by weights, and of a link.
fn crossing(rng: &mut Rng) -> (String, u64) {
    let window = 50 + 10 * rng.below(40);
    let target = 200 + 100 * rng.below(8);
    let text = format!(
        "version = 1\nduration = \"20s\"\nwarmup = \"1234ms\"\n\
         port = {{ dropper = {{ kind = \"drop-tail\", limit = \"20p\" }} }}\n\
         assurance = {{ window = \"{window}ms\", scope = [{{ name = \"s\", to = [\"d\", \"e\"] }}] }}\n\
         node = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}, {{ name = \"d\" }}, {{ name = \"e\" }}]\n\
         link = [{{ from = \"a\", to = \"b\", rate = \"3mbit\", delay = \"3ms\", meter = \"srtcm\", profile = \"link\" }},\n\
         {{ from = \"b\", to = \"c\", rate = \"2mbit\" }}, {{ from = \"b\", to = \"d\", rate = \"2mbit\", delay = \"9ms\" }},\n\
         {{ from = \"b\", to = \"e\", rate = \"2mbit\" }}]\n\
         profile = [{{ name = \"link\", reserve = \"{}kbit\", workahead = \"9kB\" }}, {{ name = \"p\", reserve = \"{target}kbit\" }}, \
         {{ name = \"q\", reserve = \"{target}kbit\" }}]\n\
         flow = [\n\
         {{ name = \"f\", from = \"a\", to = \"c\", size = \"700B\", profile = \"p\", source = {{ kind = \"poisson\", rate = \"500kbit\" }} }},\n\
         {{ name = \"g\", from = \"a\", to = \"d\", size = \"900B\", profile = \"p\", source = {{ kind = \"on-off\", rate = \"400kbit\", peak = \"4mbit\", burst = 30 }} }},\n\
         {{ name = \"h\", from = \"a\", to = \"d\", size = \"500B\", count = 2, profile = \"q\", weight = 3, every = \"2s\", source = {{ kind = \"poisson\", rate = \"300kbit\" }} }},\n\
         {{ name = \"i\", from = \"a\", to = \"e\", size = \"500B\", profile = \"q\", weight = 2, lasts = \"9s\", source = {{ kind = \"poisson\", rate = \"300kbit\" }} }},\n\
         {{ name = \"j\", from = \"a\", to = \"e\", size = \"500B\", reserve = \"250kbit\", source = {{ kind = \"poisson\", rate = \"260kbit\" }} }},\n\
         {{ name = \"m\", from = \"a\", to = [\"c\", \"e\"], size = \"500B\", reserve = \"200kbit\", source = {{ kind = \"poisson\", rate = \"210kbit\" }} }}]\n",
        3 * target,
    );
    (text, window)
}

#[test]
fn every_window_is_that_of_the_log() {
    let mut rng = Rng::named(1, "assurance");
    let (mut kept, mut broken, mut partial) = (0, 0, 0);
    for seed in 1..=8 {
        let (text, window) = crossing(&mut rng);
        let network = network(&text);
        let world = run(&network, seed);
        let ticks = |ms: u64| ms * (TICKS_PER_SECOND / 1000);
        let mut lengths = BTreeMap::new();
        let mut received = Vec::new();
        for entry in world.log() {
            match entry.what {
                PacketEvent::Arrived { packet, len } => {
                    lengths.insert(packet, len);
                }
                PacketEvent::Received(packet) => {
                    let node = network.links[entry.link as usize].to;
                    received.push((
                        entry.at.since(Time::ORIGIN).ticks(),
                        packet.flow,
                        node,
                        u64::from(lengths[&packet]),
                    ));
                }
                _ => {}
            }
        }
        let plan = network.assurance.as_ref().unwrap();
        assert_eq!(plan.window, Span::from_millis(window));
        assert_eq!(plan.scopes.len(), 3 + 2 + 4 + 4 + 1 + 2);
        for (scope, windows) in plan.scopes.iter().zip(world.assurance()) {
            let counts = |flow, node| match scope.scope {
                Scope::Destination(other) => scope.flows.contains(&flow) && node == other,
                _ => scope.flows.contains(&flow),
            };
            let whole = (ticks(20_000) - ticks(1_234)) / ticks(window);
            let mut attained = 0;
            for nth in 0..whole {
                let (began, ended) =
                    (ticks(1_234) + nth * ticks(window), ticks(1_234) + (nth + 1) * ticks(window));
                let inside = received
                    .iter()
                    .filter(|(at, flow, node, _)| *at > began && *at <= ended && counts(*flow, *node));
                let bits: u64 = inside.map(|(.., len)| 8 * len).sum();
                attained += u64::from(bits as f64 >= scope.target as f64 * window as f64 / 1000.0);
            }
            // Members that start at random, and the one that stops, have fewer windows.
            let lives = scope.flows.iter().any(|flow| {
                let life = &network.flows[*flow as usize].life;
                life.every.is_some() || life.lasts.is_some()
            });
            match lives {
                true => assert!(windows.whole <= whole && windows.attained <= windows.whole),
                false => assert_eq!((windows.whole, windows.attained), (whole, attained), "{scope:?}"),
            }
            kept += windows.attained;
            broken += windows.whole - windows.attained;
            partial += u64::from(windows.whole < whole);
        }
    }
    assert!(kept > 100 && broken > 100 && partial > 5, "{kept}, {broken}, {partial}");
}

/// The measurement changes no packet.
#[test]
fn it_changes_no_outcome() {
    let mut rng = Rng::named(2, "assurance");
    for seed in 1..=4 {
        let (text, _) = crossing(&mut rng);
        let mut network = network(&text);
        let with = run(&network, seed).fingerprint();
        network.assurance = None;
        assert_eq!(run(&network, seed).fingerprint(), with);
    }
}
