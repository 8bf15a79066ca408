//! The kinds of topology.

use super::{Field, OneOf, Section, Shape, defaulted, optional, rate, required, time};
use tidegate_core::params::Kind;

/// The most nodes of one sort that a topology makes.
const MAX_NODES: i64 = 100_000;

fn count(name: &'static str, help: &'static str) -> Field {
    required(name, Shape::Value(Kind::Integer(1, MAX_NODES)), help)
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

/// The values that `topology` takes.
pub(super) fn shape() -> Shape {
    let [rate_between, delay_between] = between_switches();
    let with_access =
        || defaulted("access", Shape::Table(access()), "{}", "Links between hosts and switches");
    let chain = kind(
        "chain",
        "Chain",
        "Switches s1 … sN in a row, connected by duplex links; with `access`, host hK is connected to \
         switch sK.",
        vec![
            count("switches", "Number of switches"),
            rate_between.clone(),
            delay_between.clone(),
            optional(
                "access",
                Shape::Table(access()),
                "Links between each switch and its host; without it there are no hosts, and flows start and \
                 end at switches",
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
        "Switches s1 … s(K+1) in a row; traffic from host src on s1 to dst on s(K+1) crosses every hop, \
         traffic from cI on sI to dI on s(I+1) only hop I.",
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
        "Switches inside and outside, and between them the link that a gate file describes: each direction \
         has the gate's rate, framing, policies and flows, and its memory. A given key of `port` \
         or `switch` replaces the gate's, to try another scheduler or buffer with the same file; the \
         scenario's classes and contracts have no effect there. A flow or a connection needs `headers` to \
         pass, or a `capture` that has them.",
        vec![
            required("file", Shape::File, "Gate file; the names of its interfaces are ignored"),
            defaulted("delay", time(), "0s", "Propagation delay of the link, in each direction"),
        ],
    );
    let nodes = kind("nodes", "Nodes", "Only the nodes and links of `[[node]]` and `[[link]]`.", Vec::new());
    let options = vec![chain, dumbbell, parking_lot, star, gate, nodes];
    Shape::OneOf(OneOf { what: "topology", default_kind: None, options })
}
