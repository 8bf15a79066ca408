//! The drop history against a slow oracle, which keeps every drop and every arrival; and properties
//! of its policing.

mod common;
#[path = "common/toy.rs"]
mod toy;

use common::{World, kind, pick, rounds};
use std::collections::BTreeSet;
use tidegate_core::context::{Ctx, Effect, Finding, Reason, Verdict};
use tidegate_core::contract::Contract;
use tidegate_core::detector::drop_history::{Action, DropHistoryParams, Drops};
use tidegate_core::detector::{BuiltInDetector, DetectorKind};
use tidegate_core::dropper::{Dropper, DropperKind, Occupancy};
use tidegate_core::packet::{BodyId, Colour, Leg, Mark, Packet, PortIx};
use tidegate_core::params::Role;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};
use toy::toy;

/// Drops the packets that carry this code point, where they arrive or where they are to be sent.
const DOOMED: u8 = 1;
const DOOMED_AT_HEAD: u8 = 2;

/// Its packets' fates are written in their code points.
#[derive(Default)]
pub struct Script;

toy!(ScriptParams makes Script: "script", Role::Dropper);

fn doom(packet: &Packet, dscp: u8) -> Verdict {
    if packet.mark.dscp() == dscp { Verdict::Drop(Reason::EarlyDrop) } else { Verdict::Accept }
}

impl Dropper for Script {
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, _: &Occupancy) -> Verdict {
        doom(packet, DOOMED)
    }

    fn head(&mut self, _: &mut Ctx<'_>, packet: &Packet, _: &Occupancy) -> Verdict {
        doom(packet, DOOMED_AT_HEAD)
    }
}

fn plan(params: DropHistoryParams, dropper: DropperKind, scope: Scope) -> SwitchPlan {
    let detector = Some(DetectorKind::BuiltIn(BuiltInDetector::DropHistory(params)));
    let dropper = Some(DropperPlan { kind: dropper, scope, detector });
    let port = PortPlan { dropper, ..PortPlan::new(kind("fifo")) };
    SwitchPlan { ports: vec![port], ..SwitchPlan::default() }
}

fn scripted() -> DropperKind {
    DropperKind::outside(ScriptParams {})
}

/// A packet that arrives at an empty port and is sent at once, if nobody drops it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Since the start of the run.
    at: Span,
    flow: usize,
    colour: Colour,
    dscp: u8,
}

const FLOWS: usize = 4;

/// Reservation of each flow: true if it reserves a rate.
const RESERVES: [bool; FLOWS] = [true, false, true, false];

fn params(rng: &mut Rng) -> DropHistoryParams {
    let interval = Span::from_millis(pick(rng, &[5, 10, 30]));
    let window = Span::from_millis(pick(rng, &[50, 100, 105]));
    DropHistoryParams {
        drops: pick(rng, &[Drops::Out, Drops::All]),
        share: pick(rng, &[0.05, 0.3, 0.7]),
        persistence: pick(rng, &[0.2, 0.6, 1.0]),
        interval,
        window,
        windows: pick(rng, &[1, 2, 3]),
        action: pick(rng, &[Action::Report, Action::Police]),
        release: pick(rng, &[0.0, 0.5, 1.0]),
        release_after: window + Span::from_millis(rng.below(150)),
    }
}

/// Flows that lose much for a while, and little for another.
fn steps(rng: &mut Rng) -> Vec<Step> {
    let mut phase = [(0.0, 0.0); FLOWS];
    let (mut at, mut steps) = (Span::ZERO, Vec::new());
    for ix in 0..3_000 {
        at += Span::from_micros(rng.below(2_000));
        if ix % 400 == 0 {
            at += Span::from_millis(pick(rng, &[0, 0, 130, 400]));
            for phase in &mut phase {
                *phase = (pick(rng, &[0.02, 0.3, 1.0]), pick(rng, &[0.0, 0.05, 0.6]));
            }
        }
        let flow = rng.below(FLOWS as u64) as usize;
        let (sends, loses) = phase[flow];
        if !rng.chance(sends) {
            continue;
        }
        let colour = pick(rng, &[Colour::Green, Colour::Yellow, Colour::Red]);
        let dscp = if rng.chance(loses) { pick(rng, &[DOOMED, DOOMED, DOOMED_AT_HEAD]) } else { 0 };
        steps.push(Step { at, flow, colour, dscp });
    }
    steps
}

/// Reports: for each packet, true if it was policed, and the flows named or released at it.
type Said = Vec<(bool, Vec<(usize, Finding)>)>;

fn run(params: DropHistoryParams, scope: Scope, start: Time, steps: &[Step]) -> (World, Vec<Leg>, Said) {
    let mut world = World::starting(start, &plan(params, scripted(), scope));
    let rate = Rate::from_bits_per_second(1_000);
    let flow = |reserves: bool| FlowPlan {
        contract: Contract { reserve: rate.filter(|_| reserves), ..Contract::default() },
        ..FlowPlan::default()
    };
    let legs: Vec<Leg> = RESERVES.iter().map(|reserves| world.open(0, &flow(*reserves))).collect();
    let mut said = Said::new();
    for (body, step) in steps.iter().enumerate() {
        world.now = start + step.at;
        let mut packet = Packet::new(BodyId(body as u32), 100);
        packet.mark = Mark::from_ip(step.dscp, 0).coloured(step.colour);
        world.arrive_packet(&[legs[step.flow]], packet);
        world.send(0);
        let (mut policed, mut found) = (false, Vec::new());
        for effect in world.out.drain(..) {
            match effect {
                Effect::Dropped { reason, packet, .. } => {
                    assert_eq!(packet.flow, legs[step.flow].flow);
                    policed |= reason == Reason::NonResponsive;
                }
                Effect::Finding { flow, finding, body: at, .. } => {
                    assert_eq!(at, BodyId(body as u32));
                    found.push((legs.iter().position(|leg| leg.flow == flow).unwrap(), finding));
                }
                _ => {}
            }
        }
        said.push((policed, found));
    }
    (world, legs, said)
}

/// Reports by the definitions: every drop and every arrival is kept, and looked at anew each time.
fn oracle(params: &DropHistoryParams, steps: &[Step]) -> Said {
    let (window, interval) = (params.window.ticks(), params.interval.ticks());
    // Time and flow of drops that are looked at.
    let mut drops: Vec<(u64, usize)> = Vec::new();
    // State of a named flow: time of naming, the most that it may offer, and the times at which it
    // offered packets.
    let mut named: [Option<(u64, f64, Vec<u64>)>; FLOWS] = Default::default();
    let mut released = [0; FLOWS];
    let mut said = Said::new();
    for step in steps {
        let now = step.at.ticks();
        let out = step.colour != Colour::Green;
        let (mut policed, mut found) = (false, Vec::new());
        if named.iter().any(Option::is_some) {
            let outside = out || (params.drops == Drops::All && !RESERVES[step.flow]);
            if let Some((_, _, offered)) = named[step.flow].as_mut().filter(|_| outside) {
                offered.push(now);
                policed = params.action == Action::Police;
            }
            for flow in 0..FLOWS {
                let Some((since, most, offered)) = &named[flow] else { continue };
                let nth = |at: u64| (at - since) / window;
                // The last packet that was one too many in its window.
                let too_many = offered.iter().enumerate().filter(|(ix, at)| {
                    let before = offered[..*ix].iter().filter(|other| nth(**other) == nth(**at)).count();
                    (before + 1) as f64 > *most
                });
                let busy = too_many.map(|(_, at)| *at).max().unwrap_or(*since);
                if now >= busy + params.release_after.ticks() {
                    named[flow] = None;
                    released[flow] = drops.len();
                    found.push((flow, Finding::BackedOff));
                }
            }
        }
        found.sort_by_key(|(flow, _)| *flow);
        if step.dscp != 0 && !policed && (out || params.drops == Drops::All) {
            let first = drops.first().map_or(now, |(at, _)| *at);
            let of = |at: u64| (at - first) / window;
            let own = |nth: u64| {
                let since = drops.iter().skip(released[step.flow]);
                since.filter(move |(at, flow)| *flow == step.flow && of(*at) == nth)
            };
            let against = |nth: u64| {
                let all = drops.iter().filter(|(at, _)| of(*at) == nth).count() as f64;
                let since = first + nth * window;
                let intervals: BTreeSet<u64> = own(nth).map(|(at, _)| (at - since) / interval).collect();
                let possible = window as f64 / interval as f64;
                own(nth).count() as f64 >= params.share * all
                    && intervals.len() as f64 >= params.persistence * possible
            };
            let here = of(now);
            let enough = (1..=u64::from(params.windows)).all(|back| here >= back && against(here - back));
            if enough && own(here).count() == 0 && named[step.flow].is_none() {
                let most = params.release * own(here - 1).count() as f64;
                named[step.flow] = Some((now, most, Vec::new()));
                found.push((step.flow, Finding::NonResponsive));
            }
            drops.push((now, step.flow));
        }
        said.push((policed, found));
    }
    said
}

#[test]
fn it_says_what_an_oracle_says_that_keeps_everything() {
    let (mut times_named, mut times_released, mut times_policed) = (0, 0, 0);
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "drop history");
        let (params, steps) = (params(&mut rng), steps(&mut rng));
        let scope = pick(&mut rng, &[Scope::Node, Scope::Flow]);
        let expected = oracle(&params, &steps);
        let (.., mut said) = run(params, scope, Time::ORIGIN, &steps);
        for (at, (ours, theirs)) in said.iter_mut().zip(&expected).enumerate() {
            // Flows that are released at once are released in any order.
            ours.1.sort_by_key(|(flow, finding)| (*finding != Finding::BackedOff, *flow));
            assert_eq!(ours, theirs, "seed {seed}, packet {at}: {params:?}");
        }
        let findings = || expected.iter().flat_map(|(_, found)| found);
        times_named += findings().filter(|(_, finding)| *finding == Finding::NonResponsive).count();
        times_released += findings().filter(|(_, finding)| *finding == Finding::BackedOff).count();
        times_policed += expected.iter().filter(|(policed, _)| *policed).count();
    }
    assert!(times_named > 50 && times_released > 20, "{times_named}, {times_released}");
    assert!(times_policed > 1_000, "{times_policed}");
}

#[test]
fn shifting_time_changes_nothing() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "shifted");
        let (params, steps) = (params(&mut rng), steps(&mut rng));
        let shift = Span::from_ticks(rng.below(1 << 62));
        let (.., plain) = run(params, Scope::Node, Time::ORIGIN, &steps);
        let (.., shifted) = run(params, Scope::Node, Time::ORIGIN + shift, &steps);
        assert_eq!(plain, shifted, "seed {seed}");
    }
}

/// Arrivals equal the packets sent and dropped, by flow and by reason; policed packets have a
/// reason of their own.
#[test]
fn what_is_policed_is_counted() {
    let mut policed_in_all = 0;
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "counted");
        let (params, steps) = (params(&mut rng), steps(&mut rng));
        let (world, legs, said) = run(params, Scope::Node, Time::ORIGIN, &steps);
        let policed = said.iter().filter(|(policed, _)| *policed).count() as u64;
        let counters: Vec<_> = legs.iter().map(|leg| world.switch.counters(*leg)).collect();
        for (flow, counters) in counters.iter().enumerate() {
            let (arrived, sent, dropped) = (counters.arrived, counters.sent, counters.dropped);
            assert_eq!(arrived.packets, steps.iter().filter(|step| step.flow == flow).count() as u64);
            assert_eq!(arrived.packets, sent.packets + dropped.packets);
            assert_eq!(arrived.bytes, sent.bytes + dropped.bytes);
        }
        let drops = world.switch.drops(PortIx(0));
        assert_eq!(drops.of(Reason::NonResponsive), policed);
        assert_eq!(drops.total(), counters.iter().map(|flow| flow.dropped.packets).sum::<u64>());
        assert_eq!(drops.total(), policed + drops.of(Reason::EarlyDrop));
        policed_in_all += policed;
        for (step, (policed, _)) in steps.iter().zip(&said).filter(|(_, (policed, _))| *policed) {
            // A packet inside a profile is never policed.
            let inside = step.colour == Colour::Green && (params.drops == Drops::Out || RESERVES[step.flow]);
            assert!(*policed && !inside && params.action == Action::Police);
        }
    }
    assert!(policed_in_all > 500, "{policed_in_all}");
}

/// A flow that has been named, at a port with an unchanged plan.
#[test]
fn a_reload_keeps_what_is_planned_as_before() {
    let params = DropHistoryParams {
        drops: Drops::All,
        share: 0.5,
        persistence: 0.5,
        interval: Span::from_millis(10),
        window: Span::from_millis(100),
        windows: 1,
        action: Action::Police,
        release: 0.5,
        release_after: Span::from_secs(1),
    };
    let stricter = DropHistoryParams { share: 0.6, ..params };
    for (after, dropper, kept) in [
        (params, scripted(), true),
        // Another dropper, the same detector.
        (params, DropperKind::named("codel").unwrap(), true),
        (stricter, scripted(), false),
    ] {
        let mut world = World::new(&plan(params, scripted(), Scope::Node));
        let leg = world.open(0, &FlowPlan::default());
        let policed = |world: &mut World, dscp| {
            world.wait(Span::from_millis(10));
            let mut packet = Packet::new(BodyId(0), 100);
            packet.mark = Mark::from_ip(dscp, 0);
            world.arrive_packet(&[leg], packet);
            world.send(0);
            world.dropped().iter().any(|(_, reason, _)| *reason == Reason::NonResponsive)
        };
        assert!((0..20).any(|_| policed(&mut world, DOOMED)));
        world.reconfigure(&plan(after, dropper, Scope::Node), &[]);
        assert_eq!(policed(&mut world, 0), kept, "{after:?}");
        // The index goes to another flow.
        world.close(leg);
        assert_eq!(world.open(0, &FlowPlan::default()), leg);
        assert!(!policed(&mut world, 0));
    }
}
