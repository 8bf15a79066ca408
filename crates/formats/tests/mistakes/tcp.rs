//! TCP settings that are refused before a run.

use super::{Mistake, check};

const GOOD: &str = r#"version = 1
duration = "1s"
topology = { kind = "chain", switches = 2, rate = "1mbit", access = {} }
[[connection]]
name = "transfer"
from = "h1"
to = "h2"
size = "1kB"
transport = { kind = "tcp", congestion = "reno", recovery = "sack", ecn = "on", granularity = "10ms", minimum_rto = "200ms", maximum_rto = "60s", delayed_acks = "100ms", initial_window = 2, receiver_window = "64kB", header = "40B" }
"#;

const MISTAKES: &[Mistake] = &[
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"on-off-data\", rate = \"1mbit\", on = \"0s\", off = \"1s\" }",
        "a.toml:9:53: `on` is zero",
        None,
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"on-off-data\", rate = \"1mbit\", on = \"1s\", off = \"0s\" }",
        "a.toml:9:65: `off` is zero",
        None,
    ),
    (
        "\"reno\"",
        "\"renos\"",
        "a.toml:9:42: there is no congestion control `renos`",
        Some("did you mean `reno`?"),
    ),
    ("\"sack\"", "\"sacks\"", "a.toml:9:61: there is no recovery `sacks`", Some("did you mean `sack`?")),
    ("\"on\"", "\"yes\"", "a.toml:9:75: there is no ecn `yes`", Some("it is one of on, off")),
    (
        "granularity = \"10ms\"",
        "granularity = \"0ms\"",
        "a.toml:9:95: `granularity` is zero: a clock needs ticks",
        None,
    ),
    (
        "granularity = \"10ms\"",
        "granularity = \"500ms\"",
        "a.toml:9:118: `minimum_rto` (0.2s) is below `granularity` (0.5s), a tick of its clock",
        None,
    ),
    (
        "maximum_rto = \"60s\"",
        "maximum_rto = \"100ms\"",
        "a.toml:9:140: `maximum_rto` (0.1s) is below `minimum_rto` (0.2s)",
        None,
    ),
    (
        "delayed_acks = \"100ms\"",
        "delayed_acks = \"500ms\"",
        "a.toml:9:162: `delayed_acks` (0.5s) is not below 0.5s (RFC 5681, section 4.2)",
        None,
    ),
    (
        "initial_window = 2",
        "initial_window = 0",
        "a.toml:9:188: `initial_window`: 0 is out of range",
        Some("it takes a whole number from 1 to 1000"),
    ),
    (
        "receiver_window = \"64kB\"",
        "receiver_window = \"959B\"",
        "a.toml:9:209: `receiver_window` (959B) is below a segment (960B)",
        None,
    ),
    (
        "header = \"40B\"",
        "header = \"1000B\"",
        "a.toml:9:226: `header` (1000B) leaves no room for data in a packet of `size` (1000B)",
        None,
    ),
    (
        "header = \"40B\"",
        "header = \"4MiB\"",
        "a.toml:9:13: acknowledgements of this transport (4194304B) are above 1 MiB (1048576B)",
        None,
    ),
];

#[test]
fn what_tcp_needs() {
    super::parse(GOOD, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    for (good, bad, first, help) in MISTAKES {
        assert!(GOOD.contains(good), "{good}");
        check(&GOOD.replacen(good, bad, 1), &[], first, *help);
    }
}

/// A file of the time when one key was both settings learns the two words that keep its meaning.
#[test]
fn a_variant_of_old_learns_its_two_settings() {
    const SETTINGS: &str = "congestion = \"reno\", recovery = \"sack\"";
    let first = "a.toml:9:29: `variant` is now two settings, `congestion` and `recovery`";
    for (variant, settings) in [
        ("reno", "congestion = \"reno\", recovery = \"reno-1990\""),
        ("newreno", "congestion = \"reno\", recovery = \"newreno\""),
        ("sack", "congestion = \"reno\", recovery = \"sack\""),
        ("cubic", "congestion = \"cubic\", recovery = \"sack\""),
    ] {
        let help = format!("variant = \"{variant}\" was {settings}");
        check(&GOOD.replace(SETTINGS, &format!("variant = \"{variant}\"")), &[], first, Some(&help));
        super::parse(&GOOD.replace(SETTINGS, settings), &[]).unwrap_or_else(|errors| panic!("{errors}"));
    }
    let help = Some("as in congestion = \"cubic\", recovery = \"sack\"");
    check(&GOOD.replace(SETTINGS, "variant = 3"), &[], first, help);
    let set = [("connection.transfer.transport.variant", "sack")];
    let first = "--set connection.transfer.transport.variant=sack: `variant` is now two settings, `congestion` and \
                 `recovery`";
    check(GOOD, &set, first, help);
}
