//! Three ABR connections in the parking lot of the VS/VD paper, without VS/VD or with its option D: cell-hops, for CPU seconds
//! and instructions of each.
//!
//! `abr plain|vsvd MILLISECONDS` runs once and prints one line; `benches/report.py` drives it.

use std::path::Path;
use std::process::ExitCode;
use tidegate_sim::build::build;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;
use tidegate_spec::Scenario;

const LOT: &str = include_str!("../python/tidegate/papers/vsvd/parking-lot.toml");

fn run(how: &str, milliseconds: &str) -> Result<String, String> {
    let mut sets = vec![("duration".to_owned(), format!("\"{milliseconds}ms\""))];
    match how {
        "plain" => {}
        "vsvd" => sets.push(("port.vsvd".to_owned(), "{}".to_owned())),
        other => return Err(format!("there is no `{other}`: it is plain or vsvd")),
    }
    let scenario = Scenario::parse(LOT, "parking-lot.toml", Path::new(""), &sets);
    let network =
        build(&scenario.map_err(|mistakes| mistakes.to_string())?).map_err(|mistake| mistake.to_string())?;
    // Delays by group are on, as in a run from the command line.
    let probes = Probes { delays: true, ..Probes::default() };
    let mut world: World<Calendar> =
        World::new(&network, 1, &probes).map_err(|refused| refused.to_string())?;
    while !world.advance(1_000_000) {}
    Ok(format!("{milliseconds} {} {:016x}", world.packet_hops(), world.fingerprint()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let how = arguments.first().map_or("plain", String::as_str);
    match run(how, arguments.get(1).map_or("200", String::as_str)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("abr: {wrong}");
            ExitCode::FAILURE
        }
    }
}
