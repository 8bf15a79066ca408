//! Fabrics: their switches, hosts and links, and links that are replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tidegate_formats::{Link, NodeKind, Router, Scenario};

/// A scenario of this topology, with further text.
fn parse(topology: &str, text: &str) -> Result<Scenario, String> {
    let text = format!("version = 1\nduration = \"1s\"\ntopology = {{ {topology} }}\n{text}");
    Scenario::parse(&text, "a.toml", Path::new(""), &[]).map_err(|error| error.to_string())
}

fn good(topology: &str, text: &str) -> Scenario {
    parse(topology, text).unwrap_or_else(|error| panic!("{error}"))
}

/// Names of the nodes at the ends of each link, and its rate in Mbit/s and its delay in µs.
fn ends(scenario: &Scenario) -> Vec<(&str, &str, u64, u64)> {
    let name = |node: usize| scenario.nodes[node].name.as_str();
    let of = |link: &Link| (link.rate_bits / 1_000_000, link.delay.ticks() / 100_000);
    scenario.links.iter().map(|link| (name(link.from), name(link.to), of(link).0, of(link).1)).collect()
}

/// Number of links from each host to each other one, by the pair's numbers.
fn distances(scenario: &Scenario) -> BTreeMap<(usize, usize), usize> {
    let hosts: Vec<usize> =
        (0..scenario.nodes.len()).filter(|ix| scenario.nodes[*ix].kind == NodeKind::Host).collect();
    let mut distances = BTreeMap::new();
    let mut router = Router::new(&scenario.nodes, &scenario.links);
    for (one, from) in hosts.iter().enumerate() {
        assert_eq!(scenario.nodes[*from].name, format!("h{}", one + 1));
        for (other, to) in hosts.iter().enumerate().filter(|(other, _)| *other != one) {
            distances.insert((one, other), router.shortest(*from, *to).unwrap().len());
        }
    }
    distances
}

#[test]
fn every_leaf_has_a_link_to_every_spine() {
    let keys = "kind = \"leaf-spine\", leaves = 3, spines = 2, hosts = 4, rate = \"40gbit\", delay = \"1us\", \
                access = { rate = \"10gbit\", delay = \"2us\" }";
    let scenario = good(keys, "");
    let ends: BTreeSet<_> = ends(&scenario).into_iter().collect();
    assert_eq!((scenario.links.len(), ends.len()), (2 * (3 * 2 + 3 * 4), 2 * (3 * 2 + 3 * 4)));
    for leaf in 1..=3 {
        for spine in 1..=2 {
            let [leaf, spine] = [format!("leaf{leaf}"), format!("spine{spine}")];
            assert!(ends.contains(&(&leaf, &spine, 40_000, 1)) && ends.contains(&(&spine, &leaf, 40_000, 1)));
        }
        for host in 4 * leaf - 3..=4 * leaf {
            let [leaf, host] = [format!("leaf{leaf}"), format!("h{host}")];
            assert!(ends.contains(&(&leaf, &host, 10_000, 2)) && ends.contains(&(&host, &leaf, 10_000, 2)));
        }
    }
    for ((one, other), hops) in distances(&scenario) {
        assert_eq!(hops, if one / 4 == other / 4 { 2 } else { 4 });
    }
}

/// Al-Fares et al. 2008: k³/4 hosts, 5k²/4 switches with k ports each; hosts are 2, 4 or 6 links
/// apart.
#[test]
fn a_fat_tree_has_the_shape_of_the_paper() {
    for k in [2, 4, 6, 8] {
        let scenario = good(&format!("kind = \"fat-tree\", k = {k}, rate = \"1gbit\""), "");
        let of_kind = |kind| scenario.nodes.iter().filter(move |node| node.kind == kind).count();
        assert_eq!((of_kind(NodeKind::Host), of_kind(NodeKind::Switch)), (k * k * k / 4, 5 * k * k / 4));
        assert_eq!(scenario.links.len(), 2 * 3 * k * k * k / 4);
        for (ix, node) in scenario.nodes.iter().enumerate() {
            let to: BTreeSet<usize> =
                scenario.links.iter().filter(|link| link.from == ix).map(|link| link.to).collect();
            // Each to another node.
            assert_eq!(to.len(), if node.kind == NodeKind::Switch { k } else { 1 }, "{}", node.name);
        }
        // Every core switch has a link to each pod.
        for (ix, core) in scenario.nodes.iter().enumerate().filter(|(_, node)| node.name.starts_with("core"))
        {
            let to = |link: &&Link| scenario.nodes[link.to].name[3..].parse::<usize>().unwrap() - 1;
            let links = scenario.links.iter().filter(|link| link.from == ix);
            let pods: BTreeSet<usize> = links.clone().map(|link| to(&link) / (k / 2)).collect();
            let places: BTreeSet<usize> = links.map(|link| to(&link) % (k / 2)).collect();
            assert_eq!((pods.len(), places.len()), (k, 1), "{}", core.name);
        }
        for ((one, other), hops) in distances(&scenario) {
            let (edge, pod) = (k / 2, k * k / 4);
            let expected = if one / edge == other / edge {
                2
            } else if one / pod == other / pod {
                4
            } else {
                6
            };
            assert_eq!(hops, expected, "{k}: {one} {other}");
        }
    }
    let odd = parse("kind = \"fat-tree\", k = 5, rate = \"1gbit\"", "").unwrap_err();
    assert!(odd.starts_with("a.toml:3:37: `k` (5) is odd, and half of a switch's ports lead up"), "{odd}");
}

/// A link in the place of a topology's is at the same place, with values of its own.
#[test]
fn a_link_may_be_replaced() {
    let topology =
        "kind = \"leaf-spine\", leaves = 2, spines = 2, hosts = 1, rate = \"40mbit\", delay = \"1us\"";
    let link =
        |keys: &str| format!("[[link]]\nfrom = \"leaf1\"\nto = \"spine2\"\nrate = \"10mbit\"\n{keys}\n");
    let before = good(topology, "");
    let both = good(topology, &link("replace = true\nloss = 0.5\nscheduler = \"drr\""));
    let one = good(topology, &link("replace = true\nduplex = false"));
    let added = good(topology, &link(""));
    assert_eq!(added.links.len(), before.links.len() + 2);
    for (scenario, directions) in [(&both, 2), (&one, 1)] {
        assert_eq!(scenario.links.len(), before.links.len());
        let mut replaced = 0;
        for (old, new) in before.links.iter().zip(&scenario.links) {
            assert_eq!((&old.name, old.from, old.to), (&new.name, new.from, new.to));
            let changed = old.name == "leaf1->spine2" || directions == 2 && old.name == "spine2->leaf1";
            assert_eq!(new.rate_bits, if changed { 10_000_000 } else { old.rate_bits }, "{}", new.name);
            assert_eq!(new.stated, changed);
            assert_eq!(new.port.scheduler.policy.record().name == "drr", changed && directions == 2);
            replaced += usize::from(changed);
        }
        assert_eq!(replaced, directions);
    }
    for (text, message) in [
        (
            link("replace = true") + &link("replace = true"),
            "a.toml:13:11: the topology has no link from leaf1 to spine2",
        ),
        (
            link("replace = true").replace("spine2", "leaf2"),
            "a.toml:8:11: the topology has no link from leaf1 to leaf2",
        ),
    ] {
        let error = parse(topology, &text).unwrap_err();
        assert!(error.starts_with(message) && error.contains("leave out `replace` to add a link"), "{error}");
    }
}
