//! Ten TCP connections with time sliding window taggers over a RIO bottleneck (the
//! allocated-capacity paper's Table I): packet-hops and packets of the bottleneck, for CPU seconds
//! and instructions of each.
//!
//! `dumbbell SECONDS` runs once and prints one line; `benches/report.py` drives it.

use std::path::Path;
use std::process::ExitCode;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

const TEN: &str = include_str!("../papers/tidegate_papers/allocated_capacity/ten.toml");
const RIO: &str = r#"{ kind = "rio", min_in = "40p", max_in = "70p", max_p_in = 0.02, min_out = "10p", max_out = "30p", max_p_out = 0.2, weight = 0.002, limit = "200p", signal = "drop", mean_packet = "1500B" }"#;
const TAGGER: &str = r#"{ kind = "tsw-tagger", window = "200ms" }"#;

fn run(seconds: &str) -> Result<String, String> {
    let set = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let mut sets = vec![
        set("link.left-right.dropper", RIO),
        set("duration", &format!("\"{seconds}s\"")),
        set("warmup", "\"0s\""),
    ];
    sets.extend((0..10).map(|host| set(&format!("link.l{host}-left.meter"), TAGGER)));
    let scenario =
        Scenario::parse(TEN, "ten.toml", Path::new(""), &sets).map_err(|mistakes| mistakes.to_string())?;
    let network = assemble(&scenario).map_err(|mistake| mistake.to_string())?;
    // Delays by group are on, as in a run from the command line.
    let probes = Probes { delays: true, ..Probes::default() };
    let mut world: World<Calendar> =
        World::new(&network, 1, &probes).map_err(|refused| refused.to_string())?;
    while !world.advance(1_000_000) {}
    let bottleneck = network.links.iter().position(|link| link.name == "left->right");
    let (carried, _) = bottleneck.map(|ix| world.link(ix).sent).unwrap_or_default();
    Ok(format!("{seconds} {} {carried} {:016x}", world.packet_hops(), world.fingerprint()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match run(arguments.first().map_or("20", String::as_str)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("dumbbell: {wrong}");
            ExitCode::FAILURE
        }
    }
}
