//! The five-server chain: packet-hops per CPU second, and a run for callgrind to count instructions
//! per packet-hop.
//!
//! `chain SCHEDULER SECONDS [MILLISECONDS]` runs once, with links of that many milliseconds (none
//! by default), and prints one line; `benches/report.py` drives it.

use std::process::ExitCode;
use tidegate_core::units::Span;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

#[path = "../crates/sim/tests/common/mod.rs"]
mod common;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let scheduler = arguments.first().map_or("virtual-clock", String::as_str);
    let number = |at: usize, default| arguments.get(at).map_or(Some(default), |text| text.parse().ok());
    let (Some(seconds), Some(delay)) = (number(1, 10), number(2, 0)) else {
        eprintln!("chain: expected SCHEDULER SECONDS [MILLISECONDS], found {arguments:?}");
        return ExitCode::FAILURE;
    };
    let mut network = common::five_servers(scheduler, Span::from_secs(seconds));
    network.links.iter_mut().for_each(|link| link.delay = Span::from_millis(delay));
    // Delays by group are on, as in a run from the command line.
    let probes = Probes { delays: true, ..Probes::default() };
    let mut world: World<Calendar> = match World::new(&network, 1, &probes) {
        Ok(world) => world,
        Err(refused) => {
            eprintln!("chain: {refused}");
            return ExitCode::FAILURE;
        }
    };
    while !world.advance(1_000_000) {}
    println!("{scheduler} {seconds} {} {:016x}", world.packet_hops(), world.fingerprint());
    ExitCode::SUCCESS
}
