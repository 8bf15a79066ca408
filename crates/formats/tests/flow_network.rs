//! Mistakes about flows that are set up, monitored, changed and torn down.

mod common;

use common::parse;
use tidegate_formats::WhenWarned;

const FULL: &str = r#"version = 1
duration = "60s"
topology = { kind = "chain", switches = 3, rate = "1mbit", delay = "5ms" }
port = { scheduler = "virtual-clock", meter = { kind = "flow-monitor", threshold = "2s", excess = "drop" } }
admission = { datagrams = 0.1, interval = "10s" }

[[flow]]
name = "call"
count = 20
from = "s1"
to = "s3"
reserve = "64kbit"
interval = "1s"
head_start = "100ms"
size = "160B"
start = "5s"
every = "2s"
lasts = "20s"
hangup = "50s"
warned = "slow"
change = [{ at = "10s", reserve = "128kbit", interval = "500ms", rate = "128kbit" }, { at = "20s", reserve = "32kbit" }]
source = { kind = "cbr", rate = "64kbit" }
"#;

#[test]
fn every_key_is_read() {
    let scenario = parse(FULL, &[]).unwrap();
    let admission = scenario.admission.unwrap();
    assert_eq!((admission.datagrams, admission.longest_interval.unwrap().as_secs_f64()), (0.1, 10.0));
    let call = &scenario.groups[0];
    let seconds = |span: Option<tidegate_core::units::Span>| span.map(|span| span.as_secs_f64());
    assert_eq!(seconds(call.contract.interval()), Some(1.0));
    assert_eq!(call.contract.contract().head_start.as_secs_f64(), 0.1);
    assert_eq!(
        (seconds(call.every), seconds(call.lasts), seconds(call.hangup)),
        (Some(2.0), Some(20.0), Some(50.0))
    );
    assert_eq!(call.warned, WhenWarned::Slow);
    let rates: Vec<_> = call.changes.iter().map(|change| (change.reserve, change.rate)).collect();
    assert_eq!(rates, [(128_000, Some(128_000)), (32_000, None)]);
}

/// Replaced text, its replacement, and the first mistake: place, message, help.
const MISTAKES: &[(&str, &str, &str, Option<&str>)] = &[
    ("0.1", "1.5", "a.toml:5:27: `datagrams`: 1.5 is out of range", Some("it takes a number from 0 to 1")),
    ("\"drop\"", "\"dorp\"", "a.toml:4:99: there is no excess `dorp`", Some("did you mean `drop`?")),
    (
        "\"flow-monitor\"",
        "\"flow-moniter\"",
        "a.toml:4:56: there is no meter `flow-moniter`",
        Some("did you mean `flow-monitor`?"),
    ),
    ("interval = \"1s\"", "interval = \"0s\"", "a.toml:13:12: `interval` is zero", None),
    (
        "interval = \"1s\"",
        "interval = \"1ms\"",
        "a.toml:13:12: `interval` (1ms) is shorter than a packet's time at `reserve` (1/AR), 20ms",
        None,
    ),
    (
        "reserve = \"64kbit\"\n",
        "",
        "a.toml:7:1: flow `call` has no reservation to change",
        Some("give it a `reserve`"),
    ),
    (
        "interval = \"1s\"\n",
        "",
        "a.toml:19:10: a flow without `interval` is not monitored, and never warned",
        Some("give it an `interval`"),
    ),
    ("\"slow\"", "\"slowly\"", "a.toml:20:10: there is no warned `slowly`", Some("did you mean `slow`?")),
    (
        "lasts = \"20s\"",
        "lasts = \"20s\"\nstop = \"40s\"",
        "a.toml:18:9: `stop` and `lasts` both say when the flow ends",
        Some("leave out one of them"),
    ),
    ("every = \"2s\"", "every = \"0s\"", "a.toml:17:9: `every` is zero", None),
    ("hangup = \"50s\"", "hangup = \"5s\"", "a.toml:19:10: `hangup` is not later than `start`", None),
    (
        "at = \"20s\"",
        "at = \"10s\"",
        "a.toml:21:93: `at` is not later than the flow's `start` and the previous change",
        None,
    ),
    (
        "admission = { datagrams = 0.1, interval = \"10s\" }\n",
        "",
        "a.toml:6:1: flow `call`: `hangup` needs flows that are set up",
        Some("add [admission]"),
    ),
];

#[test]
fn mistakes_are_placed_and_explained() {
    for (good, bad, first, help) in MISTAKES {
        assert!(FULL.contains(good), "{good}");
        let errors = parse(&FULL.replacen(good, bad, 1), &[]).expect_err(first);
        let shown = errors.errors[0].to_string();
        assert_eq!(shown.lines().next(), Some(*first), "{errors}");
        assert_eq!(errors.errors[0].help.as_deref(), *help, "{errors}");
    }
}

#[test]
fn a_greedy_source_cannot_shrink_its_packets() {
    let text =
        FULL.replace("\"slow\"", "\"shrink\"").replace("{ kind = \"cbr\", rate = \"64kbit\" }", "\"greedy\"");
    let errors = parse(&text, &[]).unwrap_err();
    assert!(errors.to_string().contains("no times of its own at which to send smaller packets"), "{errors}");
}

#[test]
fn what_only_a_reservation_gives_a_meaning_to() {
    let change = &FULL[FULL.find("change =").unwrap()..FULL.find("source =").unwrap()];
    let text = FULL.replace("reserve = \"64kbit\"\n", "").replace(change, "");
    let errors = parse(&text, &[]).unwrap_err();
    let keys: Vec<_> = errors.errors.iter().map(|error| (error.line, error.message.as_str())).collect();
    assert_eq!(
        keys,
        [
            (12, "`interval` has no effect on a flow without a reservation"),
            (13, "`head_start` has no effect on a flow without a reservation"),
        ]
    );
}

/// Admission books links, and flows in a class are booked in their class.
#[test]
fn a_flow_in_a_class_is_not_set_up() {
    let text = FULL.replace("reserve = \"64kbit\"", "reserve = \"64kbit\"\nclass = \"gold\"");
    let text = format!("{text}\n[[class]]\nname = \"gold\"\nscheduler = \"fifo\"\n");
    let errors = parse(&text, &[]).unwrap_err();
    assert!(errors.to_string().contains("reserves in a class, and `admission` books links only"), "{errors}");
}
