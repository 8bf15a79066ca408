//! A gate's file in the simulator: a named flow within its reservation loses nothing and keeps its
//! bound, beside any number of addresses.

mod common;
#[path = "common/long.rs"]
mod long;

use std::sync::atomic::{AtomicU32, Ordering};
use tidegate_core::rng::Rng;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;

static FOLDERS: AtomicU32 = AtomicU32::new(0);
/// The longest frame, in bits.
const FULL: f64 = 1514.0 * 8.0;

/// A gate, a scenario around it, and the longest delay that a packet of the call may have, in
/// seconds.
struct Drawn {
    gate: String,
    scenario: String,
    addresses: u64,
    bound: f64,
}

fn one_of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// The call sends frames of one length, no more than it reserves: its own line takes a frame's time
/// for each. Beside it there is one class for each flow with `each`.
fn draw(seed: u64, most_addresses: f64) -> Drawn {
    let rng = &mut Rng::named(seed, "pattern");
    let rate = between(rng, 2e6, 50e6).round();
    let reserve = (rate * between(rng, 0.03, 0.5)).round();
    let each = (rate * between(rng, 0.002, 0.2)).round();
    let scheduler = one_of(rng, &["wf2q-plus", "wfq", "virtual-clock", ""]);
    let port = if scheduler.is_empty() {
        String::new()
    } else {
        format!("port = {{ scheduler = \"{scheduler}\" }}\n")
    };
    let unit =
        one_of(rng, &["each = \"host\"", "each = \"subscriber\"", "each = \"host\"\nwithin = \"5-tuple\""]);
    let two = rng.chance(0.3);
    let second = format!(
        "[[flow]]\nname = \"web\"\nmatch = {{ outside_port = 80 }}\neach = \"5-tuple\"\nreserve = \"{each}bit\"\n"
    );
    let gate = format!(
        "version = 1\n{port}gate = {{ inside = \"a\", outside = \"b\", up = \"{rate}bit\", down = \"{rate}bit\" }}\n\
         [[flow]]\nname = \"call\"\nmatch = {{ outside_port = 5004 }}\nreserve = \"{reserve}bit\"\n{}\
         [[flow]]\nname = \"hosts\"\n{unit}\nreserve = \"{each}bit\"\n",
        if two { second.as_str() } else { "" }
    );
    let addresses = between(rng, 1.0, most_addresses).round() as u64;
    let (size, length) = (one_of(rng, &["64B", "1514B", "700B"]), one_of(rng, &[64.0, 214.0, 1514.0_f64]));
    // Each address sends as often, and together they send more than the link carries, mostly.
    let load = between(rng, 0.6, 4.0);
    let of_each = (rate * load / addresses as f64).max(1.0).round();
    let calls = (reserve * between(rng, 0.1, 1.0)).round();
    let duration = (60.0 * length * 8.0 / calls).max(3_000.0 * 8.0 * 500.0 / (rate * load)).min(20.0);
    let source = one_of(rng, &["poisson", "cbr"]);
    let scenario = format!(
        "version = 1\nduration = \"{duration:.6}s\"\ntopology = {{ kind = \"gate\", file = \"gate.toml\" }}\n\
         [[flow]]\nname = \"call\"\nfrom = \"inside\"\nto = \"outside\"\nsize = \"{length}B\"\n\
         headers = {{ flow = \"172.16.0.1:5004>192.0.2.1:5004/udp\" }}\nsource = {{ kind = \"cbr\", rate = \"{calls}bit\" }}\n\
         [[flow]]\nname = \"others\"\ncount = {addresses}\nfrom = \"inside\"\nto = \"outside\"\nsize = \"{size}\"\n\
         headers = {{ flow = \"10.0.0.1:9>192.0.2.1:{}/udp\" }}\nsource = {{ kind = \"{source}\", rate = \"{of_each}bit\" }}\n",
        one_of(rng, &[80, 81])
    );
    let beside = if two { 2.0 } else { 1.0 };
    Drawn { gate, scenario, addresses, bound: length * 8.0 / reserve + (1.0 + beside) * FULL / rate }
}

#[test]
fn a_named_flow_within_its_reservation_keeps_its_bound_beside_any_number_of_addresses() {
    let patterns = if long::is_long() { 200 } else { 50 };
    let (mut crowded, mut full) = (0, 0);
    for seed in 0..patterns {
        let Drawn { gate, scenario, addresses, bound } = draw(seed, 100_000.0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tidegate-sim-reservations-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("gate.toml"), &gate).unwrap();
        let parsed = Scenario::parse(&scenario, "a.toml", &folder, &[]);
        std::fs::remove_dir_all(&folder).unwrap();
        let network = assemble(&parsed.unwrap_or_else(|said| panic!("{said}\n{gate}{scenario}"))).unwrap();
        let world = common::run(&network, seed);
        let call = world.records()[0];
        let others: u64 = world.records()[1..].iter().map(|record| record.dropped).sum();
        let longest = call.delay.max().unwrap().as_secs_f64();
        assert!(call.received.0 >= 10, "seed {seed}: {call:?}\n{scenario}");
        assert_eq!(call.dropped, 0, "seed {seed}:\n{gate}{scenario}");
        assert!(longest <= bound + 1e-9, "seed {seed}: {longest} beyond {bound}\n{gate}{scenario}");
        crowded += u32::from(addresses > 100);
        full += u32::from(others > 0);
    }
    assert!(crowded > patterns as u32 / 4 && full > patterns as u32 / 4, "{crowded} crowded, {full} full");
}
