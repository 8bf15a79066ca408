//! A thousand VCs with credit over a path of ten switches: cell-hops, for instructions of each.
//!
//! `credit MILLISECONDS` runs once and prints one line; `benches/report.py` drives it.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Writes a path of ten switches, with credit on all its links.
fn scenario(milliseconds: &str) -> String {
    let mut text = format!(
        "version = 1\nduration = \"{milliseconds}ms\"\nport = {{ scheduler = \"round-robin\", credit = {{ n2 = 4 }} }}\n"
    );
    for node in 0..=10 {
        _ = write!(text, "[[node]]\nname = \"s{node}\"\n");
    }
    for link in 0..10 {
        _ = write!(
            text,
            "[[link]]\nfrom = \"s{link}\"\nto = \"s{}\"\nrate = \"424mbit\"\ndelay = \"10us\"\n",
            link + 1
        );
    }
    text + "[[flow]]\nname = \"vc\"\ncount = 1000\nfrom = \"s0\"\nto = \"s10\"\nsize = \"53B\"\n\
            source = { kind = \"greedy\", window = 2 }\n"
}

fn run(milliseconds: &str) -> Result<String, String> {
    let scenario = Scenario::parse(&scenario(milliseconds), "credit.toml", Path::new(""), &[])
        .map_err(|mistakes| mistakes.to_string())?;
    let network = assemble(&scenario).map_err(|mistake| mistake.to_string())?;
    let mut world: World<Calendar> =
        World::new(&network, 1, &Probes::default()).map_err(|refused| refused.to_string())?;
    while !world.advance(1_000_000) {}
    let credits: u64 = world.credit_links().iter().map(|link| link.credit_cells.packets).sum();
    Ok(format!("{milliseconds} {} {credits} {:016x}", world.packet_hops(), world.fingerprint()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match run(arguments.first().map_or("100", String::as_str)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("credit: {wrong}");
            ExitCode::FAILURE
        }
    }
}
