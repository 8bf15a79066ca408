//! Flows and connections: their ends, their times, and the keys that they state.

use super::abr;
use super::policies::{contract, policy};
use super::{Ends, Manner, pick, small};
use tidegate_core::endpoint::BuiltInTransport;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::BuiltInShaper;

/// Draws the flows of one scenario.
pub(super) struct Flows {
    pub(super) manner: Manner,
    pub(super) ends: Ends,
    pub(super) classes: Vec<String>,
    pub(super) signalled: bool,
    pub(super) through_gate: bool,
    /// The files that the flows name.
    pub(super) files: Vec<(String, String)>,
}

/// The gate file states these for the gate's flows.
const SAID_BY_GATE: [&str; 12] = [
    "profile",
    "reserve",
    "interval",
    "head_start",
    "priority",
    "workahead",
    "peak",
    "deadline",
    "ceiling",
    "class",
    "envelope",
    "warned",
];

impl Flows {
    pub(super) fn flow(&mut self, rng: &mut Rng, ix: u64) -> String {
        let from = rng.below(self.ends.names.len() as u64) as usize;
        let (from_name, others) = self.others(from);
        let mut keys = vec![format!("name = \"f{ix}\"\ncount = {}", small(rng, self.most()))];
        keys.push(match self.route(rng, from) {
            Some(route) => route,
            None => {
                let to = match rng.chance(self.multicast()) {
                    true => format!("[{}]", several(rng, &others)),
                    false => format!("\"{}\"", pick(rng, &others)),
                };
                format!("from = \"{from_name}\"\nto = {to}")
            }
        });
        keys.push(format!("source = {}", self.source(rng, ix)));
        if keys.iter().any(|key| key.contains("fps =")) {
            keys.push(format!("size = \"{}\"", pick(rng, &["250B", "1500B"])));
        } else if !keys.iter().any(|key| key.contains("file =")) {
            keys.push(format!("size = {}", self.size(rng)));
        }
        contract(rng, self.manner, &mut keys);
        let reserves = keys.iter().any(|key| key.starts_with("reserve"));
        if reserves && rng.chance(0.4) {
            keys.push(format!("interval = \"{}\"", pick(rng, &["1ms", "30ms", "100ms", "1s", "2s"])));
            if rng.chance(0.5) {
                keys.push(format!("warned = \"{}\"", pick(rng, &["ignore", "slow", "shrink"])));
            }
        }
        self.profile_and_class(rng, &mut keys);
        if rng.chance(0.3) {
            let contracted = keys.iter().any(|key| key.starts_with("workahead"));
            keys.push(format!("envelope = {}", self.envelope(rng, contracted)));
        }
        keys.push(self.life(rng, reserves));
        if self.through_gate {
            keys.retain(|key| !SAID_BY_GATE.iter().any(|word| key.starts_with(word)));
            let headers = "flow = \"10.0.0.1:5004>192.0.2.1:5060/udp\", dscp = 46, each = \"5-tuple\"";
            keys.push(format!("headers = {{ {headers} }}"));
        }
        format!("[[flow]]\n{}\n", keys.join("\n"))
    }

    pub(super) fn connection(&mut self, rng: &mut Rng, ix: u64) -> String {
        let (from, others) = self.others(rng.below(self.ends.names.len() as u64) as usize);
        // Several values drawn at random often conflict. A window of a million packets fills a
        // queue, and every event here searches it.
        let transport = match self.manner.wild > 0.0 && rng.chance(0.7) {
            true => "\"tcp\"".to_owned(),
            false => policy::<BuiltInTransport>(rng, self.manner)
                .replace(" 500000,", " 900,")
                .replace(" 1000000,", " 900,"),
        };
        let mut keys = vec![
            format!("name = \"k{ix}\"\ncount = {}", small(rng, self.most() / 2)),
            format!("from = \"{from}\"\nto = \"{}\"", pick(rng, &others)),
            // A packet has room for a header of 40 bytes and data.
            format!("size = \"{}\"", pick(rng, &["50B", "250B", "1500B"])),
            format!("transport = {transport}"),
        ];
        contract(rng, self.manner, &mut keys);
        if self.signals() {
            keys.retain(|key| !key.starts_with("reserve"));
        } else if rng.chance(0.3) {
            let mut answers = vec!["profile = \"p\"".to_owned()];
            contract(rng, self.manner, &mut answers);
            keys.push(format!("answers = {{ {} }}", answers.join(", ")));
        }
        if !self.classes.is_empty() && rng.chance(0.5) {
            keys.push(format!("class = \"{}\"", self.class(rng)));
        }
        let mut is_cut = self.manner.wild > 0.0;
        is_cut &= !abr::sends_cells(&transport);
        if is_cut && rng.chance(0.3) {
            keys.push("adaptation = \"aal5\"".to_owned());
            abr::connection(rng, &mut keys);
        }
        let [a, b, c] = [1, 4, 11].map(|part| part * self.manner.duration / 20);
        keys.push(match rng.below(4) {
            0 => format!("start = \"{a}ms\"\nstop = \"{c}ms\""),
            1 => format!("every = \"{a}ms\"\nlasts = \"{b}ms\""),
            _ => "start = \"1ms\"".to_owned(),
        });
        format!("[[connection]]\n{}\n", keys.join("\n"))
    }

    /// True if keys that signalling cannot set up are left out.
    fn signals(&self) -> bool {
        self.signalled && self.manner.wild == 0.0
    }

    /// Probability that a flow has several destinations.
    fn multicast(&self) -> f64 {
        match self.manner.wild > 0.0 {
            true => 0.25,
            false if self.signalled => 0.0,
            false => 0.15,
        }
    }

    /// The most members of a group.
    fn most(&self) -> u64 {
        if self.manner.wild > 0.0 { 20 } else { 4 }
    }

    /// A node's name, and those of the others.
    fn others(&self, node: usize) -> (String, Vec<&str>) {
        let names = &self.ends.names;
        let others: Vec<&str> = names.iter().map(String::as_str).filter(|end| *end != names[node]).collect();
        (names[node].clone(), if others.is_empty() { vec![&names[node]] } else { others })
    }

    fn class(&self, rng: &mut Rng) -> &str {
        &self.classes[rng.below(self.classes.len() as u64) as usize]
    }

    fn profile_and_class(&self, rng: &mut Rng, keys: &mut Vec<String>) {
        if rng.chance(0.2) {
            keys.push("profile = \"p\"".to_owned());
        }
        if !self.classes.is_empty() && rng.chance(0.5) {
            keys.push(format!("class = \"{}\"", self.class(rng)));
        }
    }

    /// A random way through the network that meets no node twice, now and then, where routes can be
    /// drawn.
    fn route(&self, rng: &mut Rng, from: usize) -> Option<String> {
        let Ends { names, joined, switches } = &self.ends;
        if joined.is_empty() || !rng.chance(0.4) {
            return None;
        }
        let mut way = vec![from];
        loop {
            let at = way[way.len() - 1];
            if way.len() > 1 && (at >= *switches || rng.chance(0.25)) {
                break;
            }
            let neighbours = joined.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
            let open: Vec<usize> =
                neighbours.filter(|(a, b)| *a == at && !way.contains(b)).map(|(_, b)| b).collect();
            if open.is_empty() {
                break;
            }
            way.push(open[rng.below(open.len() as u64) as usize]);
        }
        let way: Vec<String> = way.iter().map(|node| format!("\"{}\"", names[*node])).collect();
        let (first, last) = (way.first()?, way.last().filter(|_| way.len() > 1)?);
        Some(format!("from = {first}\nto = {last}\nroute = [{}]", way.join(", ")))
    }

    fn size(&self, rng: &mut Rng) -> &'static str {
        let tame =
            ["\"40B\"", "\"250B\"", "\"1500B\"", "[\"40B\", \"1500B\"]", "[\"100B\", \"250B\", \"576B\"]"];
        if rng.chance(self.manner.wild) { "\"1501B\"" } else { pick(rng, &tame) }
    }

    fn source(&mut self, rng: &mut Rng, ix: u64) -> String {
        let rates = ["10kbit", "100kbit", "250kbit", "1mbit", "3mbit"];
        let rate = pick(rng, if self.manner.wild > 0.0 { &rates } else { &rates[..4] });
        match rng.below(8) {
            0 => format!("{{ kind = \"cbr\", rate = \"{rate}\" }}"),
            1 => format!("{{ kind = \"poisson\", rate = \"{rate}\", times = {} }}", 1 + rng.below(4)),
            2 => format!("{{ kind = \"on-off\", rate = \"{rate}\", peak = \"5mbit\", burst = 4 }}"),
            3 => format!("{{ kind = \"packet-train\", rate = \"{rate}\", length = 3 }}"),
            4 if !self.through_gate => {
                self.files.push((format!("f{ix}.txt"), packets(rng, self.manner)));
                format!("{{ kind = \"trace\", file = \"f{ix}.txt\", repeat = {} }}", small(rng, 3))
            }
            5 if !self.through_gate && !self.signals() => {
                self.files.push((format!("f{ix}.csv"), packets_of_several(rng, self.manner)));
                format!(
                    "{{ kind = \"capture\", file = \"f{ix}.csv\", speed = {} }}",
                    pick(rng, &["1", "0.5", "3"])
                )
            }
            6 if !self.through_gate => {
                self.files.push((format!("f{ix}.txt"), frames(rng)));
                let spread = pick(rng, &["spread = \"frame\"", "spread = \"peak\", peak = \"2mbit\""]);
                let first = pick(rng, &["", ", first = 0", ", first = 19"]);
                format!("{{ kind = \"video\", file = \"f{ix}.txt\", fps = 60, {spread}{first} }}")
            }
            _ => format!("{{ kind = \"greedy\", window = {} }}", small(rng, 9)),
        }
    }

    fn envelope(&self, rng: &mut Rng, contracted: bool) -> String {
        if self.manner.wild > 0.0 {
            return policy::<BuiltInShaper>(rng, self.manner);
        }
        let rate = pick(rng, &["50kbit", "100kbit", "300kbit", "777777bit"]);
        let burst = pick(rng, &["1500B", "1500B", "4kB", "10kB"]);
        let mut keys = match contracted && rng.chance(0.4) {
            true => "kind = \"token-bucket\"".to_owned(),
            false => format!("rate = \"{rate}\", burst = \"{burst}\""),
        };
        if rng.chance(0.2) {
            keys.push_str(&format!(", peak = \"{}\"", pick(rng, &["1mbit", "3333333bit"])));
        }
        if rng.chance(0.3) {
            keys.push_str(&format!(", queue = \"{}\"", pick(rng, &["1p", "5p", "4kB"])));
        }
        if rng.chance(0.4) {
            keys.push_str(&format!(", excess = \"{}\"", pick(rng, &["drop", "mark"])));
        }
        format!("{{ {keys} }}")
    }

    /// Start, changes and end of a flow.
    fn life(&self, rng: &mut Rng, reserves: bool) -> String {
        let [a, b, c, d, e] = [1, 4, 6, 9, 11].map(|part| part * self.manner.duration / 20);
        let signalled = self.signalled && (reserves || self.manner.wild > 0.0);
        let rate = pick(rng, &["50kbit", "100kbit", "250kbit"]);
        match rng.below(8) {
            0 => format!("start = \"{a}ms\"\nstop = \"{e}ms\""),
            1 => format!("every = \"{a}ms\"\nlasts = \"{b}ms\""),
            2 | 5 if signalled => format!("start = \"{a}ms\"\nhangup = \"{d}ms\""),
            3 if signalled => {
                format!("start = \"1ms\"\nchange = [{{ at = \"{b}ms\", reserve = \"{rate}\" }}]")
            }
            4 if signalled => format!(
                "start = \"1ms\"\nchange = [{{ at = \"{b}ms\", reserve = \"{rate}\", interval = \"1s\" }}, \
                 {{ at = \"{c}ms\", reserve = \"50kbit\" }}, {{ at = \"{d}ms\", reserve = \"100kbit\" }}]"
            ),
            _ => format!("start = \"{}ms\"", rng.below(3)),
        }
    }
}

/// Up to three nodes, as a list's entries.
fn several(rng: &mut Rng, ends: &[&str]) -> String {
    let count = 1 + rng.below(3) as usize;
    let first = rng.below(ends.len().max(1) as u64) as usize;
    let named = ends.iter().cycle().skip(first).take(count.min(ends.len()));
    named.map(|end| format!("\"{end}\"")).collect::<Vec<_>>().join(", ")
}

/// Times in order and sizes: some at the same instant.
fn recorded(rng: &mut Rng, manner: Manner) -> Vec<(f64, u64)> {
    let mut at = 0.0;
    let sizes = [40, 250, 1000, 1500];
    let mut packet = || {
        let gap = rng.below(4) * rng.below(20) * manner.duration;
        at += gap as f64 * 1e-6;
        (at, sizes[rng.below(4) as usize])
    };
    (0..30).map(|_| packet()).collect()
}

/// The frames of a video: some of no bytes, some of several packets.
fn frames(rng: &mut Rng) -> String {
    let mut frame = || [0, 60, 400, 1500, 3000][rng.below(5) as usize];
    (0..19).map(|_| format!("{}\n", frame())).chain(["2000\n".to_owned()]).collect()
}

/// A list of packets of one flow.
fn packets(rng: &mut Rng, manner: Manner) -> String {
    recorded(rng, manner).iter().map(|(at, size)| format!("{at:.6} {size}\n")).collect()
}

/// A list of packets of up to three flows.
fn packets_of_several(rng: &mut Rng, manner: Manner) -> String {
    let flows = 1 + rng.below(3);
    let mut text = "time,size,flow\n".to_owned();
    for (at, size) in recorded(rng, manner) {
        text.push_str(&format!("{at:.6},{size},{}\n", pick(rng, &["a", "b", "c"][..flows as usize])));
    }
    text
}
