//! The kinds of topology.

use super::{Field, OneOf, Section, Shape, defaulted, optional, rate, required, time};
use tidegate_core::params::Kind;

/// The most nodes of one sort that a topology makes.
const MOST_NODES: i64 = 100_000;

fn count(name: &'static str, help: &'static str) -> Field {
    required(name, Shape::Value(Kind::Integer(1, MOST_NODES)), help)
}

fn access() -> Section {
    let fields = vec![
        defaulted("rate", rate(), "1gbit", "Rate of each direction"),
        defaulted("delay", time(), "0s", "Propagation delay of each direction"),
    ];
    Section::new("access", "Access", "The duplex links between hosts and switches.", fields)
}

fn between_switches() -> [Field; 2] {
    [
        required("rate", rate(), "Rate of the links between switches, in each direction"),
        defaulted(
            "delay",
            time(),
            "0s",
            "Propagation delay of the links between switches, in each direction",
        ),
    ]
}

fn kind(name: &'static str, title: &'static str, help: &'static str, fields: Vec<Field>) -> Section {
    Section::new(name, title, help, fields)
}

/// What `topology` takes.
pub(super) fn shape() -> Shape {
    let [rate_between, delay_between] = between_switches();
    let with_access =
        || defaulted("access", Shape::Table(access()), "{}", "Links between hosts and switches");
    let chain = kind(
        "chain",
        "Chain",
        "Switches s1 … sN in a row, joined by duplex links; with `access`, host hK hangs on switch sK.",
        vec![
            count("switches", "Number of switches"),
            rate_between.clone(),
            delay_between.clone(),
            optional(
                "access",
                Shape::Table(access()),
                "Links between each switch and its host; without it there are no hosts, and flows start and end at the switches",
            ),
        ],
    );
    let dumbbell = kind(
        "dumbbell",
        "Dumbbell",
        "Hosts l1 … lN on the switch left, hosts r1 … rN on the switch right, one duplex link between the two.",
        vec![
            count("pairs", "Number of hosts on each side"),
            rate_between.clone(),
            delay_between.clone(),
            with_access(),
        ],
    );
    let parking_lot = kind(
        "parking-lot",
        "Parking lot",
        "Switches s1 … s(K+1) in a row; host src on s1 and dst on s(K+1) see every hop, hosts cI on sI and dI on s(I+1) only hop I.",
        vec![count("hops", "Number of links between switches"), rate_between, delay_between, with_access()],
    );
    let star = kind(
        "star",
        "Star",
        "Hosts h1 … hN on the switch hub.",
        vec![
            count("hosts", "Number of hosts"),
            required("rate", rate(), "Rate of the link between the hub and each host, in each direction"),
            defaulted(
                "delay",
                time(),
                "0s",
                "Propagation delay of the link between the hub and each host, in each direction",
            ),
        ],
    );
    let gate = kind(
        "gate",
        "Gate",
        "Switches inside and outside, and between them the link that a gate file stands for: each direction with the gate's \
         rate, framing, policies and flows, and its memory. A key of `port` or `switch` that is given \
         takes the place of the gate's own, to try another scheduler or buffer on the same file; the scenario's classes \
         and contracts say nothing there. A flow needs `headers` to pass, or a `capture` that has them.",
        vec![
            required("file", Shape::File, "Gate file, with its interfaces' names left aside"),
            defaulted("delay", time(), "0s", "Propagation delay of the link, in each direction"),
        ],
    );
    let nodes = kind("nodes", "Nodes", "Only what `[[node]]` and `[[link]]` list.", Vec::new());
    let options = vec![chain, dumbbell, parking_lot, star, gate, nodes];
    Shape::OneOf(OneOf { what: "topology", default_kind: None, options })
}
