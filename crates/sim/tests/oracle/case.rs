//! One scenario: run, and checked in every way.

use crate::generate::Drawn;
use crate::history::History;
use crate::{admission, conformance, model, results};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::{BinaryHeapQueue, Calendar, EventQueue};
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::Entry;
use tidegate_sim::probe::Probes;
use tidegate_sim::record::FlowRecord;
use tidegate_sim::watch::Watch;
use tidegate_sim::world::World;

/// Enough events for most scenarios; others are left out.
const MAX_EVENTS: u64 = 40_000;

/// Counts of the checks, over all scenarios.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    pub scenarios: u64,
    pub model: model::Checked,
    pub ceilings: u64,
    pub envelopes: u64,
    pub bounded: u64,
    pub set_up: u64,
}

impl Checked {
    pub fn add(&mut self, other: &Checked) {
        self.scenarios += other.scenarios;
        self.model.add(&other.model);
        self.ceilings += other.ceilings;
        self.envelopes += other.envelopes;
        self.bounded += other.bounded;
        self.set_up += other.set_up;
    }
}

/// The network of a scenario; `None` when it is refused, or left out.
pub fn network(drawn: &Drawn, folder: &str) -> Option<Network> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    drawn.write_files(&folder);
    let scenario = Scenario::parse(&drawn.text, "a.toml", &folder, &[]).ok()?;
    assemble(&scenario).ok()
}

/// Runs a network; `None` when that takes too many events.
pub fn run<Q: EventQueue>(network: &Network, probes: &Probes) -> Option<World<Q>> {
    let mut world = World::new(network, 1, probes).expect("what is accepted, runs");
    world.advance(MAX_EVENTS).then_some(world)
}

/// Runs a network with a log.
pub fn logged(network: &Network) -> Option<World<Calendar>> {
    run(network, &Probes { log: true, ..Probes::default() })
}

/// Checks a log alone.
///
/// # Errors
/// The first error.
pub fn check_log<'n>(network: &'n Network, log: &[Entry]) -> Result<(History<'n>, model::Checked), String> {
    let history = History::new(network, log)?;
    history.check_links()?;
    history.check_ways()?;
    history.check_delays()?;
    let checked = model::check(network, log)?;
    Ok((history, checked))
}

/// Checks a scenario; `None` when it is refused or left out.
///
/// # Errors
/// The first error.
pub fn check(drawn: &Drawn) -> Result<Option<Checked>, String> {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let Some(network) = network(drawn, "oracle") else { return Ok(None) };
        let Some(world) = logged(&network) else { return Ok(None) };
        check_world(&network, &world).map(Some)
    }));
    checked.unwrap_or_else(|_| Err("it panics".into()))
}

fn check_world(network: &Network, world: &World<Calendar>) -> Result<Checked, String> {
    let (history, model) = check_log(network, world.log())?;
    results::check(&history, world)?;
    let checked = Checked {
        scenarios: 1,
        model,
        ceilings: conformance::check_ceilings(&history)?,
        envelopes: conformance::check_envelopes(&history)?,
        bounded: conformance::check_bounds(&history)?,
        set_up: admission::check(network, world)?,
    };
    let series = Probes {
        delays: true,
        sample: Some(Span::from_millis(7)),
        watch: Some(Watch::new(0, 3)),
        ..Probes::default()
    };
    same_outcome::<BinaryHeapQueue>(network, world, &Probes::default())?;
    same_outcome::<Calendar>(network, world, &series)?;
    Ok(checked)
}

/// Another event queue and other probes change no outcome.
fn same_outcome<Q: EventQueue>(
    network: &Network,
    world: &World<Calendar>,
    probes: &Probes,
) -> Result<(), String> {
    let other: World<Q> = run(network, probes).ok_or("it takes longer without a log")?;
    if other.fingerprint() != world.fingerprint() {
        return Err(format!("another outcome with {probes:?}"));
    }
    if (show(other.records()), other.signals()) != (show(world.records()), world.signals()) {
        return Err(format!("other records with {probes:?}"));
    }
    Ok(())
}

fn show(records: &[FlowRecord]) -> String {
    format!("{records:?}")
}

/// A failing scenario without the flows and connections that it fails without.
pub fn shrunk(drawn: &Drawn) -> Drawn {
    let mut smallest = drawn.clone();
    loop {
        let parts = parts(&smallest.text);
        let without = |left_out: usize| {
            let kept = parts.iter().enumerate().filter(|(ix, _)| *ix != left_out);
            let text = kept.map(|(_, part)| part.as_str()).collect();
            Drawn { text, ..smallest.clone() }
        };
        let next = (0..parts.len()).map(without).find(|fewer| check(fewer).is_err());
        match next {
            Some(fewer) => smallest = fewer,
            None => return smallest,
        }
    }
}

/// A scenario's text, cut before every table.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.starts_with("[[") {
            parts.push(String::new());
        }
        parts.last_mut().expect("there is one").push_str(&format!("{line}\n"));
    }
    parts
}
