//! Connections among sets of hosts: the pairs that they join.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tidegate_formats::Scenario;

fn parse(among: &str, count: u32, keys: &str) -> Result<Scenario, String> {
    let text = format!(
        "version = 1\nduration = \"1s\"\n{keys}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 3, spines = 2, hosts = 2, rate = \"40gbit\", \
         access = {{ rate = \"10gbit\" }} }}\n\
         [[connection]]\nname = \"c\"\ncount = {count}\n{among}\nsize = \"1500B\"\ntransport = \"tcp\"\n"
    );
    Scenario::parse(&text, "a.toml", Path::new(""), &[]).map_err(|error| error.to_string())
}

/// Sender and receiver of each connection, by the names of the hosts, in the order of the
/// connections.
fn pairs(scenario: &Scenario) -> Vec<(String, String)> {
    let node = |ix: usize| scenario.nodes[ix].name.clone();
    let mut ends = BTreeMap::new();
    for flow in scenario.flows() {
        let (group, links) = (flow.group, &scenario.links);
        let (first, last) = (&links[group.route[0]], &links[group.route[group.route.len() - 1]]);
        assert_eq!((first.from, vec![last.to]), (group.from, group.to.clone()), "{}", flow.name);
        assert!(group.route.windows(2).all(|two| links[two[0]].to == links[two[1]].from));
        ends.insert(flow.name.to_string(), (node(first.from), node(last.to)));
    }
    let count = ends.len() as u32 / 2;
    let of = |member: u32| {
        let [data, answers] = [format!("c/{}", member + 1), format!("c/ack/{}", member + 1)];
        let (from, to) = ends[&data].clone();
        assert_eq!(ends[&answers], (to.clone(), from.clone()));
        (from, to)
    };
    (0..count).map(of).collect()
}

fn good(among: &str, count: u32, keys: &str) -> Scenario {
    parse(among, count, keys).unwrap_or_else(|error| panic!("{error}"))
}

const ROUTINGS: [&str; 2] = ["", "routing = \"ecmp\""];

#[test]
fn any_two_hosts_are_as_likely_as_any_other_two() {
    for routing in ROUTINGS {
        let scenario = good("among = { pairs = \"all-to-all\" }", 6_000, routing);
        let mut counts = BTreeMap::new();
        for pair in pairs(&scenario) {
            assert_ne!(pair.0, pair.1);
            *counts.entry(pair).or_insert(0.0) += 1.0;
        }
        assert_eq!(counts.len(), 30);
        // 200 each: within the 99.9 % interval of each pair, and of Pearson's statistic with 29
        // degrees of freedom.
        let deviation = (200.0f64 * (1.0 - 1.0 / 30.0)).sqrt();
        let statistic: f64 = counts.values().map(|count: &f64| (count - 200.0).powi(2) / 200.0).sum();
        assert!(counts.values().all(|count| (count - 200.0).abs() < 3.29 * deviation), "{counts:?}");
        assert!(statistic > 9.0 && statistic < 58.3, "{statistic}");
        assert!(scenario.groups.iter().all(|group| group.load_rate == 60_000_000_000));
    }
}

#[test]
fn in_a_permutation_every_host_sends_to_another_and_receives_from_another() {
    for routing in ROUTINGS {
        for seed in 1..=20 {
            let keys = format!("seed = {seed}\n{routing}");
            let found = pairs(&good("among = { pairs = \"permutation\" }", 12, &keys));
            assert_eq!(found[..6], found[6..]);
            let [from, to] = [0, 1].map(|end| {
                found[..6]
                    .iter()
                    .map(|pair| if end == 0 { &pair.0 } else { &pair.1 })
                    .collect::<BTreeSet<_>>()
            });
            assert_eq!((from.len(), to.len()), (6, 6));
            assert!(found.iter().all(|(from, to)| from != to));
        }
    }
}

#[test]
fn all_others_send_to_one() {
    for routing in ROUTINGS {
        let scenario = good("among = { pairs = \"incast\", to = \"h4\" }", 10, routing);
        let names = |numbers: &[u32]| numbers.iter().map(|ix| format!("h{ix}")).collect::<Vec<_>>();
        let (from, to): (Vec<_>, Vec<_>) = pairs(&scenario).into_iter().unzip();
        assert_eq!(from, names(&[1, 2, 3, 5, 6, 1, 2, 3, 5, 6]));
        assert_eq!(to, names(&[4; 10]));
        assert!(scenario.groups.iter().all(|group| group.load_rate == 10_000_000_000));
        let few = good("among = { pairs = \"incast\", hosts = [\"h5\", \"h1\", \"h2\"] }", 2, routing);
        assert_eq!(pairs(&few), [("h1".into(), "h5".into()), ("h2".into(), "h5".into())]);
    }
}

#[test]
fn the_same_seed_draws_the_same_pairs() {
    for kind in ["all-to-all", "permutation"] {
        let of = |seed: u32, count: u32| {
            pairs(&good(&format!("among = {{ pairs = \"{kind}\" }}"), count, &format!("seed = {seed}")))
        };
        assert_eq!(of(1, 50), of(1, 50));
        assert_eq!(of(1, 50)[..20], of(1, 20)[..]);
        assert_ne!(of(1, 50), of(2, 50));
    }
    // Without pairs to draw, the load is that of the slowest link.
    let one = good("from = \"h1\"\nto = \"h6\"", 3, "");
    assert!(one.groups.iter().all(|group| group.load_rate == 10_000_000_000));
    assert_eq!((one.groups.len(), one.groups[0].count), (2, 3));
}

#[test]
fn mistakes_in_pairs_are_told() {
    for (among, message) in [
        ("to = \"h1\"", "a.toml:5:1: connection `c` needs `from`"),
        ("from = \"h1\"", "a.toml:5:1: connection `c` needs `to`"),
        (
            "from = \"h1\"\namong = { pairs = \"incast\" }",
            "a.toml:8:8: `from` and `among` both say which nodes the connections join",
        ),
        (
            "among = { pairs = \"incast\", hosts = \"h1\" }",
            "a.toml:8:9: connections are among two hosts at least",
        ),
        ("among = { pairs = \"incast\", hosts = [\"h1\", \"h1\"] }", "a.toml:8:9: a host is named twice"),
        ("among = { pairs = \"incast\", to = \"h9\" }", "a.toml:8:34: there is no node `h9`"),
        (
            "among = { pairs = \"permutation\", to = \"h1\" }",
            "a.toml:8:39: `to` has no effect unless `pairs = \"incast\"`",
        ),
        (
            "among = { pairs = \"permutation\" }\nroute = [\"h1\", \"leaf1\", \"h2\"]",
            "a.toml:9:9: `route` is that of one pair, and these connections join several",
        ),
    ] {
        let error = parse(among, 4, "").unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}
