//! Equal-cost multipath for each packet: packets of a flow are spread over its shortest paths.

mod common;

use common::rate;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::input::TraceFlow;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::world::World;

const PER_PACKET: &str = "kind = \"ecmp\", per = \"packet\"";

fn parse(text: &str) -> Scenario {
    let text = format!("version = 1\n{text}");
    Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn leaf_spine(spines: u32, routing: &str, duration: &str, flows: &str) -> Scenario {
    parse(&format!(
        "duration = \"{duration}\"\nrouting = {{ {routing} }}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 2, spines = {spines}, hosts = 2, rate = \"100mbit\" }}\n{flows}"
    ))
}

fn flow(name: &str, from: &str, to: &str, source: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"1000B\"\nsource = {{ {source} }}\n"
    )
}

fn played(network: &Network, seed: u64, probes: &Probes) -> World<Calendar> {
    let mut world: World<Calendar> = World::new(network, seed, probes).unwrap();
    while !world.advance(1_000_000) {}
    world
}

/// Packets sent over each link, by its name.
fn carried(network: &Network, world: &World<Calendar>) -> BTreeMap<String, u64> {
    let links = network.links.iter().enumerate();
    links.map(|(ix, link)| (link.name.clone(), world.link(ix).sent.0)).collect()
}

/// Checks that counts are those of packets with these probabilities, each within the 99.9 %
/// interval of its binomial distribution.
fn assert_binomial(counts: &[(u64, f64)], packets: u64) {
    assert_eq!(counts.iter().map(|(count, _)| count).sum::<u64>(), packets);
    for (count, share) in counts {
        let packets = packets as f64;
        let (expected, deviation) = (packets * share, (packets * share * (1.0 - share)).sqrt());
        assert!((*count as f64 - expected).abs() < 3.29 * deviation, "{count} of {expected}");
    }
}

#[test]
fn packets_of_one_flow_take_each_path_with_its_share() {
    let flow = flow("f", "h1", "h3", "kind = \"poisson\", rate = \"80mbit\"");
    for spines in [4, 8] {
        let network = assemble(&leaf_spine(spines, PER_PACKET, "2s", &flow)).unwrap();
        let world = played(&network, 1, &Probes::default());
        let by_link = carried(&network, &world);
        let sent = by_link["h1->leaf1"];
        let counts =
            (1..=spines).map(|nth| (by_link[&format!("leaf1->spine{nth}")], 1.0 / f64::from(spines)));
        assert_binomial(&counts.collect::<Vec<_>>(), sent);
        assert_eq!(world.records()[0].received.0, by_link["leaf2->h3"]);
        assert!(sent > 19_000);
    }
}

/// Each switch chooses for itself: a fat tree's 16 paths all have the same share, and where a node
/// has more links than another, those behind it have less.
#[test]
fn shares_of_paths_are_products_of_choices() {
    let tree = parse(&format!(
        "duration = \"1s\"\nrouting = {{ {PER_PACKET} }}\ntopology = {{ kind = \"fat-tree\", k = 8, rate = \"1gbit\" }}\n{}",
        flow("f", "h1", "h128", "kind = \"poisson\", rate = \"100mbit\"")
    ));
    let paths = tree.groups[0].paths.as_ref().unwrap();
    assert_eq!((paths.length, paths.shares.len()), (6, 16));
    assert!(paths.shares.iter().all(|share| (share - 1.0 / 16.0).abs() < 1e-12));
    // Host, edge, 4 aggregation switches, 16 cores, and back.
    assert_eq!(tree.groups[0].route.len(), 1 + 4 + 16 + 16 + 4 + 1);

    // From a over b, or over c and one of three parallel links. Over c they are 40 of 60 Mbit/s.
    let uneven = |weighted: bool| {
        let link = |from: &str, to: &str, rate: u32| {
            format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}mbit\"\n")
        };
        let nodes: String =
            ["a", "b", "c", "d"].map(|name| format!("[[node]]\nname = \"{name}\"\n")).concat();
        let links =
            [("a", "b", 20), ("b", "d", 20), ("a", "c", 40), ("c", "d", 10), ("c", "d", 10), ("c", "d", 20)];
        let links: String = links.map(|(from, to, rate)| link(from, to, rate)).concat();
        let text = format!(
            "duration = \"4s\"\nrouting = {{ {PER_PACKET}, weighted = {weighted} }}\n{nodes}{links}{}",
            flow("f", "a", "d", "kind = \"poisson\", rate = \"20mbit\"")
        );
        let network = assemble(&parse(&text)).unwrap();
        let by_link = carried(&network, &played(&network, 3, &Probes::default()));
        (by_link, network.flows[0].paths.clone().unwrap().shares.clone())
    };
    let (by_link, shares) = uneven(false);
    let sixth = 1.0 / 6.0;
    assert!(shares.iter().zip([0.5, sixth, sixth, sixth]).all(|(one, other)| (one - other).abs() < 1e-12));
    let over = |by_link: &BTreeMap<String, u64>, name: &str| by_link[name];
    let counts = ["b->d", "c->d", "c->d#2", "c->d#3"].map(|name| over(&by_link, name));
    assert_binomial(&counts.into_iter().zip(shares).collect::<Vec<_>>(), counts.iter().sum());
    let (by_link, shares) = uneven(true);
    let counts = ["b->d", "c->d", "c->d#2", "c->d#3"].map(|name| over(&by_link, name));
    assert!(
        shares
            .iter()
            .zip([1.0 / 3.0, sixth, sixth, 1.0 / 3.0])
            .all(|(one, other)| (one - other).abs() < 1e-12)
    );
    assert_binomial(&counts.into_iter().zip(shares).collect::<Vec<_>>(), counts.iter().sum());
}

#[test]
fn choices_are_of_the_seed_and_of_the_flow() {
    let one = flow("f", "h1", "h3", "kind = \"cbr\", rate = \"10mbit\"");
    let other = flow("g", "h2", "h4", "kind = \"poisson\", rate = \"10mbit\"");
    let taken = |flows: &str, seed: u64| {
        let network = assemble(&leaf_spine(4, PER_PACKET, "1s", flows)).unwrap();
        let captured = (0..network.links.len() as u32).collect();
        let mut world = played(&network, seed, &Probes { captured, ..Probes::default() });
        let packets = world.take_captured();
        let up = packets
            .iter()
            .filter(|packet| network.links[packet.link as usize].name.starts_with("leaf1->spine"));
        let flow = network.flows.iter().position(|flow| flow.name == "f").unwrap() as u32;
        up.filter(|packet| packet.flow == flow)
            .map(|packet| (packet.sequence, network.links[packet.link as usize].name.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let first = taken(&one, 1);
    assert!(first.len() > 1_200);
    assert_eq!(first, taken(&one, 1));
    assert_eq!(first, taken(&format!("{other}{one}"), 1));
    let second = taken(&one, 2);
    let same = first.iter().filter(|(sequence, name)| second.get(sequence) == Some(name)).count();
    // A quarter of 1,250 by chance, within the 99.9 % interval.
    assert!((262..=363).contains(&same), "{same}");
}

/// A spread flow does what flows with stated routes do that play its packets, each on the path that
/// it took: every port of a switch sends the same bytes after the same waits.
#[test]
fn paths_carry_what_flows_with_stated_routes_would() {
    for seed in 1..=3 {
        let spread = ["h1", "h2"].map(|from| {
            flow(&format!("of-{from}"), from, "h3", "kind = \"poisson\", rate = \"60mbit\"")
                .replace("size", "stop = \"900ms\"\nsize")
        });
        let network = assemble(&leaf_spine(3, PER_PACKET, "1s", &spread.concat())).unwrap();
        let captured = (0..network.links.len() as u32).collect();
        let mut world = played(&network, seed, &Probes { captured, ..Probes::default() });
        let (mut left_host, mut spine_of) = (BTreeMap::new(), BTreeMap::new());
        for packet in world.take_captured() {
            let (key, name) = ((packet.flow, packet.sequence), &network.links[packet.link as usize].name);
            if name.ends_with("->leaf1") {
                left_host.insert(key, packet.at);
            } else if let Some(spine) = name.strip_prefix("leaf1->") {
                spine_of.insert(key, spine.to_owned());
            }
        }
        let stated: String = pairs()
            .map(|(from, spine)| {
                let route = format!("route = [\"{from}\", \"leaf1\", \"{spine}\", \"leaf2\", \"h3\"]\nsize");
                flow(&format!("{from}-{spine}"), from, "h3", "kind = \"cbr\", rate = \"1mbit\"")
                    .replace("size", &route)
            })
            .collect();
        let mut apart = assemble(&leaf_spine(3, PER_PACKET, "1s", &stated)).unwrap();
        let on_host_link =
            network.links.iter().find(|link| link.name == "h1->leaf1").unwrap().rate.time_for(1000);
        for ((from, spine), setup) in pairs().zip(&mut apart.flows) {
            assert_eq!(setup.name, format!("{from}-{spine}"));
            let ix = network.flows.iter().position(|flow| flow.name == format!("of-{from}")).unwrap() as u32;
            let times = spine_of.iter().filter(|((flow, _), on)| *flow == ix && **on == spine);
            let starts = times.map(|(key, _)| left_host[key].before(on_host_link).since(Time::ORIGIN));
            let packets = starts.map(|at| (at, 1000)).collect();
            let recording = TraceFlow { name: String::new(), packets, period: Span::ZERO, headers: None };
            setup.traffic = Traffic::Recorded { flow: Arc::new(recording), speed: 1.0, repeat: 1 };
        }
        let same = played(&apart, 9, &Probes::default());
        for (ix, link) in network.links.iter().enumerate().filter(|(_, link)| !link.name.starts_with('h')) {
            let (one, other) = (world.link(ix), same.link(ix));
            assert_eq!((one.sent, one.waited), (other.sent, other.waited), "{}", link.name);
        }
        let last = world.link(network.links.iter().position(|link| link.name == "leaf2->h3").unwrap());
        assert!(last.sent.0 > 10_000 && last.waited.1 > 0);
    }
}

/// The hosts that send, and the spines.
fn pairs() -> impl Iterator<Item = (&'static str, String)> {
    ["h1", "h2"].into_iter().flat_map(|from| (1..=3).map(move |nth| (from, format!("spine{nth}"))))
}

/// A Poisson process that is split at random is Poisson processes: each of four links is an M/D/1
/// queue with a quarter of the load (Pollaczek–Khinchine).
#[test]
fn links_behind_a_split_poisson_flow_are_m_d_1_queues() {
    let links = "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\n".repeat(4);
    let text = format!(
        "duration = \"{}s\"\nrouting = {{ {PER_PACKET} }}\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n{links}{}",
        if cfg!(debug_assertions) { 40 } else { 400 },
        flow("f", "a", "b", "kind = \"poisson\", rate = \"28mbit\"")
    );
    let network = assemble(&parse(&text)).unwrap();
    let (service, load) = (8e-4, 0.7);
    assert_eq!(network.links[0].rate, rate(10_000_000));
    let theory = load * service / (2.0 * (1.0 - load));
    // Means of ten replications over four links each, which are independent.
    let waits: Vec<f64> = (1..=10)
        .flat_map(|seed| {
            let world = played(&network, seed, &Probes::default());
            let wait = |ix: usize| {
                let (packets, ticks) = world.link(ix).waited;
                ticks as f64 / packets as f64 * 1e-11
            };
            (0..network.links.len())
                .filter(|ix| network.links[*ix].name.starts_with("a->"))
                .map(wait)
                .collect::<Vec<_>>()
        })
        .collect();
    let n = waits.len() as f64;
    assert_eq!(waits.len(), 40);
    let mean = waits.iter().sum::<f64>() / n;
    let deviation = (waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    // Student's t at 0.9995 with 39 degrees of freedom.
    let half = 3.558 * deviation / n.sqrt();
    assert!((mean - theory).abs() < half, "{mean} ± {half}, theory {theory}");
    assert!(half < 0.05 * theory, "the interval says nothing: {half}");
}

/// Parallel links of 10 and 20 Mbit/s carry 25 of one flow, in proportion to their rates.
#[test]
fn one_flow_fills_parallel_links() {
    let run = |weighted: bool| {
        let text = format!(
            "duration = \"20s\"\nwarmup = \"1s\"\nrouting = {{ {PER_PACKET}, weighted = {weighted} }}\nswitch = {{ buffer = \"200p\" }}\n\
             [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"20mbit\"\n{}",
            flow("f", "a", "b", "kind = \"cbr\", rate = \"25mbit\"")
        );
        let world = played(&assemble(&parse(&text)).unwrap(), 1, &Probes::default());
        world.records()[0].received.1 as f64 * 8.0 / 19.0 / 1e6
    };
    let all = run(true);
    assert!((all / 25.0 - 1.0).abs() < 1e-3, "{all}");
    // Alike: 12.5 are offered to 10.
    let alike = run(false);
    assert!((alike / 22.5 - 1.0).abs() < 0.01, "{alike}");
}

/// Packets overtake each other, and a connection still delivers all that it is given.
#[test]
fn connections_deliver_everything_out_of_order() {
    let connections = "[[connection]]\nname = \"c\"\ncount = 40\namong = { pairs = \"all-to-all\" }\nsize = \"1500B\"\n\
                       transport = \"tcp\"\ndata = { kind = \"transfers\", size = \"200kB\", arrivals = \"poisson\", \
                       load = 0.5, once = true }\n";
    let network = assemble(&leaf_spine(4, PER_PACKET, "60s", connections)).unwrap();
    let world = played(&network, 1, &Probes::default());
    let transfers: Vec<_> = (0..network.flows.len()).flat_map(|ix| world.transfers(ix)).collect();
    assert!(transfers.len() == 40 && transfers.iter().all(|(_, one)| one.ended.is_some()));
    assert_eq!(network.groups, ["c", "c/ack"]);
}

/// A greedy source with two links of its own follows its packets in the queue that each has taken.
#[test]
fn a_greedy_source_fills_both_of_its_links() {
    let link = "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\n".repeat(2);
    let text = format!(
        "duration = \"2s\"\nwarmup = \"1s\"\nrouting = {{ {PER_PACKET} }}\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n{link}{}",
        flow("f", "a", "b", "kind = \"greedy\", window = 64")
    );
    let network = assemble(&parse(&text)).unwrap();
    let world = played(&network, 1, &Probes::default());
    let carried = world.records()[0].received.1 as f64 * 8.0 / 1e6;
    assert!(carried > 18.0, "{carried}");
}

/// A flow is one at each port, however many of its paths pass there: classes count it once.
#[test]
fn a_port_on_several_paths_counts_a_packet_once() {
    let text = format!(
        "[[class]]\nname = \"c\"\npolicy = \"fifo\"\n{}",
        flow("f", "h1", "h3", "kind = \"cbr\", rate = \"10mbit\"").replace("size", "class = \"c\"\nsize")
    );
    let network = assemble(&leaf_spine(4, PER_PACKET, "1s", &text)).unwrap();
    let world = played(&network, 1, &Probes::default());
    let by_link = carried(&network, &world);
    for ((link, _), counts) in world.class_counts() {
        assert_eq!(counts.sent.packets, by_link[&network.links[link as usize].name]);
    }
    assert!(world.class_counts().len() == 1 + 4 + 4);
}
