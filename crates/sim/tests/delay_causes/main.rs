//! The causes of a watched packet's delay add up to it, to the tick, and exist. The judge is the
//! packet log.

mod abr;
mod credit;
#[path = "../common/generate/mod.rs"]
mod generate;
#[path = "../common/pairs/mod.rs"]
mod pairs;

use generate::Manner;
use pairs::{FEATURES, scenario};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Hold;
use tidegate_core::switch::Block;
use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::watch::{Cause, Journey, Watch, WatchedHop};
use tidegate_sim::world::World;

/// Random scenarios.
const SCENARIOS: u64 = 200;
const MAX_EVENTS: u64 = 60_000;

/// Transmissions of links by link and flow: first bit out, last bit out.
type Services = BTreeMap<(u32, u32), Vec<(Time, Time)>>;

fn services(world: &World<Calendar>, until: Time) -> Services {
    let mut services = Services::new();
    for entry in world.log() {
        match entry.what {
            PacketEvent::Started { packet, .. } => {
                services.entry((entry.link, packet.flow)).or_default().push((entry.at, until));
            }
            PacketEvent::Departed(packet) => {
                if let Some(last) =
                    services.get_mut(&(entry.link, packet.flow)).and_then(|all| all.last_mut())
                {
                    last.1 = entry.at;
                }
            }
            _ => {}
        }
    }
    services
}

/// Time that a link spent on packets of a flow between two times.
fn sent(services: &Services, link: u32, flow: u32, from: Time, until: Time) -> Span {
    let none = Vec::new();
    let all = services.get(&(link, flow)).unwrap_or(&none);
    let overlaps = all.iter().map(|(start, end)| (*end).min(until).since((*start).max(from)));
    overlaps.fold(Span::ZERO, |sum, one| sum + one)
}

#[derive(Default)]
struct Checked {
    scenarios: u64,
    journeys: u64,
    earlier: u64,
    held: u64,
    causes: BTreeMap<String, u64>,
}

/// Returns true if the named cause is present.
fn is_there(network: &Network, flow: u32, hop: &WatchedHop, cause: Cause) -> bool {
    let link = &network.links[hop.link as usize];
    let setup = &network.flows[flow as usize];
    let plans = || setup.route.iter().zip(&setup.plans).filter(|(on, _)| **on == hop.link as usize);
    let ports = || format!("{:?}", link.port);
    match cause {
        Cause::Packet(_) => true,
        credit::CELL => credit::is_used(network),
        Cause::NoOpportunity => !link.pace.is_steady(),
        credit::NO_CREDIT => credit::of(network, hop.link as usize).is_some(),
        Cause::Block(Block::FlowCeiling) => {
            let of_gate = format!("{:?}", network.gate).contains("ceiling: Some");
            of_gate || plans().any(|(_, plan)| plan.ceiling.is_some())
        }
        Cause::Block(Block::ClassCeiling) => link.port.classes.iter().any(|class| class.ceiling.is_some()),
        Cause::Block(Block::PortCeiling) => link.port.ceiling.is_some(),
        Cause::Block(Block::Scheduler(Hold::Slot)) => ports().contains("Tdm"),
        Cause::Block(Block::Scheduler(Hold::Regulator)) => ports().contains("JitterEdd"),
        _ => false,
    }
}

fn add_up(
    network: &Network,
    watch: &Watch,
    journey: &Journey,
    flow: u32,
    services: &Services,
    checked: &mut Checked,
) -> Result<(), String> {
    let mut sum = journey.earlier;
    let mut at = None;
    for (place, hop) in journey.hops.iter().enumerate() {
        let came = Time::from_ticks(hop.arrived.ticks() - hop.held.ticks());
        if at.is_some_and(|at| at != came) {
            return Err(format!("hop {place} begins at {came:?}, and the one before ends at {at:?}"));
        }
        let (Some(started), Some(departed), Some(landed)) = (hop.started, hop.departed, hop.landed) else {
            return Err(format!("hop {place} is not over: {hop:?}"));
        };
        let waiting = watch.waiting(hop);
        let mut waited = Span::ZERO;
        for served in &waiting.served {
            waited += served.took;
            let busy = sent(services, hop.link, served.flow, hop.arrived, started);
            if served.took > busy {
                return Err(format!("{served:?}, and the log has {busy:?}: {hop:?}"));
            }
        }
        for (cause, span) in &waiting.causes {
            waited += *span;
            if !is_there(network, flow, hop, *cause) {
                return Err(format!("{cause:?} for {span:?}: {hop:?}"));
            }
            *checked.causes.entry(format!("{cause:?}")).or_default() += 1;
        }
        // Where only packets held it back, the link sent all the time.
        let busy = (0..network.flows.len() as u32)
            .map(|of| sent(services, hop.link, of, hop.arrived, started))
            .fold(Span::ZERO, |sum, one| sum + one);
        let by_packets = waiting.served.iter().fold(Span::ZERO, |sum, one| sum + one.took);
        let blocked = waiting
            .causes
            .iter()
            .any(|(cause, _)| matches!(cause, Cause::Block(block) if *block != Block::PortCeiling));
        if !blocked && by_packets != busy {
            return Err(format!(
                "packets took {by_packets:?}, and the log has {busy:?}: {hop:?} {waiting:?}"
            ));
        }
        if waited != started.since(hop.arrived) {
            return Err(format!("{waited:?} is explained: {hop:?} {waiting:?}"));
        }
        sum += waited + departed.since(started) + landed.since(departed);
        if watch.counts_held(journey, place) {
            sum += hop.held;
            checked.held += u64::from(hop.held > Span::ZERO);
        }
        at = Some(landed);
    }
    checked.journeys += 1;
    checked.earlier += u64::from(journey.earlier > Span::ZERO);
    if sum == journey.delay { Ok(()) } else { Err(format!("{sum:?} of {:?} is explained", journey.delay)) }
}

/// Watches every flow of a network; false where that takes too long.
fn check(network: &Network, seed: u64, checked: &mut Checked) -> Result<bool, String> {
    let plain = Probes { log: true, ..Probes::default() };
    let mut world = World::<Calendar>::new(network, seed, &plain).unwrap();
    if !world.advance(MAX_EVENTS) {
        return Ok(false);
    }
    let services = services(&world, Time::ORIGIN + network.duration);
    for flow in 0..network.flows.len().min(12) as u32 {
        let probes = Probes { watch: Some(Watch::new(flow, 30)), ..Probes::default() };
        let mut watched = World::<Calendar>::new(network, seed, &probes).unwrap();
        assert!(watched.advance(u64::MAX));
        if watched.fingerprint() != world.fingerprint() {
            return Err("watching changes the outcome".into());
        }
        let watch = watched.watch().unwrap();
        let slowest = watch.slowest().first().map(|journey| journey.delay);
        if slowest != watched.records()[flow as usize].delay.max() {
            return Err(format!("{slowest:?} is the largest delay of flow {flow}"));
        }
        for journey in watch.slowest() {
            add_up(network, watch, journey, flow, &services, checked)
                .map_err(|what| format!("flow {flow}, packet {}: {what}", journey.sequence))?;
        }
    }
    checked.scenarios += 1;
    Ok(true)
}

#[test]
fn causes_add_up_to_the_delay_over_all_features() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("causes");
    std::fs::create_dir_all(&folder).unwrap();
    let mut checked = Checked::default();
    for seed in 0.. {
        if checked.scenarios == SCENARIOS {
            break;
        }
        let mut rng = Rng::named(seed, "causes");
        let features = [(); 3].map(|()| FEATURES[rng.below(FEATURES.len() as u64) as usize]);
        let text = scenario(&mut rng, &features, &folder);
        let Ok(spec) = Scenario::parse(&text, "a.toml", &folder, &[]) else { continue };
        let Ok(network) = assemble(&spec) else { continue };
        check(&network, seed, &mut checked).unwrap_or_else(|what| panic!("seed {seed}: {what}\n{text}"));
    }
    let Checked { journeys, earlier, held, causes, .. } = checked;
    assert!(journeys > 10 * SCENARIOS && earlier > 0, "{journeys} {earlier}");
    abr::check_held(held);
    let all = [
        credit::CELL,
        Cause::NoOpportunity,
        credit::NO_CREDIT,
        Cause::Block(Block::FlowCeiling),
        Cause::Block(Block::ClassCeiling),
        Cause::Block(Block::PortCeiling),
        Cause::Block(Block::Scheduler(Hold::Slot)),
        Cause::Block(Block::Scheduler(Hold::Regulator)),
    ];
    for cause in all {
        assert!(causes.get(&format!("{cause:?}")).is_some_and(|count| *count > 5), "{cause:?} in {causes:?}");
    }
}

#[test]
fn causes_add_up_in_scenarios_of_all_kinds() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("causes-of-all-kinds");
    let mut checked = Checked::default();
    for seed in 0.. {
        if checked.scenarios == SCENARIOS {
            break;
        }
        let mut rng = Rng::named(seed, "causes of all kinds");
        let drawn = generate::scenario(&mut rng, Manner { gates: true, ..Manner::TAME });
        drawn.write_files(&folder);
        let sets = generate::flow_control(&mut rng);
        let Ok(spec) = Scenario::parse(&drawn.text, "a.toml", &folder, &sets) else { continue };
        let Ok(network) = assemble(&spec) else { continue };
        let checked = check(&network, seed, &mut checked);
        checked.unwrap_or_else(|what| {
            panic!("seed {seed}: {what}\n{sets:?}\n{}\n{:?}", drawn.text, drawn.files)
        });
    }
    assert!(checked.journeys > 10 * SCENARIOS, "{}", checked.journeys);
}

/// Shaping is named as the cause of its delays, and traffic is not blamed for more than its time on
/// the link.
#[test]
fn shaping_is_not_blamed_on_traffic() {
    let slot = Cause::Block(Block::Scheduler(Hold::Slot));
    for (file, cause, least) in [
        ("explain-port-ceiling.toml", Cause::Block(Block::PortCeiling), 0.9),
        ("explain-tdm.toml", slot, 0.99),
        ("explain-credit.toml", credit::NO_CREDIT, 0.3),
        ("explain-trace-link.toml", Cause::NoOpportunity, 0.99),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects").join(file);
        let network = assemble(&Scenario::load(&path, &[]).unwrap()).unwrap();
        let mut checked = Checked::default();
        assert!(check(&network, 1, &mut checked).unwrap(), "{file}");
        let probes = Probes { watch: Some(Watch::new(0, 1)), ..Probes::default() };
        let mut world = World::<Calendar>::new(&network, 1, &probes).unwrap();
        assert!(world.advance(u64::MAX));
        let watch = world.watch().unwrap();
        let hop = &watch.slowest()[0].hops[0];
        let waited = hop.started.unwrap().since(hop.arrived).as_secs_f64();
        let waiting = watch.waiting(hop);
        let took =
            waiting.causes.iter().find(|(one, _)| *one == cause).map_or(0.0, |(_, took)| took.as_secs_f64());
        assert!(took >= least * waited, "{file}: {took} of {waited}, {waiting:?}");
    }
}
