//! Equal-cost multipath: flows spread over the shortest paths, each on one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tidegate_formats::{Scenario, route};
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

fn parse(text: &str) -> Scenario {
    let text = format!("version = 1\n{text}");
    Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn flows(name: &str, count: u32, from: &str, to: &str, rate: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"125B\"\n\
         source = {{ kind = \"cbr\", rate = \"{rate}\" }}\n"
    )
}

/// Two leaves with this many spines.
fn leaf_spine(spines: u32, routing: &str, flows: &str) -> Scenario {
    parse(&format!(
        "duration = \"1s\"\nrouting = {{ {routing} }}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 2, spines = {spines}, hosts = 2, rate = \"1gbit\" }}\n{flows}"
    ))
}

/// The names of the nodes that each flow passes, by its name.
fn paths(scenario: &Scenario, network: &Network) -> BTreeMap<String, Vec<String>> {
    let name = |link: &usize| scenario.nodes[scenario.links[*link].to].name.clone();
    network.flows.iter().map(|flow| (flow.name.clone(), flow.route.iter().map(name).collect())).collect()
}

fn paths_of(scenario: &Scenario) -> BTreeMap<String, Vec<String>> {
    paths(scenario, &assemble(scenario).unwrap())
}

/// Checks that counts are those of N flows with these probabilities, each within the 99.9 %
/// interval of its binomial distribution, and all by Pearson's statistic.
fn assert_binomial<'c>(counts: impl IntoIterator<Item = (&'c str, u32, f64)>, flows: f64) {
    let (mut statistic, mut cells) = (0.0, 0);
    for (name, count, share) in counts {
        let (expected, deviation) = (flows * share, (flows * share * (1.0 - share)).sqrt());
        let off = f64::from(count) - expected;
        assert!(off.abs() < 3.29 * deviation, "{name}: {count} of {expected}");
        (statistic, cells) = (statistic + off * off / expected, cells + 1);
    }
    // Wilson and Hilferty: the 99.9 % quantile of χ².
    let free = f64::from(cells - 1);
    let most = free * (1.0 - 2.0 / (9.0 * free) + 3.09 * (2.0 / (9.0 * free)).sqrt()).powi(3);
    // A hash that deals flows out in turn is no hash.
    assert!(statistic < most && statistic > 1e-3 * free, "{statistic} {most}");
}

/// Number of flows through each node of a path.
fn through(paths: &BTreeMap<String, Vec<String>>, place: usize) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    paths.values().for_each(|path| *counts.entry(path[place].as_str()).or_default() += 1);
    counts
}

#[test]
fn flows_spread_over_equal_paths_within_the_binomial_interval() {
    for spines in [4, 8] {
        for seed in [1, 2] {
            let routing = format!("kind = \"ecmp\", seed = {seed}");
            let scenario = leaf_spine(spines, &routing, &flows("f", 10_000, "h1", "h3", "1kbit"));
            let paths = paths_of(&scenario);
            assert_eq!(paths.len(), 10_000);
            assert!(paths.values().all(|path| path.len() == 4 && path[0] == "leaf1" && path[2] == "leaf2"));
            let counts = through(&paths, 1);
            assert_eq!(counts.len(), spines as usize);
            assert_binomial(
                counts.into_iter().map(|(name, count)| (name, count, 1.0 / f64::from(spines))),
                1e4,
            );
        }
    }
}

/// Each switch has a hash of its own: the core switch does not follow from the aggregation switch.
#[test]
fn every_path_of_a_fat_tree_has_its_share() {
    let scenario = parse(&format!(
        "duration = \"1s\"\nrouting = \"ecmp\"\ntopology = {{ kind = \"fat-tree\", k = 8, rate = \"1gbit\" }}\n{}",
        flows("f", 10_000, "h1", "h128", "1kbit")
    ));
    let paths = paths_of(&scenario);
    assert!(paths.values().all(|path| path.len() == 6));
    let cores = through(&paths, 2);
    assert_eq!(cores.len(), 16);
    assert_binomial(cores.into_iter().map(|(name, count)| (name, count, 1.0 / 16.0)), 1e4);
}

#[test]
fn the_same_seed_gives_the_same_paths_whatever_other_flows_there_are() {
    let of = |routing: &str, others: &str| {
        let flows = format!("{others}{}", flows("f", 1_000, "h1", "h3", "1kbit"));
        let mut paths = paths_of(&leaf_spine(4, routing, &flows));
        paths.retain(|name, _| name.starts_with("f/"));
        paths
    };
    let (one, other) = ("kind = \"ecmp\", seed = 5", "kind = \"ecmp\", seed = 6");
    let first = of(one, "");
    assert_eq!(first, of(one, ""));
    assert_eq!(first, of(one, &flows("other", 50, "h2", "h4", "1kbit")));
    let second = of(other, "");
    let same = first.iter().filter(|(name, path)| second[*name] == **path).count();
    // A quarter of them by chance.
    assert!((200..300).contains(&same), "{same}");
}

/// A path is one of the shortest, also between a host and a switch, and a stated route is kept. The
/// members of a group keep their names and their order, and are one group in the results.
#[test]
fn paths_are_shortest_ones_and_groups_stay_whole() {
    let stated = flows("stated", 20, "h1", "h3", "1kbit")
        .replace("size", "route = [\"h1\", \"leaf1\", \"spine2\", \"leaf2\", \"h3\"]\nsize");
    let text = format!(
        "{}{}{}{stated}",
        flows("near", 5, "h1", "h2", "1kbit"),
        flows("far", 50, "h2", "h4", "1kbit"),
        flows("half", 50, "spine1", "spine2", "1kbit"),
    );
    let scenario = leaf_spine(3, "kind = \"ecmp\"", &text);
    let network = assemble(&scenario).unwrap();
    assert_eq!(network.groups, ["near", "far", "half", "stated"]);
    let expected: Vec<String> = [("near", 5), ("far", 50), ("half", 50), ("stated", 20)]
        .iter()
        .flat_map(|(name, count)| (1..=*count).map(move |member| format!("{name}/{member}")))
        .collect();
    assert_eq!(network.flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>(), expected);
    for flow in &network.flows {
        let (first, last) = (flow.route[0], flow.route[flow.route.len() - 1]);
        let (from, to) = (scenario.links[first].from, scenario.links[last].to);
        assert_eq!(flow.route.len(), route(&scenario, from, to).unwrap().len(), "{}", flow.name);
        assert!(flow.route.windows(2).all(|two| scenario.links[two[0]].to == scenario.links[two[1]].from));
    }
    let paths = paths(&scenario, &network);
    let different = |name: &str| {
        paths
            .iter()
            .filter(|(of, _)| of.starts_with(name))
            .map(|(_, path)| path)
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!([different("near"), different("far"), different("half"), different("stated")], [1, 3, 2, 1]);
}

/// Parallel links of 10 and 20 Mbit/s, which are offered 25 by many flows: in proportion to their
/// rates they carry all, and alike the slower one carries 10 of 12.5.
#[test]
fn parallel_links_carry_what_their_rates_allow() {
    let run = |weighted: bool| {
        let scenario = parse(&format!(
            "duration = \"20s\"\nwarmup = \"1s\"\nrouting = {{ kind = \"ecmp\", weighted = {weighted} }}\n\
             switch = {{ buffer = \"200p\" }}\n\
             [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"20mbit\"\n{}",
            flows("f", 2_500, "a", "b", "10kbit").replace("125B", "1000B")
        ));
        let network = assemble(&scenario).unwrap();
        let mut world: World<Calendar> = World::new(&network, 1, &Probes::default()).unwrap();
        while !world.advance(1_000_000) {}
        let on_slow =
            network.flows.iter().filter(|flow| network.links[flow.route[0]].rate.bits_per_second() < 15e6);
        let bytes: u64 = world.records().iter().map(|record| record.received.1).sum();
        (on_slow.count() as u32, bytes as f64 * 8.0 / 19.0 / 1e6)
    };
    let (slow, carried) = run(true);
    assert_binomial([("10", slow, 1.0 / 3.0), ("20", 2_500 - slow, 2.0 / 3.0)], 2_500.0);
    assert!((carried / 25.0 - 1.0).abs() < 0.002, "{carried}");
    let (slow, carried) = run(false);
    assert_binomial([("10", slow, 0.5), ("20", 2_500 - slow, 0.5)], 2_500.0);
    // The slower link is full, and the other carries all of its flows. Packets that are in the
    // queue of at most 200 at the end of the warm-up do not count.
    let (expected, queue) = (10.0 + f64::from(2_500 - slow) * 0.01, 200.0 * 8e-3 / 19.0);
    let less = expected - carried;
    assert!(less > -0.01 && less < queue + 0.01, "{carried} {expected}");
}

/// Data and acknowledgements of a connection each take a path of their own, and all of it arrives.
#[test]
fn both_directions_of_a_connection_have_a_path() {
    let scenario = leaf_spine(
        4,
        "kind = \"ecmp\"",
        "[[connection]]\nname = \"c\"\ncount = 200\nfrom = \"h1\"\nto = \"h3\"\nsize = \"1500B\"\ntransport = \"tcp\"\n\
         data = { kind = \"transfers\", size = \"20kB\", arrivals = \"poisson\", load = 0.1, once = true }\n",
    );
    let network = assemble(&scenario).unwrap();
    assert_eq!(network.groups, ["c", "c/ack"]);
    let paths = paths(&scenario, &network);
    let mut together = 0;
    for (ix, flow) in network.flows.iter().enumerate() {
        let peer = &network.flows[flow.peer.unwrap()];
        assert_eq!(peer.peer, Some(ix));
        if let Some(member) = flow.name.strip_prefix("c/ack/") {
            assert_eq!(peer.name, format!("c/{member}"));
            together += u32::from(paths[&flow.name][1] == paths[&peer.name][1]);
        }
    }
    // A quarter of 200, within the 99.9 % interval.
    assert!((30..=70).contains(&together), "{together}");
    let mut world: World<Calendar> = World::new(&network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    let ended =
        (0..network.flows.len()).flat_map(|ix| world.transfers(ix)).filter(|(_, one)| one.ended.is_some());
    assert_eq!(ended.count(), 200);
    // Starts of the members follow each other: they are of one Poisson process.
    let data = network.flows.iter().enumerate().filter(|(_, flow)| !flow.name.contains("ack"));
    let starts: Vec<_> = data.map(|(ix, _)| world.transfers(ix).next().unwrap().1.began).collect();
    assert!(starts.windows(2).all(|two| two[0] < two[1]));
}

/// Transfers among hosts offer the load of all their links together, all end, and are one group.
#[test]
fn transfers_among_hosts_offer_their_load() {
    let among = |pairs: &str, load: f64| {
        let scenario = leaf_spine(
            2,
            "kind = \"ecmp\"",
            &format!(
                "[[connection]]\nname = \"c\"\ncount = 2000\namong = {{ pairs = \"{pairs}\" }}\nsize = \"1500B\"\n\
                 transport = \"tcp\"\ndata = {{ kind = \"transfers\", size = \"10kB\", arrivals = \"poisson\", \
                 load = {load}, once = true }}\n"
            ),
        );
        let network = assemble(&scenario).unwrap();
        assert_eq!(network.groups, ["c", "c/ack"]);
        let mut world: World<Calendar> = World::new(&network, 1, &Probes::default()).unwrap();
        while !world.advance(1_000_000) {}
        let transfers: Vec<_> = (0..network.flows.len()).flat_map(|ix| world.transfers(ix)).collect();
        assert!(transfers.len() == 2_000 && transfers.iter().all(|(_, one)| one.ended.is_some()), "{pairs}");
        let last = transfers.iter().map(|(_, one)| one.began).max().unwrap();
        last.since(tidegate_core::units::Time::ORIGIN).as_secs_f64()
    };
    // Hosts have links of 1 Gbit/s: four send, or one receives.
    for (pairs, hosts) in [("all-to-all", 4.0), ("permutation", 4.0), ("incast", 1.0)] {
        let span = among(pairs, 0.3);
        let expected = 2_000.0 * 80_000.0 / (0.3 * hosts * 1e9);
        assert!((span / expected - 1.0).abs() < 3.29 / 2_000f64.sqrt(), "{pairs}: {span} of {expected}");
    }
}
