//! Mistakes: the message gives the file, the line, the mistake and the correct form.

mod abr;
mod adaptation;
mod assurance;
#[path = "../common/mod.rs"]
mod common;
mod connections;
mod credit;
mod detectors;
mod droppers;
mod flows;
mod head;
mod meters;
mod network;
mod policies;
mod profiles;
mod sources;
mod tcp;

use common::{FULL, parse};
use flows::FLOWS;
use head::HEAD;
use network::NETWORK;
use sources::SOURCES;
use tidegate_formats::{GateFile, MAX_REPORTED, Scenario};

/// Text replaced in a good scenario, its replacement, and the first mistake: place, message, help.
type Mistake = (&'static str, &'static str, &'static str, Option<&'static str>);

const OVERRIDES: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "duraton",
        "1s",
        "--set duraton=1s: this scenario has no key `duraton`",
        Some("did you mean `duration`?"),
    ),
    (
        "duration",
        "1",
        "--set duration=1: `duration`: a time needs a unit, and `1` has none",
        Some("write it as in `5ms`"),
    ),
    ("duration.x", "1", "--set duration.x=1: `duration` has no keys in it", None),
    (
        "flow",
        "1",
        "--set flow=1: `flow` is a whole table: name one of its keys",
        Some("as in `flow.NAME.count`"),
    ),
    (
        "flow.voise.count",
        "1",
        "--set flow.voise.count=1: this scenario has no flow `voise`",
        Some("did you mean `voice`?"),
    ),
    (
        "flow.voice.source.raet",
        "1",
        "--set flow.voice.source.raet=1: `cbr` has no key `raet`",
        Some("did you mean `rate`?"),
    ),
    (
        "port.scheduler",
        "fif",
        "--set port.scheduler=fif: there is no scheduler `fif`",
        Some("did you mean `fifo`?"),
    ),
    (
        "link.s1-s2.rate",
        "1mbit",
        "--set link.s1-s2.rate=1mbit: this scenario has no link `s1-s2`",
        Some("the only one is `s9-s1`"),
    ),
    ("topology.kind", "star", "a.toml:7:12: topology `star` needs `hosts`", Some("Number of hosts")),
];

/// Column of a text in a line, from 1.
fn column(text: &str, line: usize, what: &str) -> usize {
    text.lines().nth(line - 1).unwrap().find(what).unwrap() + 1
}

fn check(text: &str, sets: &[(&str, &str)], first: &str, help: Option<&str>) {
    let errors = match parse(text, sets) {
        Ok(_) => panic!("no mistake was found, and {first} was expected"),
        Err(errors) => errors,
    };
    let shown = errors.errors[0].to_string();
    assert_eq!(shown.lines().next(), Some(first), "{errors}");
    assert_eq!(errors.errors[0].help.as_deref(), help, "{errors}");
}

#[test]
fn every_mistake_is_placed_and_explained() {
    for (good, bad, first, help) in [HEAD, NETWORK, FLOWS, SOURCES].into_iter().flatten() {
        assert!(FULL.contains(good), "{good}");
        check(&FULL.replacen(good, bad, 1), &[], first, *help);
    }
}

#[test]
fn overrides_are_checked_like_the_file() {
    for (path, value, first, help) in OVERRIDES {
        check(FULL, &[(path, value)], first, *help);
    }
}

#[test]
fn a_mistake_is_shown_in_its_line() {
    let errors =
        parse(&FULL.replace("\"virtual-clock\", dropper", "\"virtualclock\", dropper"), &[]).unwrap_err();
    let expected = "\
a.toml:8:22: there is no scheduler `virtualclock`
  8 | port = { scheduler = \"virtualclock\", dropper = { kind = \"drop-tail\", limit = \"100p\" } }
    |                      ^^^^^^^^^^^^^^
  help: did you mean `virtual-clock`?";
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn independent_mistakes_are_listed_together_up_to_a_limit() {
    let text =
        FULL.replace("seed = 7", "sed = 7").replace("count = 8", "count = 0").replace("\"1kB\"", "\"1KB\"");
    let errors = parse(&text, &[]).unwrap_err();
    assert_eq!(errors.errors.iter().map(|error| error.line).collect::<Vec<_>>(), [3, 36, 59]);
    let many: String = (0..100).map(|index| format!("key{index} = 1\n")).collect();
    let errors = parse(&format!("version = 1\n{many}"), &[]).unwrap_err();
    assert_eq!((errors.errors.len(), errors.truncated), (MAX_REPORTED, true));
    assert!(errors.to_string().ends_with("only the first 20 mistakes are listed"));
}

#[test]
fn there_must_be_a_way() {
    let text = FULL.replace("ceiling = \"1mbit\"", "duplex = false").replace("to = \"h2\"", "to = \"s2\"");
    let text = text.replace("from = \"h2\"\nto = \"h3\"", "from = \"h2\"\nto = \"s9\"");
    check(
        &text,
        &[],
        "a.toml:58:6: no route from h2 to s9",
        Some("only switches forward, and a link with duplex = false goes one way"),
    );
}

#[test]
fn hostile_texts_are_refused() {
    for text in [
        format!("a{} = 1", ".a".repeat(10_000)),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
        "[[flow]]\n".repeat(10_000),
        format!("version = 1\nduration = \"{}\"", "9".repeat(100_000)),
        " ".repeat((8 << 20) + 1),
    ] {
        let errors = parse(&text, &[]).unwrap_err();
        assert!(errors.to_string().len() < 10_000, "{errors}");
    }
}

#[test]
fn files_that_are_no_scenarios_are_refused() {
    let folder = std::env::temp_dir().join(format!("tidegate-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load =
        |name: &str| Scenario::load(&folder.join(name), &[]).map(|_| ()).map_err(|errors| errors.to_string());
    std::fs::write(folder.join("latin.toml"), b"version = 1\nname = \"\xe9\"\n").unwrap();
    // A sparse file of 100 MB, which must not be read.
    std::fs::File::create(folder.join("huge.toml")).unwrap().set_len(100_000_000).unwrap();
    std::fs::write(folder.join("gate.toml"), "version = 1\ngate = { up = \"1mbit\" }\nflow = []\n").unwrap();
    std::fs::write(folder.join("fine.toml"), "version = 1\nduration = \"1s\"\n").unwrap();
    for (name, expected) in [
        ("none.toml", "cannot be read: No such file"),
        ("latin.toml", "is not text: line 2 is not UTF-8"),
        ("huge.toml", "is too large for a scenario: 100 MB, and at most 8 MiB are read"),
        (".", "is a folder, not a scenario file"),
        ("gate.toml", "gate.toml:2:1: this is a gate file"),
        ("gate.toml", "help: `tidegate gate check FILE` checks it"),
    ] {
        let message = load(name).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(load("fine.toml"), Ok(()));
    let swapped = GateFile::load(&folder.join("fine.toml"), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(swapped.contains("fine.toml:2:1: this is a scenario"), "{swapped}");
    assert!(swapped.contains("help: `tidegate check FILE` checks it"), "{swapped}");
    std::fs::remove_dir_all(&folder).unwrap();
}
