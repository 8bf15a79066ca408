//! Traffic matrices: flows that share a source's rate, and pairs of connections.

use std::collections::BTreeMap;
use std::path::PathBuf;
use tidegate_formats::Scenario;

const DEMANDS: &str = "from,to,demand\nh1,h2,3\nh2,h1,1\nh3,h3,99\nh3,h1,0\nh1,h3,4\n";

/// A folder of its own with the file `demands.csv`.
fn folder(name: &str, demands: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tidegate-matrix-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("demands.csv"), demands).unwrap();
    folder
}

fn parse(demands: &str, name: &str, traffic: &str) -> Result<Scenario, String> {
    let folder = folder(name, demands);
    let text = format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"star\", hosts = 3, rate = \"1gbit\" }}\n{traffic}"
    );
    let read = Scenario::parse(&text, "a.toml", &folder, &[]).map_err(|error| error.to_string());
    std::fs::remove_dir_all(folder).unwrap();
    read
}

fn flow(keys: &str) -> String {
    format!("[[flow]]\nname = \"tm\"\nsize = \"1kB\"\n{keys}\n")
}

const POISSON: &str = "source = { kind = \"poisson\", rate = \"20mbit\", times = 2 }";

/// A flow for each demand above zero between two nodes, with its share of the rate.
#[test]
fn a_flow_for_each_demand_has_its_share() {
    let rows = "0 3 4\n1 0 0\n0 0 99\n";
    let of_rows = "matrix = { file = \"demands.csv\", nodes = [\"h1\", \"h2\", \"h3\"] }";
    let of_list = "matrix = { file = \"demands.csv\" }";
    for routing in ["", "routing = \"ecmp\"\n"] {
        for (demands, keys) in [(DEMANDS, of_list), (rows, of_rows)] {
            let scenario =
                parse(demands, "shares", &format!("{routing}{}", flow(&format!("{keys}\n{POISSON}"))))
                    .unwrap();
            let flows: Vec<_> = scenario
                .flows()
                .map(|flow| {
                    let (from, to) = (flow.group.from, flow.group.to[0]);
                    let [from, to] = [from, to].map(|node| scenario.nodes[node].name.clone());
                    (flow.name.to_string(), from, to, flow.group.source.mean().unwrap())
                })
                .collect();
            let expected = [("tm/1", "h1", "h2", 15), ("tm/2", "h1", "h3", 20), ("tm/3", "h2", "h1", 5)];
            let expected = expected
                .map(|(name, from, to, mbit)| (name.into(), from.into(), to.into(), mbit * 1_000_000));
            assert_eq!(flows, expected);
        }
    }
}

/// Connections join two nodes as often as the demand between them says.
#[test]
fn connections_are_drawn_by_demand() {
    let keys = "[[connection]]\nname = \"c\"\ncount = 8000\nsize = \"1kB\"\ntransport = \"tcp\"\n\
                among = { pairs = \"matrix\", matrix = { file = \"demands.csv\" } }\n";
    let scenario = parse(DEMANDS, "drawn", keys).unwrap();
    let mut counts = BTreeMap::new();
    for flow in scenario.flows().filter(|flow| !flow.name.contains("ack")) {
        let ends = [flow.group.from, flow.group.to[0]].map(|node| scenario.nodes[node].name.clone());
        *counts.entry(ends.join("-")).or_insert(0.0) += 1.0;
    }
    assert_eq!(counts.len(), 3);
    for (pair, share) in [("h1-h2", 0.375), ("h1-h3", 0.5), ("h2-h1", 0.125)] {
        let half = 3.29 * (8000.0f64 * share * (1.0 - share)).sqrt();
        assert!((counts[pair] - 8000.0 * share).abs() < half, "{counts:?}");
    }
}

#[test]
fn mistakes_in_matrices_are_told() {
    let list = "matrix = { file = \"demands.csv\" }";
    for (keys, message) in [
        (POISSON.to_owned(), "a.toml:4:1: flow `tm` needs `from`"),
        (format!("from = \"h1\"\n{POISSON}"), "a.toml:4:1: flow `tm` needs `to`"),
        (format!("{list}\nfrom = \"h1\"\n{POISSON}"), "a.toml:8:8: a flow with a `matrix` has no `from`"),
        (format!("{list}\ncount = 2\n{POISSON}"), "a.toml:8:9: a flow with a `matrix` has no `count`"),
        (
            format!("{list}\nsource = \"greedy\""),
            "a.toml:8:10: a `matrix` divides the rate of a source, and this one has none",
        ),
        (
            format!("{list}\nsource = {{ kind = \"cbr\", rate = \"7bit\" }}"),
            "a.toml:7:10: a demand of 1 is less than 1 bit/s of the source's rate",
        ),
        (
            format!("matrix = {{ file = \"demands.csv\", nodes = [\"h1\", \"h4\"] }}\n{POISSON}"),
            "a.toml:7:19: ",
        ),
        (format!("matrix = {{ file = \"none.csv\" }}\n{POISSON}"), "a.toml:7:19: cannot read "),
    ] {
        let error = parse(DEMANDS, "mistakes", &flow(&keys)).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
    let named = format!("{list}\n{POISSON}");
    for (demands, message) in [
        ("from,to,demand\nh1,h9,3\n", "a.toml:7:19: there is no node `h9`"),
        ("from,to,demand\nh1,h1,3\n", "has no demand between two nodes"),
        ("", "its first line is not `from,to,demand`"),
    ] {
        let error = parse(demands, "files", &flow(&named)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let alone =
        "[[connection]]\nname = \"c\"\nsize = \"1kB\"\ntransport = \"tcp\"\namong = { pairs = \"matrix\" }\n";
    let error = parse(DEMANDS, "alone", alone).unwrap_err();
    assert!(error.contains("`pairs = \"matrix\"` and `matrix` go together"), "{error}");
}
