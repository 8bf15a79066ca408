//! Small seeded networks as tables: a change in behaviour is a diff that a person reads.
//!
//! `INSTA_UPDATE=always cargo test -p tidegate-sim --test behaviour` writes them anew.

mod common;

use common::run;
use std::fmt::Write;
use std::path::Path;
use tidegate_core::stats::Moments;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;

/// Three switches; conforming voice, bursty video, a sender at five times its reservation, greedy
/// bulk and datagrams, through a small pool.
const SCENARIO: &str = r#"
version = 1
duration = "30s"
topology = { kind = "chain", switches = 3, rate = "2mbit", delay = "5ms", access = { rate = "10mbit", delay = "1ms" } }
switch = { buffer = "60p" }
[[flow]]
name = "voice"
from = "h1"
to = "h3"
reserve = "80kbit"
priority = 0
size = "200B"
source = { kind = "cbr", rate = "80kbit" }
[[flow]]
name = "video"
from = "h1"
to = "h3"
reserve = "600kbit"
priority = 1
size = ["400B", "1200B"]
source = { kind = "on-off", rate = "500kbit", peak = "4mbit", burst = 12 }
[[flow]]
name = "offender"
from = "h2"
to = "h3"
reserve = "200kbit"
priority = 1
size = "250B"
source = { kind = "packet-train", rate = "200kbit", times = 5 }
[[flow]]
name = "bulk"
from = "h1"
to = "h2"
reserve = "500kbit"
priority = 2
size = "1500B"
envelope = { rate = "500kbit", burst = "3000B", queue = "20p" }
source = { kind = "greedy" }
[[flow]]
name = "datagrams"
from = "h2"
to = "h3"
priority = 7
size = "576B"
source = { kind = "poisson", rate = "700kbit" }
"#;

fn table(scheduler: &str) -> String {
    let sets = [("port.scheduler".to_owned(), scheduler.to_owned())];
    let scenario = Scenario::parse(SCENARIO, "behaviour.toml", Path::new("."), &sets).unwrap();
    let network = tidegate_sim::assemble::assemble(&scenario).unwrap();
    let world = run(&network, 1);
    let mut text = format!("{scheduler}, fingerprint {:016x}\n", world.fingerprint());
    let ms = |span: Option<Span>| span.map_or("-".into(), |span| format!("{:.2}", span.as_secs_f64() * 1e3));
    let mean = |moments: &Moments| ms(moments.mean());
    writeln!(text, "flow          sent  received  dropped  discarded  kbit/s  queueing ms: mean      max")
        .unwrap();
    for (flow, record) in network.flows.iter().zip(world.records()) {
        writeln!(
            text,
            "{:<12}{:>6}{:>10}{:>9}{:>11}{:>8.1}{:>19}{:>9}",
            flow.name,
            record.sent.0,
            record.received.0,
            record.dropped,
            record.discarded,
            record.received.1 as f64 * 8.0 / 30e3,
            mean(&record.queueing),
            ms(record.queueing.max()),
        )
        .unwrap();
    }
    writeln!(text, "link        packets  dropped  busy %  longest queue").unwrap();
    for (ix, link) in network.links.iter().enumerate() {
        let report = world.link(ix);
        let stats = report.stats.unwrap();
        if report.sent.0 > 0 {
            let busy = 100.0 * stats.busy().as_secs_f64() / 30.0;
            let (sent, dropped) = (report.sent.0, report.dropped);
            writeln!(text, "{:<10}{sent:>9}{dropped:>9}{busy:>8.1}{:>15}", link.name, stats.longest).unwrap();
        }
    }
    text
}

#[test]
fn fifo() {
    insta::assert_snapshot!(table("fifo"));
}

#[test]
fn strict_priority() {
    insta::assert_snapshot!(table("strict-priority"));
}

#[test]
fn virtual_clock() {
    insta::assert_snapshot!(table("virtual-clock"));
}
