//! Subscribers in sites in regions, VirtualClock at every level. Ceilings are never exceeded. A
//! flow that is always backlogged has at least its reservation at any time since it began. Unused
//! capacity is borrowed.

mod common;

use common::lines::{Lines, Sent};
use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

const MEGA: u64 = 1_000_000;

fn class(parent: Option<u16>, reserve: u64, ceiling: Option<u64>) -> ClassPlan {
    let contract = Contract { reserve: Some(rate(reserve)), ..Contract::default() };
    ClassPlan { parent, contract, ceiling: ceiling.map(rate), ..ClassPlan::new(kind("virtual-clock")) }
}

fn subscriber(site: u16, reserve: u64, ceiling: Option<u64>) -> FlowPlan {
    let contract = Contract { reserve: Some(rate(reserve)), ..Contract::default() };
    FlowPlan { class: Some(site), contract, ceiling: ceiling.map(rate), ..FlowPlan::default() }
}

fn lines(classes: Vec<ClassPlan>, link: u64) -> Lines {
    let port = PortPlan { classes, ..PortPlan::new(kind("virtual-clock")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    world.audited = false;
    Lines::new(world, &[rate(link)])
}

fn at(millis: u64) -> Time {
    Time::ORIGIN + Span::from_millis(millis)
}

/// Over any interval, the packets started after the first one, and one more, fit under the ceiling.
fn assert_never_exceeded(sent: &[Sent], ceiling: Rate, counts: impl Fn(&Sent) -> bool) {
    let mut clear_at = Time::ORIGIN;
    for sent in sent.iter().filter(|sent| counts(sent)) {
        assert!(sent.at >= clear_at, "{sent:?} starts before {clear_at:?}");
        let time = ceiling.time_for(sent.packet.len);
        clear_at = clear_at.max(sent.at.before(time)) + time;
    }
}

/// Mbit/s of three subscribers of a site and of one elsewhere, when some of them always have
/// packets. The site reserves 6 and may have 10 of the link's 20; its subscribers reserve 1, 2 and
/// 3, and the last two may have 4.
fn shares(active: [bool; 4]) -> [f64; 4] {
    let classes = vec![class(None, 6 * MEGA, Some(10 * MEGA)), class(None, 14 * MEGA, None)];
    let mut lines = lines(classes, 20 * MEGA);
    let plans = [(0, 1, None), (0, 2, Some(4 * MEGA)), (0, 3, Some(4 * MEGA)), (1, 14, None)];
    let legs =
        plans.map(|(site, reserve, ceiling)| lines.world.open(0, &subscriber(site, reserve * MEGA, ceiling)));
    for _ in 0..20_000 {
        for (leg, _) in legs.iter().zip(active).filter(|(_, active)| *active) {
            lines.world.arrive(&[*leg], 250);
        }
    }
    lines.run(at(2000));
    legs.map(|leg| lines.bytes(at(0), at(2000), |sent| sent.packet.flow == leg.flow) as f64 * 8.0 / 2e6)
}

#[test]
fn what_others_leave_is_borrowed_up_to_the_ceilings() {
    for (active, expected) in [
        // Alone: all that its own ceiling and the site's allow.
        ([true, false, false, false], [10.0, 0.0, 0.0, 0.0]),
        ([false, true, false, false], [0.0, 4.0, 0.0, 0.0]),
        ([false, true, true, false], [0.0, 4.0, 4.0, 0.0]),
        // The site's 10 are shared as 1 to 3 to 2.
        ([true, false, true, false], [6.0, 0.0, 4.0, 0.0]),
        ([true, true, true, false], [2.0, 4.0, 4.0, 0.0]),
        // The other site leaves nothing: all have their reservations.
        ([true, true, true, true], [1.0, 2.0, 3.0, 14.0]),
        ([false, true, true, true], [0.0, 2.4, 3.6, 14.0]),
        // Nobody else: the other site has the link.
        ([false, false, false, true], [0.0, 0.0, 0.0, 20.0]),
    ] {
        let found = shares(active);
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 0.02 * expected.max(1.0),
                "{active:?}: {found:?} of {expected:?}"
            );
        }
    }
}

/// Borrowed capacity counts: a flow that had the link to itself stands back until the others have
/// had as much in proportion to their reservations.
#[test]
fn who_has_borrowed_stands_back() {
    let mut lines = lines(vec![class(None, 10 * MEGA, None)], 10 * MEGA);
    let legs = [0, 1].map(|_| lines.world.open(0, &subscriber(0, 5 * MEGA, None)));
    let fill = |lines: &mut Lines, leg: Leg, packets: u32| {
        (0..packets).for_each(|_| _ = lines.world.arrive(&[leg], 1250));
    };
    fill(&mut lines, legs[0], 5000);
    lines.run(at(1000));
    fill(&mut lines, legs[1], 5000);
    lines.run(at(4000));
    let had = |from, to| legs.map(|leg| lines.bytes(at(from), at(to), |sent| sent.packet.flow == leg.flow));
    // The first flow is a second ahead. In half a second the second one sends its reservation of a
    // second; then both are equally far.
    let near = |found: [u64; 2], expected: [u64; 2]| {
        let off = found.iter().zip(expected).map(|(found, expected)| found.abs_diff(expected)).max();
        assert!(off <= Some(3 * 1250), "{found:?} of {expected:?}");
    };
    near(had(0, 1000), [1_250_000, 0]);
    near(had(1000, 1500), [0, 625_000]);
    near(had(1500, 4000), [1_562_500, 1_562_500]);
}

const LARGEST: u32 = 1500;

struct Tree {
    /// Two regions, two sites in each: parent, reservation and ceiling in bit/s.
    classes: Vec<(Option<u16>, u64, Option<u64>)>,
    /// Site, reservation, ceiling.
    subscribers: Vec<(u16, u64, Option<u64>)>,
}

/// A tree whose reservations all fit.
fn tree(rng: &mut Rng) -> Tree {
    let ceiling = |rng: &mut Rng, reserve: u64| rng.chance(0.6).then(|| reserve * (15 + rng.below(30)) / 10);
    let mut classes = Vec::new();
    let mut subscribers = Vec::new();
    let link = 50 * MEGA;
    for region in 0..2 {
        let reserve = link * (3 + rng.below(3)) / 10;
        classes.push((None, reserve, ceiling(rng, reserve)));
        for _ in 0..2 {
            let site = reserve * (2 + rng.below(4)) / 10;
            let number = classes.len() as u16;
            classes.push((Some(region * 3), site, ceiling(rng, site)));
            for _ in 0..3 {
                let own = site * (1 + rng.below(3)) / 10;
                subscribers.push((number, own, ceiling(rng, own)));
            }
        }
    }
    Tree { classes, subscribers }
}

#[test]
fn a_tree_keeps_what_it_promises() {
    for seed in 0..rounds(12) {
        let mut rng = Rng::named(seed, "borrowing");
        let Tree { classes, subscribers } = tree(&mut rng);
        let plans =
            classes.iter().map(|(parent, reserve, ceiling)| class(*parent, *reserve, *ceiling)).collect();
        let mut lines = lines(plans, 50 * MEGA);
        let legs: Vec<Leg> = subscribers
            .iter()
            .map(|(site, reserve, ceiling)| lines.world.open(0, &subscriber(*site, *reserve, *ceiling)))
            .collect();
        // One always has packets; the others come and go, and send any amount meanwhile.
        let greedy = rng.below(legs.len() as u64) as usize;
        let sizes = [40, 576, LARGEST];
        for _ in 0..12_000 {
            lines.world.arrive(&[legs[greedy]], pick(&mut rng, &sizes));
        }
        let mut active = vec![false; legs.len()];
        for millis in 0..600 {
            for (ix, leg) in legs.iter().enumerate() {
                if rng.chance(0.01) {
                    active[ix] = !active[ix];
                }
                if active[ix] && ix != greedy {
                    (0..rng.below(8)).for_each(|_| _ = lines.world.arrive(&[*leg], pick(&mut rng, &sizes)));
                }
            }
            lines.run(at(millis + 1));
            let counters = lines.world.switch.counters(legs[greedy]);
            assert!(counters.sent.packets < counters.arrived.packets, "{seed}: not greedy any more");
            // At every level a packet of another may be in the way, and one that was charged too
            // little.
            let due = rate(subscribers[greedy].1).bytes_in(Span::from_millis(millis + 1));
            let had = counters.sent.bytes + 8 * u64::from(LARGEST);
            assert!(had >= due, "{seed}: {had} of {due} after {millis} ms");
        }
        lines.world.switch.audit(lines.world.now).unwrap();
        let site_of = |sent: &Sent| {
            let ix = legs.iter().position(|leg| leg.flow == sent.packet.flow).unwrap();
            (ix, usize::from(subscribers[ix].0))
        };
        for (ix, (.., ceiling)) in subscribers.iter().enumerate() {
            let Some(ceiling) = *ceiling else { continue };
            assert_never_exceeded(&lines.sent, rate(ceiling), |sent| site_of(sent).0 == ix);
        }
        for (class, (.., ceiling)) in classes.iter().enumerate() {
            let Some(ceiling) = *ceiling else { continue };
            let within = |sent: &Sent| {
                let site = site_of(sent).1;
                site == class || classes[site].0 == Some(class as u16)
            };
            assert_never_exceeded(&lines.sent, rate(ceiling), within);
        }
    }
}
