//! Random scenarios, as wide as the format: networks, policies, classes and flows.
#![allow(dead_code, reason = "every test file uses a part of it")]

mod abr;
mod credit;
mod flows;
mod gate;
mod networks;
mod policies;

pub use networks::{Ends, Network};

use std::path::Path;
use tidegate_core::rng::Rng;

/// Settings of the generator.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Probability with which a policy's value is drawn from all that its kind takes, its ends
    /// included, and beyond. Otherwise it is one that goes with the others.
    pub wild: f64,
    /// True if the network may be a gate's.
    pub gates: bool,
    /// Duration of runs in milliseconds.
    pub duration: u64,
    /// True if every port is such that reservations promise a delay.
    pub promises: bool,
}

impl Manner {
    /// Much of it is mistaken, and must be refused.
    pub const WILD: Manner = Manner { wild: 0.06, gates: true, duration: 20, promises: false };
    /// Most of it can run.
    pub const TAME: Manner = Manner { wild: 0.0, gates: false, duration: 250, promises: false };
}

/// A scenario's text, and the files that it names.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    pub text: String,
    /// Name and content of each.
    pub files: Vec<(String, String)>,
}

impl Drawn {
    /// Writes the files that it names to a folder.
    pub fn write_files(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        for (name, text) in &self.files {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
}

/// One of these.
pub fn pick<'t>(rng: &mut Rng, from: &[&'t str]) -> &'t str {
    from[rng.below(from.len() as u64) as usize]
}

/// A number up to `most`, small ones more often.
pub fn small(rng: &mut Rng, most: u64) -> u64 {
    let most = rng.below(most) + 1;
    rng.below(most) + 1
}

/// A scenario.
pub fn scenario(rng: &mut Rng, manner: Manner) -> Drawn {
    let manner = Manner { promises: manner.wild == 0.0 && rng.chance(0.15), ..manner };
    let Network { text: network, ends, mut files, through_gate } = networks::network(rng, manner);
    let mut text = format!("version = 1\nduration = \"{}ms\"\n", manner.duration);
    if rng.chance(0.3) {
        text.push_str(&format!("warmup = \"{}ms\"\n", manner.duration / 5));
    }
    // Plain values come before the tables.
    let (values, tables) = network.split_once('\n').unwrap_or((&network, ""));
    text.push_str(values);
    text.push('\n');
    if !through_gate || rng.chance(0.3) {
        text.push_str(&policies::ports(rng, manner, "port"));
    }
    if manner.promises || rng.chance(0.2) {
        text.push_str(&policies::ports(rng, manner, "host"));
    }
    if rng.chance(0.4) {
        let buffer = pick(rng, &["1p", "10p", "3kB", "8kB"]);
        let push_out = pick(rng, &["shares", "longest-queue"]);
        text.push_str(&format!("switch = {{ buffer = \"{buffer}\", push_out = \"{push_out}\" }}\n"));
    }
    let signalled = !through_gate && rng.chance(0.35);
    if signalled {
        let datagrams = pick(rng, &["0", "0", "0.25", "1"]);
        text.push_str(&format!("admission = {{ datagrams = {datagrams} }}\n"));
    }
    text.push_str(tables);
    text.push_str("[[profile]]\nname = \"p\"\nreserve = \"50kbit\"\ninterval = \"1s\"\n");
    let with_classes = !through_gate && !manner.promises && (manner.wild > 0.0 || !signalled);
    let (classes, mut names) =
        if with_classes { policies::classes(rng, manner) } else { (String::new(), Vec::new()) };
    text.push_str(&classes);
    if rng.chance(manner.wild / 5.0) {
        names.push("missing".into());
    }
    let mut draw = flows::Flows { manner, ends, classes: names, signalled, through_gate, files: Vec::new() };
    let (flows, connections) = (small(rng, 4), rng.below(3));
    for ix in 0..flows {
        text.push_str(&draw.flow(rng, ix));
    }
    if !through_gate || rng.chance(0.1) {
        for ix in 0..connections {
            text.push_str(&draw.connection(rng, ix));
        }
    }
    files.append(&mut draw.files);
    Drawn { text: with_profiles_of_links(rng, manner, &text), files }
}

/// Gives some of the listed links a profile of their own, written in another form than those of
/// flows so that they can be told apart.
fn with_profiles_of_links(rng: &mut Rng, manner: Manner, text: &str) -> String {
    let link = |line: &str| match line == "[[link]]" && !manner.promises && rng.chance(0.1) {
        true => "[[link]]\nprofile = 'p'\n".to_owned(),
        false => format!("{line}\n"),
    };
    text.lines().map(link).collect()
}

/// A key of flow control, and the share of scenarios that have it at least, as one in so many.
pub type Covered = (&'static str, u64);

/// Keys of flow control that scenarios have.
pub const COVERED: &[Covered] = &[
    // One line each.
    credit::COVERED,
    abr::COVERED,
    abr::VCS_COVERED,
];

/// Flow control of ports; for most scenarios none.
pub fn flow_control(rng: &mut Rng) -> Vec<(String, String)> {
    let mut sets = Vec::new();
    credit::ports(rng, &mut sets);
    abr::ports(rng, &mut sets);
    sets
}
