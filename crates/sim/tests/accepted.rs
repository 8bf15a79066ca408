//! What the reader of scenarios accepts, runs: whatever is drawn, it is refused with its place before
//! anything is built, or it is built and runs without a refusal and without a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tidegate_core::dropper::BuiltInDropper;
use tidegate_core::endpoint::BuiltInTransport;
use tidegate_core::meter::BuiltInMeter;
use tidegate_core::params::{BuiltIn, Kind, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::BuiltInScheduler;
use tidegate_core::shaper::BuiltInShaper;
use tidegate_sim::build::build;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;
use tidegate_spec::Scenario;
use tidegate_spec::units::show_value;

/// Scenarios drawn, unless TIDEGATE_VERIFY asks for more.
const FEW: u64 = 600;
/// Enough events for the busiest of them.
const MOST_EVENTS: u64 = 3_000_000;

fn pick<'t>(rng: &mut Rng, from: &[&'t str]) -> &'t str {
    from[rng.below(from.len() as u64) as usize]
}

/// A number up to `most`, small ones more often.
fn small(rng: &mut Rng, most: u64) -> u64 {
    let most = rng.below(most) + 1;
    rng.below(most) + 1
}

/// A value as TOML: one in ten drawn anew from what its kind takes, its ends included, and beyond.
fn setting(rng: &mut Rng, kind: Kind, value: &Value) -> String {
    let quoted = |text: &str| format!("\"{text}\"");
    let given = match value {
        Value::Integer(_) | Value::Number(_) => show_value(value),
        _ => quoted(&show_value(value)),
    };
    if !rng.chance(0.1) {
        return given;
    }
    match kind {
        Kind::Rate => quoted(pick(rng, &["1bit", "10kbit", "1mbit", "333333bit", "10tbit", "11tbit"])),
        Kind::Time => quoted(pick(rng, &["0s", "0.01ns", "1ms", "10h"])),
        Kind::Size => quoted(pick(rng, &["1B", "100B", "1500B", "1MB", "4294967295B", "4294967296B"])),
        Kind::Limit => quoted(pick(rng, &["1p", "3p", "1000p", "1B", "2kB", "1MB", "0p"])),
        Kind::Integer(low, high) => {
            let beyond = [low, low + 1, (low + high) / 2, high, high.saturating_add(1)];
            beyond[rng.below(5) as usize].to_string()
        }
        Kind::Number(low, high) => {
            [low, (low + high) / 2.0, high, high * 2.0][rng.below(4) as usize].to_string()
        }
        Kind::Word(words) => quoted(pick(rng, words)),
        Kind::Text => given,
    }
}

/// A policy of a role, any of its records: its example, with some values changed or left out.
fn policy<B: BuiltIn>(rng: &mut Rng) -> String {
    let examples = B::examples();
    let one = &examples[rng.below(examples.len() as u64) as usize];
    let record = one.record();
    let mut text = format!("{{ kind = \"{}\"", record.name);
    for (name, value) in one.values() {
        let param = record.params.iter().find(|param| param.name == name).unwrap();
        if rng.chance(0.95) {
            text.push_str(&format!(", {name} = {}", setting(rng, param.kind, &value)));
        }
    }
    // What the example leaves out is given now and then.
    for param in record.params.iter().filter(|param| one.values().iter().all(|(name, _)| *name != param.name))
    {
        if rng.chance(0.2) {
            let value = match param.kind {
                Kind::Rate => Value::Rate(1_000_000),
                Kind::Time => Value::Time(tidegate_core::units::Span::from_millis(3)),
                Kind::Size => Value::Size(1_500),
                _ => continue,
            };
            text.push_str(&format!(", {} = {}", param.name, setting(rng, param.kind, &value)));
        }
    }
    text + " }"
}

/// The keys of a contract.
fn contract(rng: &mut Rng, keys: &mut Vec<String>) {
    if rng.chance(0.6) {
        let rate = pick(rng, &["10kbit", "20kbit", "50kbit", "100kbit", "250kbit", "600kbit"]);
        keys.push(format!("reserve = \"{rate}\""));
        if rng.chance(0.2) {
            keys.push(format!("head_start = \"{}\"", pick(rng, &["0s", "5ms", "100h"])));
        }
    }
    if rng.chance(0.3) {
        keys.push(format!("priority = {}", rng.below(8)));
    }
    if rng.chance(0.15) {
        keys.push(format!("ceiling = \"{}\"", pick(rng, &["100kbit", "600kbit", "1mbit"])));
    }
}

/// Up to four classes, each perhaps part of one before it, and their names.
fn classes(rng: &mut Rng) -> (String, Vec<String>) {
    let (mut text, mut names) = (String::new(), Vec::<String>::new());
    for ix in 0..rng.below(5) * rng.below(2) {
        let mut keys =
            vec![format!("name = \"c{ix}\""), format!("scheduler = {}", policy::<BuiltInScheduler>(rng))];
        if let Some(parent) = names.last().filter(|_| rng.chance(0.4)) {
            keys.push(format!("parent = \"{parent}\""));
        }
        contract(rng, &mut keys);
        guards(rng, &mut keys);
        text.push_str(&format!("[[class]]\n{}\n", keys.join("\n")));
        names.push(format!("c{ix}"));
    }
    (text, names)
}

fn source(rng: &mut Rng) -> String {
    let rate = pick(rng, &["10kbit", "100kbit", "1mbit", "3mbit"]);
    match rng.below(5) {
        0 => format!("{{ kind = \"cbr\", rate = \"{rate}\" }}"),
        1 => format!("{{ kind = \"poisson\", rate = \"{rate}\", times = {} }}", 1 + rng.below(4)),
        2 => format!("{{ kind = \"on-off\", rate = \"{rate}\", peak = \"5mbit\", burst = 4 }}"),
        3 => format!("{{ kind = \"packet-train\", rate = \"{rate}\", length = 3 }}"),
        _ => format!("{{ kind = \"greedy\", window = {} }}", small(rng, 9)),
    }
}

fn flow(rng: &mut Rng, ix: u64, ends: &[&str], classes: &[String], signalled: bool) -> Vec<String> {
    let from = pick(rng, ends);
    let others: Vec<&str> = ends.iter().copied().filter(|end| *end != from).collect();
    let to = if others.is_empty() { from } else { pick(rng, &others) };
    let to = match rng.chance(0.25) {
        true => format!("[{}]", several(rng, &others)),
        false => format!("\"{to}\""),
    };
    let mut keys = vec![
        format!("name = \"f{ix}\"\ncount = {}", small(rng, 20)),
        format!("from = \"{from}\"\nto = {to}"),
        format!("size = \"{}\"", pick(rng, &["40B", "250B", "250B", "1500B", "1501B"])),
        format!("source = {}", source(rng)),
    ];
    contract(rng, &mut keys);
    if keys.iter().any(|key| key.starts_with("reserve")) && rng.chance(0.4) {
        keys.push(format!("interval = \"{}\"", pick(rng, &["1ms", "1s", "2s"])));
        if rng.chance(0.5) {
            keys.push(format!("warned = \"{}\"", pick(rng, &["ignore", "slow", "shrink"])));
        }
    }
    if rng.chance(0.2) {
        keys.push("profile = \"p\"".to_owned());
    }
    if !classes.is_empty() && rng.chance(0.5) {
        keys.push(format!("class = \"{}\"", classes[rng.below(classes.len() as u64) as usize]));
    }
    if rng.chance(0.3) {
        keys.push(format!("envelope = {}", policy::<BuiltInShaper>(rng)));
    }
    let life = match rng.below(6) {
        0 => "start = \"2ms\"\nstop = \"11ms\"",
        1 => "every = \"1ms\"\nlasts = \"4ms\"",
        2 if signalled => "start = \"1ms\"\nhangup = \"9ms\"",
        3 if signalled => "change = [{ at = \"5ms\", reserve = \"100kbit\" }]",
        _ => "start = \"1ms\"",
    };
    keys.push(life.to_owned());
    keys
}

/// Up to three nodes, as a list's entries.
fn several(rng: &mut Rng, ends: &[&str]) -> String {
    let count = 1 + rng.below(3) as usize;
    let first = rng.below(ends.len().max(1) as u64) as usize;
    let named = ends.iter().cycle().skip(first).take(count.min(ends.len()));
    named.map(|end| format!("\"{end}\"")).collect::<Vec<_>>().join(", ")
}

fn connection(rng: &mut Rng, ix: u64, ends: &[&str], classes: &[String]) -> Vec<String> {
    let from = pick(rng, ends);
    let others: Vec<&str> = ends.iter().copied().filter(|end| *end != from).collect();
    let to = if others.is_empty() { from } else { pick(rng, &others) };
    // A window of a million packets fills a queue that is looked through at every event here.
    let transport =
        policy::<BuiltInTransport>(rng).replace(" 500000,", " 900,").replace(" 1000000,", " 900,");
    let mut keys = vec![
        format!("name = \"k{ix}\"\ncount = {}", small(rng, 10)),
        format!("from = \"{from}\"\nto = \"{to}\""),
        format!("size = \"{}\"", pick(rng, &["40B", "250B", "1500B"])),
        format!("transport = {transport}"),
    ];
    contract(rng, &mut keys);
    if rng.chance(0.3) {
        let mut answers = vec!["profile = \"p\"".to_owned()];
        contract(rng, &mut answers);
        keys.push(format!("answers = {{ {} }}", answers.join(", ")));
    }
    if !classes.is_empty() && rng.chance(0.5) {
        keys.push(format!("class = \"{}\"", classes[rng.below(classes.len() as u64) as usize]));
    }
    let life = match rng.below(4) {
        0 => "start = \"2ms\"\nstop = \"11ms\"",
        1 => "every = \"1ms\"\nlasts = \"4ms\"",
        _ => "start = \"1ms\"",
    };
    keys.push(life.to_owned());
    keys
}

/// The topology, and the nodes between which flows may go.
fn topology(rng: &mut Rng) -> (String, Vec<String>) {
    let numbered = |name: &str, most: u64| (1..=most).map(|ix| format!("{name}{ix}")).collect::<Vec<_>>();
    let count = 2 + rng.below(3);
    let links = format!("rate = \"{}\", delay = \"1ms\"", pick(rng, &["1mbit", "1mbit", "3mbit", "400kbit"]));
    match rng.below(6) {
        0 => (format!("{{ kind = \"chain\", switches = {count}, {links} }}"), numbered("s", count)),
        1 => (
            format!("{{ kind = \"chain\", switches = {count}, {links}, access = {{}} }}"),
            numbered("h", count),
        ),
        2 => {
            let ends = [numbered("l", count), numbered("r", count)].concat();
            (format!("{{ kind = \"dumbbell\", pairs = {count}, {links} }}"), ends)
        }
        3 => {
            let ends =
                [vec!["src".into(), "dst".into()], numbered("c", count), numbered("d", count)].concat();
            (format!("{{ kind = \"parking-lot\", hops = {count}, {links} }}"), ends)
        }
        4 => (format!("{{ kind = \"star\", hosts = {count}, {links} }}"), numbered("h", count)),
        _ => (
            "{ kind = \"gate\", file = \"gate.toml\", delay = \"1ms\" }".into(),
            vec!["inside".into(), "outside".into()],
        ),
    }
}

/// A dropper and a meter, each now and then.
fn guards(rng: &mut Rng, keys: &mut Vec<String>) {
    if rng.chance(0.3) {
        keys.push(format!("dropper = {}", policy::<BuiltInDropper>(rng)));
    }
    if rng.chance(0.3) {
        keys.push(format!("meter = {}", policy::<BuiltInMeter>(rng)));
    }
}

/// The ports of switches or of hosts.
fn ports(rng: &mut Rng, of: &str) -> String {
    let mut keys = vec![format!("scheduler = {}", policy::<BuiltInScheduler>(rng))];
    guards(rng, &mut keys);
    format!("{of} = {{ {} }}\n", keys.join(", "))
}

/// A gate's file: flows for the packets that the scenario's bring.
fn gate(rng: &mut Rng) -> String {
    let mut text =
        "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"2mbit\" }\n"
            .to_owned();
    text.push_str(&ports(rng, "port"));
    let (classes, names) = classes(rng);
    text.push_str(&classes);
    for (ix, matching) in ["dscp = 46", "protocol = \"udp\""].into_iter().enumerate() {
        let mut keys = vec![format!("name = \"g{ix}\"\nmatch = {{ {matching} }}")];
        contract(rng, &mut keys);
        if !names.is_empty() && rng.chance(0.5) {
            keys.push(format!("class = \"{}\"", names[0]));
        }
        if rng.chance(0.3) {
            keys.push("each = \"5-tuple\"".to_owned());
        }
        text.push_str(&format!("[[flow]]\n{}\n", keys.join("\n")));
    }
    text
}

/// A scenario's text.
fn scenario(rng: &mut Rng) -> String {
    let (topology, ends) = topology(rng);
    let through_gate = topology.contains("gate");
    let mut text = format!("version = 1\nduration = \"20ms\"\ntopology = {topology}\n");
    if !through_gate || rng.chance(0.3) {
        text.push_str(&ports(rng, "port"));
    }
    if rng.chance(0.2) {
        text.push_str(&ports(rng, "host"));
    }
    if rng.chance(0.3) {
        text.push_str(&format!("switch = {{ buffer = \"{}\" }}\n", pick(rng, &["1p", "10p", "3kB"])));
    }
    let signalled = !through_gate && rng.chance(0.25);
    if signalled {
        text.push_str(&format!("admission = {{ datagrams = {} }}\n", pick(rng, &["0", "0.25", "1"])));
    }
    text.push_str("[[profile]]\nname = \"p\"\nreserve = \"50kbit\"\ninterval = \"1s\"\n");
    let (classes, mut names) = if through_gate { (String::new(), Vec::new()) } else { classes(rng) };
    text.push_str(&classes);
    if rng.chance(0.02) {
        names.push("missing".into());
    }
    let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
    // What a gate gives its flows is in its file.
    let said_elsewhere = [
        "profile",
        "reserve",
        "interval",
        "head_start",
        "priority",
        "ceiling",
        "class",
        "envelope",
        "warned",
    ];
    for ix in 0..small(rng, 4) {
        let mut keys = flow(rng, ix, &ends, &names, signalled);
        if through_gate {
            keys.retain(|key| !said_elsewhere.iter().any(|word| key.starts_with(word)));
            let headers = "flow = \"10.0.0.1:5004>192.0.2.1:5060/udp\", dscp = 46, each = \"5-tuple\"";
            keys.push(format!("headers = {{ {headers} }}"));
        }
        text.push_str(&format!("[[flow]]\n{}\n", keys.join("\n")));
    }
    if !through_gate || rng.chance(0.1) {
        for ix in 0..rng.below(3) {
            let keys = connection(rng, ix, &ends, &names);
            text.push_str(&format!("[[connection]]\n{}\n", keys.join("\n")));
        }
    }
    text
}

/// What became of a scenario: refused by its reader, or run.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused,
    Ran,
}

fn outcome(text: &str, folder: &Path) -> Outcome {
    let scenario = match Scenario::parse(text, "a.toml", folder, &[]) {
        Ok(scenario) => scenario,
        Err(errors) => {
            assert!(!errors.to_string().contains("mistake in tidegate"), "{errors}");
            return Outcome::Refused;
        }
    };
    let network = build(&scenario).unwrap_or_else(|error| panic!("accepted, and not built: {error}"));
    let world = World::<Calendar>::new(&network, 1, &Probes::default());
    let mut world = world.unwrap_or_else(|refused| panic!("accepted, and refused: {refused}"));
    assert!(world.advance(MOST_EVENTS), "it does not end");
    Outcome::Ran
}

#[test]
fn what_is_accepted_runs() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("accepted");
    std::fs::create_dir_all(&folder).unwrap();
    let rounds = if std::env::var_os("TIDEGATE_VERIFY").is_some() { FEW * 20 } else { FEW };
    let (mut ran, mut refused, mut connections, mut trees) = (0, 0, 0, 0);
    for seed in 0..rounds {
        let mut rng = Rng::named(seed, "accepted");
        let gate = gate(&mut rng);
        std::fs::write(folder.join("gate.toml"), &gate).unwrap();
        let text = scenario(&mut rng);
        match catch_unwind(AssertUnwindSafe(|| outcome(&text, &folder))) {
            Ok(Outcome::Ran) => {
                ran += 1;
                connections += u64::from(text.contains("[[connection]]"));
                trees += u64::from(text.contains("\", \""));
            }
            Ok(Outcome::Refused) => refused += 1,
            Err(_) => panic!("seed {seed}:\n{text}\nwith the gate file\n{gate}"),
        }
    }
    assert!(ran > rounds / 8 && refused > rounds / 8, "{ran} ran, {refused} were refused");
    assert!(
        connections > rounds / 20 && trees > rounds / 100,
        "{connections} with connections, {trees} multicast"
    );
}
