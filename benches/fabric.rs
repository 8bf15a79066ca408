//! Networks of a thousand nodes: packet-hops, for CPU seconds, instructions and cache misses of
//! each.
//!
//! `fabric fat-tree K MICROSECONDS` and `fabric leaf-spine SWITCHES MICROSECONDS` run once and
//! print one line; `benches/report.py` drives them. Every host sends Poisson packets to another
//! one, over a path drawn at random.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use tidegate_core::rng::Rng;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// A scenario in the making: its nodes, links and flows.
struct Fabric {
    text: String,
    rng: Rng,
    link: &'static str,
}

impl Fabric {
    fn new(micros: u64, buffer: u32, link: &'static str) -> Fabric {
        let text = format!("version = 1\nduration = \"{micros}us\"\nswitch = {{ buffer = \"{buffer}p\" }}\n");
        Fabric { text, rng: Rng::named(1, "fabric"), link }
    }

    fn node(&mut self, name: &str, kind: &str) {
        _ = writeln!(self.text, "[[node]]\nname = \"{name}\"\nkind = \"{kind}\"");
    }

    fn link(&mut self, from: &str, to: &str) {
        _ = writeln!(self.text, "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{}\ndelay = \"1us\"", self.link);
    }

    fn flow(&mut self, name: usize, route: &[String], keys: &str) {
        let (from, to) = (&route[0], &route[route.len() - 1]);
        _ = writeln!(
            self.text,
            "[[flow]]\nname = \"f{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nroute = {route:?}\n{keys}"
        );
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit as u64) as usize
    }
}

/// Writes a fat tree of switches with `k` ports (Al-Fares et al. 2008): k³ / 4 hosts, each of which
/// sends 3 of its 10 Gbit/s to the host that a random permutation gives it.
fn fat_tree(k: usize, micros: u64) -> String {
    let half = k / 2;
    let mut fabric = Fabric::new(micros, 2000, "rate = \"10gbit\"");
    for pod in 0..k {
        for at in 0..half {
            fabric.node(&format!("e{pod}x{at}"), "switch");
            fabric.node(&format!("a{pod}x{at}"), "switch");
        }
    }
    for core in 0..half * half {
        fabric.node(&format!("c{core}"), "switch");
    }
    let mut hosts = Vec::new();
    for pod in 0..k {
        for at in 0..half {
            for nth in 0..half {
                let host = format!("h{pod}x{at}x{nth}");
                fabric.node(&host, "host");
                fabric.link(&host, &format!("e{pod}x{at}"));
                hosts.push((pod, at, host));
                fabric.link(&format!("e{pod}x{at}"), &format!("a{pod}x{nth}"));
                fabric.link(&format!("a{pod}x{at}"), &format!("c{}", at * half + nth));
            }
        }
    }
    // Sattolo's cycle: no host sends to itself.
    let mut to: Vec<usize> = (0..hosts.len()).collect();
    for at in (1..to.len()).rev() {
        let other = fabric.below(at);
        to.swap(at, other);
    }
    for (ix, to) in to.into_iter().enumerate() {
        let ((pod, at, from), (to_pod, to_at, to)) = (&hosts[ix], &hosts[to]);
        let (up, core) = (fabric.below(half), fabric.below(half));
        let mut route = vec![from.clone(), format!("e{pod}x{at}")];
        if (pod, at) != (to_pod, to_at) {
            route.push(format!("a{pod}x{up}"));
            if pod != to_pod {
                route.extend([format!("c{}", up * half + core), format!("a{to_pod}x{up}")]);
            }
            route.push(format!("e{to_pod}x{to_at}"));
        }
        route.push(to.clone());
        fabric.flow(ix, &route, "size = \"1500B\"\nsource = { kind = \"poisson\", rate = \"3gbit\" }");
    }
    fabric.text
}

/// Writes a network with four hosts at each leaf and eight spines, with links of 1 Gbit/s; each
/// host sends 150 Mbit/s to a host of another leaf.
fn leaf_spine(switches: usize, micros: u64) -> String {
    const SPINES: usize = 8;
    const HOSTS: usize = 4;
    let leaves = switches - SPINES;
    let mut fabric = Fabric::new(micros, 1000, "rate = \"1gbit\"");
    (0..SPINES).for_each(|spine| fabric.node(&format!("p{spine}"), "switch"));
    for leaf in 0..leaves {
        fabric.node(&format!("l{leaf}"), "switch");
        for host in 0..HOSTS {
            fabric.node(&format!("h{leaf}x{host}"), "host");
            fabric.link(&format!("h{leaf}x{host}"), &format!("l{leaf}"));
        }
        (0..SPINES).for_each(|spine| fabric.link(&format!("l{leaf}"), &format!("p{spine}")));
    }
    for ix in 0..leaves * HOSTS {
        let leaf = ix / HOSTS;
        let to = (leaf + 1 + fabric.below(leaves - 1)) % leaves;
        let (spine, host) = (fabric.below(SPINES), fabric.below(HOSTS));
        let route = [
            format!("h{leaf}x{}", ix % HOSTS),
            format!("l{leaf}"),
            format!("p{spine}"),
            format!("l{to}"),
            format!("h{to}x{host}"),
        ];
        fabric.flow(ix, &route, "size = \"1250B\"\nsource = { kind = \"poisson\", rate = \"150mbit\" }");
    }
    fabric.text
}

fn run(kind: &str, size: usize, micros: u64) -> Result<String, String> {
    let text = match (kind, size) {
        ("fat-tree", 2..) => fat_tree(size, micros),
        ("leaf-spine", 10..) => leaf_spine(size, micros),
        _ => return Err(format!("expected fat-tree K or leaf-spine SWITCHES, found {kind} {size}")),
    };
    let scenario =
        Scenario::parse(&text, "fabric.toml", Path::new(""), &[]).map_err(|mistakes| mistakes.to_string())?;
    let network = assemble(&scenario).map_err(|mistake| mistake.to_string())?;
    // Delays by group are on, as in a run from the command line.
    let probes = Probes { delays: true, ..Probes::default() };
    let mut world: World<Calendar> =
        World::new(&network, 1, &probes).map_err(|refused| refused.to_string())?;
    while !world.advance(1_000_000) {}
    Ok(format!("{kind} {micros} {} {:016x}", world.packet_hops(), world.fingerprint()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match words[..] {
        [kind, size, micros] => match (size.parse(), micros.parse()) {
            (Ok(size), Ok(micros)) => run(kind, size, micros),
            _ => Err(format!("expected two numbers, found {size} and {micros}")),
        },
        _ => Err("expected fat-tree|leaf-spine SIZE MICROSECONDS".into()),
    };
    match line {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("fabric: {wrong}");
            ExitCode::FAILURE
        }
    }
}
