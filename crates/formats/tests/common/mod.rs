//! Common parts of the tests.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::path::Path;
use tidegate_formats::{FormatErrors, Scenario};

/// A scenario without mistakes that uses most of the format.
pub const FULL: &str = r#"version = 1
name = "congested chain"      # kept by --set
seed = 7
duration = "60s"
warmup = "5s"

topology = { kind = "chain", switches = 3, rate = "1mbit", delay = "5ms", access = { rate = "10mbit", delay = "1ms" } }
port = { scheduler = "virtual-clock", dropper = { kind = "drop-tail", limit = "100p" } }
switch = { buffer = "200p" }

[[node]]
name = "s9"
buffer = "1MB"

[[link]]
from = "s9"
to = "s1"
rate = "2mbit"
delay = "1ms"
scheduler = "fifo"
ceiling = "1mbit"

[[class]]
name = "gold"
scheduler = "virtual-clock"
reserve = "600kbit"

[[class]]
name = "inner"
parent = "gold"
scheduler = "fifo"
reserve = "600kbit"

[[flow]]
name = "voice"
count = 8
from = "h1"
to = "h3"
route = ["h1", "s1", "s2", "s3", "h3"]
reserve = "64kbit"
class = "inner"
size = "160B"
stop = "50s"
source = { kind = "cbr", rate = "64kbit" }   # as agreed
envelope = { rate = "64kbit", burst = "800B", queue = "20p" }

[[flow]]
name = "data"
from = "s9"
to = "h2"
size = ["64B", "1500B"]
priority = 3
source = { kind = "on-off", rate = "100kbit", peak = "1mbit", burst = 10, times = 2 }

[[flow]]
name = "bulk"
from = "h2"
to = "h3"
size = "1kB"

[flow.source]
kind = "greedy"
"#;

/// Reads a text as `a.toml` with overrides.
pub fn parse(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, FormatErrors> {
    let sets: Vec<_> = sets.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(text, "a.toml", Path::new("tests"), &sets)
}
