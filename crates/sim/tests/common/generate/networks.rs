//! Networks: the built-in topologies, a gate's, and nodes and links drawn one by one.

use super::policies::{guards, policy};
use super::{Manner, gate, pick};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::BuiltInScheduler;

/// A network.
pub struct Network {
    /// Its keys: plain values on the first line, then the tables.
    pub text: String,
    pub ends: Ends,
    pub files: Vec<(String, String)>,
    pub through_gate: bool,
}

/// Nodes between which flows may go.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    pub names: Vec<String>,
    /// Pairs of nodes joined in both directions, by index in the names; empty where routes are not
    /// drawn.
    pub joined: Vec<(usize, usize)>,
    /// Number of forwarding nodes, which come first.
    pub switches: usize,
}

const RATES: [&str; 6] = ["1mbit", "1mbit", "3mbit", "400kbit", "2500001bit", "333333bit"];
const DELAYS: [&str; 5] = ["0s", "0s", "1ms", "300us", "7ms"];

pub(super) fn network(rng: &mut Rng, manner: Manner) -> Network {
    let numbered = |name: &str, most: u64| (1..=most).map(|ix| format!("{name}{ix}")).collect::<Vec<_>>();
    let count = 2 + rng.below(3);
    let links = format!("rate = \"{}\", delay = \"{}\"", pick(rng, &RATES), pick(rng, &DELAYS));
    let access = format!("access = {{ rate = \"{}\" }}", pick(rng, &["2mbit", "10mbit"]));
    let kinds = if manner.gates { 10 } else { 9 };
    let (topology, names) = match rng.below(kinds) {
        0 => (format!("{{ kind = \"chain\", switches = {count}, {links} }}"), numbered("s", count)),
        1 => (format!("{{ kind = \"chain\", switches = {count}, {links}, {access} }}"), numbered("h", count)),
        2 => {
            let ends = [numbered("l", count), numbered("r", count)].concat();
            (format!("{{ kind = \"dumbbell\", pairs = {count}, {links}, {access} }}"), ends)
        }
        3 => {
            let ends =
                [vec!["src".into(), "dst".into()], numbered("c", count), numbered("d", count)].concat();
            (format!("{{ kind = \"parking-lot\", hops = {count}, {links}, {access} }}"), ends)
        }
        4 => (format!("{{ kind = \"star\", hosts = {count}, {links} }}"), numbered("h", count)),
        5..9 => return nodes(rng, manner),
        _ => {
            let files = vec![("gate.toml".to_owned(), gate::file(rng, manner))];
            let ends = vec!["inside".into(), "outside".into()];
            let text = "topology = { kind = \"gate\", file = \"gate.toml\", delay = \"1ms\" }\n".to_owned();
            let ends = Ends { names: ends, ..Ends::default() };
            return Network { text, ends, files, through_gate: true };
        }
    };
    let ends = Ends { names, ..Ends::default() };
    Network { text: format!("topology = {topology}\n"), ends, files: Vec::new(), through_gate: false }
}

/// 2 to 12 switches in a line, a tree, or a tree with more links, and hosts at some of them.
fn nodes(rng: &mut Rng, manner: Manner) -> Network {
    let switches = 2 + rng.below(4) + rng.below(8) * rng.below(2);
    let hosts = rng.below(4) * rng.below(2);
    let mut names: Vec<String> = (1..=switches).map(|ix| format!("s{ix}")).collect();
    let mut tables = String::new();
    for name in &names {
        tables.push_str(&format!("[[node]]\nname = \"{name}\"\n"));
        if rng.chance(0.2) {
            tables.push_str(&format!("buffer = \"{}\"\n", pick(rng, &["2p", "6p", "5kB"])));
        }
    }
    for ix in 1..=hosts {
        tables.push_str(&format!("[[node]]\nname = \"h{ix}\"\nkind = \"host\"\n"));
        names.push(format!("h{ix}"));
    }
    let in_line = rng.chance(0.3);
    let mut joined = Vec::new();
    for ix in 1..names.len() {
        let is_host = ix >= switches as usize;
        let before = if is_host { switches } else { ix as u64 };
        let other = if in_line && !is_host { ix - 1 } else { rng.below(before) as usize };
        joined.push((other, ix));
    }
    for _ in 0..rng.below(3) * rng.below(2) {
        let [a, b] = [0, 1].map(|_| rng.below(switches) as usize);
        if a != b && !joined.contains(&(a, b)) && !joined.contains(&(b, a)) {
            joined.push((a, b));
        }
    }
    let mut files = Vec::new();
    for (nth, (a, b)) in joined.iter().enumerate() {
        let keys = link(rng, manner, nth, &mut files);
        tables.push_str(&format!("[[link]]\nfrom = \"{}\"\nto = \"{}\"\n{keys}\n", names[*a], names[*b]));
    }
    let ends = Ends { names, joined, switches: switches as usize };
    Network { text: format!("topology = \"nodes\"\n{tables}"), ends, files, through_gate: false }
}

/// The keys of a link, but for its ends.
fn link(rng: &mut Rng, manner: Manner, nth: usize, files: &mut Vec<(String, String)>) -> String {
    let mut keys = vec![format!("delay = \"{}\"", pick(rng, &DELAYS))];
    if !manner.promises && rng.chance(0.15) {
        keys.push(format!("trace = \"link{nth}.trace\""));
        files.push((format!("link{nth}.trace"), opportunities(rng)));
    } else {
        keys.push(format!("rate = \"{}\"", pick(rng, &RATES)));
    }
    if rng.chance(0.1) {
        keys.push(format!("loss = {}", pick(rng, &["0.01", "0.2", "1"])));
    }
    if manner.promises {
        return keys.join("\n");
    }
    if rng.chance(0.1) {
        keys.push(format!("ceiling = \"{}\"", pick(rng, &["300kbit", "900kbit"])));
    }
    if rng.chance(0.15) {
        keys.push(format!("scheduler = {}", policy::<BuiltInScheduler>(rng, manner)));
    }
    if rng.chance(0.1) {
        guards(rng, manner, &mut keys);
    }
    keys.join("\n")
}

/// A link's trace: opportunities at whole milliseconds, several at once now and then.
fn opportunities(rng: &mut Rng) -> String {
    let (mut at, mut lines) = (rng.below(3), String::new());
    for _ in 0..1 + rng.below(40) {
        lines.push_str(&format!("{at}\n"));
        at += rng.below(4) * rng.below(4);
    }
    lines + &format!("{}\n", at + 1)
}
