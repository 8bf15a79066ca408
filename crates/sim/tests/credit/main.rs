//! Links with credit in scenarios: nothing is lost for want of memory, and permanent stalls are
//! reported.

mod generate;
mod links;
#[path = "../common/long.rs"]
mod long;
mod memory;
mod misbehaving;
mod outputs;
mod unsure;
mod virtual_links;

use generate::{Manner, scenario};
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_core::credit::params::CreditTerms;
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;
use tidegate_formats::{CreditLinks, LinkCredit, Scenario};
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Cases drawn, unless PROPTEST_CASES asks for more.
const FEW: u64 = 300;

/// Number of cases: three times PROPTEST_CASES, if that is set.
fn cases() -> u64 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    asked.map_or(FEW, |asked| 3 * asked)
}

/// Number of cases where one takes long: fewer, unless PROPTEST_CASES is set.
fn few_cases() -> u64 {
    if std::env::var_os("PROPTEST_CASES").is_some() { cases() } else { FEW * 2 / 5 }
}

fn network(text: &str) -> Network {
    let scenario = Scenario::parse(text, "a.toml", Path::new(""), &[]);
    assemble(&scenario.unwrap_or_else(|errors| panic!("{errors}\n{text}"))).unwrap()
}

/// The credit from a link on.
fn credit_of(network: &Network, link: usize) -> Option<&LinkCredit> {
    network.stage_terms.get::<CreditLinks>()?.of(link)
}

fn run(network: &Network, seed: u64) -> World<Calendar> {
    let probes = Probes { log: true, ..Probes::default() };
    let mut world = World::new(network, seed, &probes).unwrap();
    while !world.advance(1_000_000) {}
    world
}

/// Checks of every run: nothing is dropped, no receiver holds more than its memory, and order is
/// kept.
fn check(network: &Network, world: &World<Calendar>, what: &str) {
    for (flow, record) in network.flows.iter().zip(world.records()) {
        assert_eq!(record.dropped, 0, "{}, {what}", flow.name);
    }
    check_receivers(world, what);
}

/// Checks of receivers that also apply where switches without credit drop packets.
fn check_receivers(world: &World<Calendar>, what: &str) {
    for link in world.credit_links() {
        assert_eq!(link.dropped, 0, "{link:?}, {what}");
        assert!(link.queue_max <= link.memory, "{link:?}, {what}");
    }
    let mut last = BTreeMap::new();
    for entry in world.log() {
        if let PacketEvent::Received(packet) = entry.what {
            let before = last.insert(packet.flow, packet.sequence);
            assert!(before < Some(packet.sequence), "flow {}, {what}", packet.flow);
        }
    }
}

/// Coverage counts of the random runs.
#[derive(Debug, Default)]
struct Drawn {
    /// Runs with a route of 6 links.
    long: u64,
    /// Links whose allocations change.
    adaptive: u64,
    /// VCs whose allocation at the end differs from the first one.
    changed: u64,
}

impl Drawn {
    fn count(&mut self, network: &Network, world: &World<Calendar>) {
        self.long += u64::from(network.flows.iter().any(|flow| flow.route.len() == 6));
        let adapts = |link: u32| {
            let plan = credit_of(network, link as usize).unwrap().plan;
            !matches!(plan.terms, CreditTerms::Static { .. })
        };
        self.adaptive += world.credit_links().iter().filter(|link| adapts(link.link)).count() as u64;
        self.changed +=
            world.credit_vcs().iter().filter(|vc| adapts(vc.link) && vc.buf_alloc > 5).count() as u64;
    }

    fn check(&self) {
        let cases = cases();
        let Drawn { long, adaptive, changed } = self;
        assert!(*long > cases / 20 && *adaptive > cases && *changed > cases / 2, "{self:?} in {cases} runs");
    }
}

#[test]
fn nothing_is_lost_on_links_that_lose_nothing() {
    let (mut received, mut waited, mut full, mut drawn) = (0, 0, 0, Drawn::default());
    for seed in 0..cases() {
        let mut rng = Rng::named(seed, "credit");
        let text = scenario(&mut rng, Manner { loses: false, checks: true });
        let network = network(&text);
        let world = run(&network, seed);
        check(&network, &world, &format!("seed {seed}:\n{text}"));
        assert!(world.stalls().is_empty(), "seed {seed}: {:?}\n{text}", world.stalls());
        drawn.count(&network, &world);
        received += world.records().iter().map(|record| record.received.0).sum::<u64>();
        let vcs = world.credit_vcs();
        waited += vcs.iter().filter(|vc| vc.without_credit.as_secs_f64() > 0.1).count();
        full += world.credit_links().iter().filter(|link| link.queue_max * 2 > link.memory).count();
    }
    drawn.check();
    let cases = cases() as usize;
    assert!(
        received > 100 * cases as u64 && waited > cases && full > cases / 4,
        "{received} {waited} {full}"
    );
}

#[test]
fn nor_on_links_that_lose_data_and_lose_and_repeat_credit_cells() {
    let (mut lost, mut lost_cells, mut found, mut twice, mut drawn) = (0, 0, 0, 0, Drawn::default());
    for seed in 0..cases() {
        let mut rng = Rng::named(seed, "credit with loss");
        let text = scenario(&mut rng, Manner { loses: true, checks: true });
        let network = network(&text);
        let world = run(&network, seed);
        check(&network, &world, &format!("seed {seed}:\n{text}"));
        // A check and its answer come through sooner or later.
        for stall in world.stalls() {
            let plan = credit_of(&network, stall.link as usize).unwrap().plan;
            let lasted = stall.until.unwrap_or(Time::ORIGIN + network.duration).since(stall.stall.since);
            assert!(lasted.ticks() < 40 * plan.check.unwrap().ticks(), "seed {seed}: {stall:?}\n{text}");
        }
        lost += (0..network.flows.len()).map(|flow| world.lost(flow)).sum::<u64>();
        let links = world.credit_links();
        lost_cells += links.iter().map(|link| link.lost_cells).sum::<u64>();
        found += links.iter().map(|link| link.found_lost).sum::<u64>();
        twice += links.iter().map(|link| link.duplicated_cells).sum::<u64>();
        drawn.count(&network, &world);
    }
    drawn.check();
    let least = 10 * cases();
    assert!(
        lost > least && lost_cells > least && found > least && twice > least,
        "{lost} {lost_cells} {found} {twice}"
    );
}
