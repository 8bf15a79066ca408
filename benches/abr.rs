//! ABR under ERICA, without VS/VD or with its option D: cell-hops, for CPU seconds and instructions
//! of each. Three connections in the parking lot of the VS/VD paper, or a thousand over a path of
//! ten switches.
//!
//! `abr lot|path plain|vsvd MILLISECONDS` runs once and prints one line; `benches/report.py` drives
//! it.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

const LOT: &str = include_str!("../papers/tidegate_papers/vsvd/parking-lot.toml");

/// Writes a path of ten switches between the host of a thousand sources and their destinations'.
fn path() -> String {
    let mut text = String::from(
        "version = 1\nport = { rate_control = { kind = \"erica\", interval = \"1ms\" } }\n\
         node = [{ name = \"from\", kind = \"host\" }, { name = \"to\", kind = \"host\" }",
    );
    let mut before = "from".to_owned();
    let mut links = String::new();
    for switch in 0..10 {
        _ = write!(text, ", {{ name = \"s{switch}\" }}");
        _ = write!(links, "{}", link(&before, &format!("s{switch}")));
        before = format!("s{switch}");
    }
    links += &link(&before, "to");
    text + "]\n"
        + &links
        + "[[connection]]\nname = \"vc\"\ncount = 1000\nfrom = \"from\"\nto = \"to\"\nsize = \"53B\"\n\
           transport = { kind = \"abr\", pcr = \"2mbit\", icr = \"500kbit\", rif = 1 }\n"
}

fn link(from: &str, to: &str) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"622080kbit\"\ndelay = \"1ms\"\n")
}

fn run(network: &str, how: &str, milliseconds: &str) -> Result<String, String> {
    let mut sets = vec![("duration".to_owned(), format!("\"{milliseconds}ms\""))];
    match how {
        "plain" => {}
        "vsvd" => sets.push(("port.vsvd".to_owned(), "{}".to_owned())),
        other => return Err(format!("there is no `{other}`: it is plain or vsvd")),
    }
    let text = match network {
        "lot" => LOT.to_owned(),
        "path" => path(),
        other => return Err(format!("there is no `{other}`: it is lot or path")),
    };
    let scenario = Scenario::parse(&text, "abr.toml", Path::new(""), &sets);
    let network = assemble(&scenario.map_err(|mistakes| mistakes.to_string())?)
        .map_err(|mistake| mistake.to_string())?;
    // Delays by group are on, as in a run from the command line.
    let probes = Probes { delays: true, ..Probes::default() };
    let mut world: World<Calendar> =
        World::new(&network, 1, &probes).map_err(|refused| refused.to_string())?;
    while !world.advance(1_000_000) {}
    Ok(format!("{milliseconds} {} {:016x}", world.packet_hops(), world.fingerprint()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let argument = |nth: usize, default| arguments.get(nth).map_or(default, String::as_str);
    match run(argument(0, "lot"), argument(1, "plain"), argument(2, "200")) {
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
