//! Every pair of features that affect the fate of packets, and random scenarios of all kinds.

use super::abr;
use super::credit;
use super::{folder, ledger, network, run};
use crate::generate::{self, Manner};
use crate::pairs::{FEATURES, scenario};
use std::collections::BTreeMap;
use tidegate_core::rng::Rng;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::results::{Table, Values, tables};
use tidegate_sim::world::World;

/// Scenarios for each pair.
const EACH: u64 = 2;
/// Scenarios of all kinds.
const OF_ALL_KINDS: u64 = 200;
const MAX_EVENTS: u64 = 400_000;

fn number<'t>(table: &'t Table, name: &str) -> &'t [Option<f64>] {
    match table.column(name) {
        Some(Values::Number(values)) => values,
        _ => panic!("`{name}` is no column of numbers"),
    }
}

/// Shares are between 0 and 1.
pub fn check_shares(table: &Table, column: &str) -> Result<(), String> {
    let above = number(table, column).iter().flatten().find(|share| **share > 1.0 + 1e-9);
    above.map_or(Ok(()), |share| Err(format!("{column} of {}: {share}", table.record.name)))
}

/// Shares are between 0 and 1, and no more packets are received than were sent.
fn check_tables(network: &Network, world: &World<Calendar>) -> Result<(), String> {
    let tables = tables(network, world, 0, 1);
    let table = |name: &str| tables.iter().find(|table| table.record.name == name).unwrap();
    check_shares(table("links"), "utilisation")?;
    credit::check(table, world)?;
    let pairs = number(table("flows"), "goodput").iter().zip(number(table("flows"), "throughput"));
    for (goodput, throughput) in pairs {
        if goodput > throughput {
            return Err(format!("goodput {goodput:?} is above throughput {throughput:?}"));
        }
    }
    for flow in 0..network.flows.len() {
        if world.missed(flow) > world.records()[flow].sent.0 * u64::from(network.flows[flow].destinations()) {
            return Err(format!("{}: more copies are missed than are due", network.flows[flow].name));
        }
        if let Some(counts) = world.packets_of_cells(flow)
            && (counts.received.packets > counts.sent.packets || counts.received.bytes > counts.sent.bytes)
        {
            return Err(format!("{}: {counts:?}", network.flows[flow].name));
        }
    }
    Ok(())
}

/// Counts of packets by their fate.
#[derive(Debug, Default)]
struct Came {
    runs: u64,
    received: u64,
    dropped: u64,
    lost: u64,
    absorbed: u64,
    discarded: u64,
    under_way: u64,
}

impl Came {
    fn check(&mut self, network: &Network, world: &World<Calendar>) -> Result<(), String> {
        let books = ledger::check(network, world)?;
        check_tables(network, world)?;
        self.runs += 1;
        let any =
            |of: fn(&ledger::Books) -> u64| u64::from(books.iter().map(of).fold(0, u64::saturating_add) > 0);
        self.received += any(|books| books.received);
        self.dropped += any(|books| books.dropped);
        self.lost += any(|books| books.lost);
        self.absorbed += any(|books| books.absorbed);
        self.discarded += any(|books| books.discarded);
        self.under_way += any(|books| books.under_way);
        Ok(())
    }
}

#[test]
fn packets_add_up_with_every_pair_of_features() {
    let folder = folder("pairs");
    let mut came = Came::default();
    let mut ran: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (nth, one) in FEATURES.iter().enumerate() {
        for other in &FEATURES[nth + 1..] {
            for round in 0..EACH {
                let mut rng = Rng::named(round, &format!("{one} and {other}"));
                let text = scenario(&mut rng, &[one, other], &folder);
                let Some(network) = network(&text, &folder, &[]) else { continue };
                let Some(world) = run(&network, round, MAX_EVENTS) else { continue };
                let checked = came.check(&network, &world);
                checked.unwrap_or_else(|what| panic!("{one} and {other}, {round}: {what}\n{text}"));
                *ran.entry((one, other)).or_default() += 1;
            }
        }
    }
    for feature in FEATURES {
        let with = ran.keys().filter(|(one, other)| [*one, *other].contains(feature)).count();
        assert!(with >= FEATURES.len() / 2, "{feature} ran with {with} others");
    }
    let Came { runs, received, dropped, lost, absorbed, discarded, under_way } = came;
    let drawn = (FEATURES.len() * (FEATURES.len() - 1) / 2) as u64 * EACH;
    assert!(
        runs >= drawn * 2 / 3 && received > runs * 9 / 10 && dropped > runs / 5 && lost > runs / 20,
        "{came:?}"
    );
    assert!(discarded > runs / 50 && under_way > runs / 2, "{came:?}");
    abr::check_absorbed(absorbed, runs);
}

/// With three to five features at once.
#[test]
fn packets_add_up_with_several_features() {
    let folder = folder("several");
    let mut came = Came::default();
    for seed in 0..400 {
        let mut rng = Rng::named(seed, "several features");
        let mut features = Vec::new();
        for _ in 0..3 + rng.below(3) {
            features.push(FEATURES[rng.below(FEATURES.len() as u64) as usize]);
        }
        let text = scenario(&mut rng, &features, &folder);
        let Some(network) = network(&text, &folder, &[]) else { continue };
        let Some(world) = run(&network, seed, MAX_EVENTS) else { continue };
        let checked = came.check(&network, &world);
        checked.unwrap_or_else(|what| panic!("seed {seed}, {features:?}: {what}\n{text}"));
    }
    assert!(came.runs >= 100 && came.dropped > came.runs / 5, "{came:?}");
}

#[test]
fn packets_add_up_in_scenarios_of_all_kinds() {
    let folder = folder("of-all-kinds");
    let (mut came, mut gates) = (Came::default(), 0);
    for seed in 0.. {
        if came.runs == OF_ALL_KINDS {
            break;
        }
        let mut rng = Rng::named(seed, "of all kinds");
        let drawn = generate::scenario(&mut rng, Manner { gates: true, ..Manner::TAME });
        drawn.write_files(&folder);
        let sets = generate::flow_control(&mut rng);
        let Some(network) = network(&drawn.text, &folder, &sets) else { continue };
        let Some(world) = run(&network, seed, MAX_EVENTS / 10) else { continue };
        let checked = came.check(&network, &world);
        checked.unwrap_or_else(|what| panic!("seed {seed}: {what}\n{sets:?}\n{}", drawn.text));
        gates += u64::from(network.gate.is_some());
    }
    let Came { runs, dropped, discarded, .. } = came;
    assert!(dropped > runs / 5 && discarded > 0 && gates > runs / 50, "{came:?}, {gates} with a gate");
}
