//! Ceilings: of flows, of classes, of classes within classes and of the port. None is exceeded over
//! any interval by more than two packets, and each is reached within one packet by a backlogged
//! flow or class that never finds the link taken.

mod common;

use common::lines::{Lines, Sent};
use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

fn class(parent: Option<u16>, scheduler: &str, reserve: u64, ceiling: Option<u64>) -> ClassPlan {
    let contract = Contract { reserve: Some(rate(reserve)), ..Contract::default() };
    ClassPlan { parent, contract, ceiling: ceiling.map(rate), ..ClassPlan::new(kind(scheduler)) }
}

fn lines(port: PortPlan, link: Rate) -> Lines {
    Lines::new(World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() }), &[link])
}

fn in_class(class: u16) -> FlowPlan {
    FlowPlan { class: Some(class), ..reserved(1_000_000) }
}

/// Over any interval, the packets started after the first one, and one more, fit under the ceiling.
fn assert_never_exceeded(sent: &[Sent], ceiling: Rate, counts: impl Fn(&Sent) -> bool) {
    // Time at which the ceiling would be free again, had it only counted these packets.
    let mut clear_at = Time::ORIGIN;
    for sent in sent.iter().filter(|sent| counts(sent)) {
        assert!(sent.at >= clear_at, "{sent:?} starts before {clear_at:?}");
        let time = ceiling.time_for(sent.packet.len);
        clear_at = clear_at.max(sent.at.before(time)) + time;
    }
}

/// Bytes started from the origin until `until` by a flow or class that could always send.
fn assert_reached(lines: &Lines, ceiling: u64, until: Time, counts: impl Fn(&Sent) -> bool) {
    let bytes = lines.bytes(Time::ORIGIN, until, counts);
    let most = rate(ceiling).bytes_in(until.since(Time::ORIGIN));
    assert!(bytes + 1 >= most && bytes <= most + 1500, "{bytes} bytes sent, {most} allowed");
}

const SCHEDULERS: [&str; 8] =
    ["fifo", "virtual-clock", "strict-priority", "fifo-plus", "round-robin", "drr", "edf", "jitter-edd"];
const SECOND: Time = Time::from_ticks(Time::ORIGIN.ticks() + Span::from_secs(1).ticks());

fn fill(lines: &mut Lines, rng: &mut Rng, legs: &[Leg], packets: u32) {
    lines.world.audited = false;
    for _ in 0..packets {
        for leg in legs {
            lines.arrive(&[*leg], pick(rng, &[40, 576, 1500]));
        }
    }
}

#[test]
fn a_port_reaches_its_ceiling_and_stays_under_it() {
    let port = PortPlan { ceiling: Some(rate(5_000_000)), ..PortPlan::new(kind("fifo")) };
    let mut lines = lines(port, rate(100_000_000));
    let leg = lines.world.open(0, &FlowPlan::default());
    fill(&mut lines, &mut Rng::named(1, "port"), &[leg], 1500);
    lines.run(SECOND);
    assert_never_exceeded(&lines.sent, rate(5_000_000), |_| true);
    assert_reached(&lines, 5_000_000, SECOND, |_| true);
}

#[test]
fn a_flow_reaches_its_ceiling_alone() {
    for name in SCHEDULERS {
        let mut lines = lines(PortPlan::new(kind(name)), rate(100_000_000));
        let plan = FlowPlan { ceiling: Some(rate(5_000_000)), ..reserved(9_000_000) };
        let leg = lines.world.open(0, &plan);
        fill(&mut lines, &mut Rng::named(1, "flow"), &[leg], 1500);
        lines.run(SECOND);
        assert_never_exceeded(&lines.sent, rate(5_000_000), |_| true);
        assert_reached(&lines, 5_000_000, SECOND, |_| true);
    }
}

#[test]
fn nested_classes_reach_the_least_of_their_ceilings() {
    for (outer, inner) in [(None, Some(3)), (Some(3), None), (Some(7), Some(3)), (Some(3), Some(7))] {
        let mega = |ceiling: Option<u64>| ceiling.map(|mega| mega * 1_000_000);
        let classes = vec![
            class(None, "virtual-clock", 1_000_000, mega(outer)),
            class(Some(0), "fifo", 1_000_000, mega(inner)),
        ];
        let port = PortPlan { classes, ..PortPlan::new(kind("virtual-clock")) };
        let mut lines = lines(port, rate(100_000_000));
        let leg = lines.world.open(0, &in_class(1));
        fill(&mut lines, &mut Rng::named(1, "nested"), &[leg], 1500);
        lines.run(SECOND);
        assert_never_exceeded(&lines.sent, rate(3_000_000), |_| true);
        assert_reached(&lines, 3_000_000, SECOND, |_| true);
    }
}

/// Two classes of three under one ceiling: each takes its own share, both together the parent's.
#[test]
fn siblings_fill_their_parents_ceiling() {
    let classes = vec![
        class(None, "virtual-clock", 1_000_000, Some(8_000_000)),
        class(Some(0), "fifo", 1_000_000, Some(5_000_000)),
        class(Some(0), "fifo", 1_000_000, Some(5_000_000)),
    ];
    let port = PortPlan { classes, ..PortPlan::new(kind("fifo")) };
    let mut lines = lines(port, rate(100_000_000));
    let legs = [1, 2].map(|class| lines.world.open(0, &in_class(class)));
    lines.world.audited = false;
    (0..1500).for_each(|_| legs.iter().for_each(|leg| _ = lines.arrive(&[*leg], 1000)));
    lines.run(SECOND);
    for leg in legs {
        assert_never_exceeded(&lines.sent, rate(5_000_000), |sent| sent.packet.flow == leg.flow);
    }
    assert_never_exceeded(&lines.sent, rate(8_000_000), |_| true);
    assert_reached(&lines, 8_000_000, SECOND, |_| true);
}

/// A class that was empty when its ceiling let go of it is not forgotten.
#[test]
fn a_packet_that_arrives_under_a_closed_ceiling_is_sent_when_it_opens() {
    let classes = vec![class(None, "fifo", 1_000_000, Some(1_000_000))];
    let port = PortPlan { classes, ..PortPlan::new(kind("fifo")) };
    let mut lines = lines(port, rate(100_000_000));
    let leg = lines.world.open(0, &in_class(0));
    lines.arrive(&[leg], 1000);
    lines.run(Time::ORIGIN + Span::from_millis(1));
    // The ceiling is clear at 8 ms.
    lines.arrive(&[leg], 1000);
    lines.run(SECOND);
    let starts: Vec<Time> = lines.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(starts, [Time::ORIGIN, Time::ORIGIN + Span::from_millis(8)]);
}

/// A removed ceiling holds nothing back, and one that replaces it takes effect at once.
#[test]
fn ceilings_that_change_let_go_and_hold_at_once() {
    let plan = |ceiling| {
        let classes = vec![class(None, "fifo", 1_000_000, ceiling)];
        SwitchPlan {
            ports: vec![PortPlan { classes, ..PortPlan::new(kind("fifo")) }],
            buffer: None,
            ..SwitchPlan::default()
        }
    };
    let at = |millis| Time::ORIGIN + Span::from_millis(millis);
    let (slow, slower) = (plan(Some(1_000_000)), plan(Some(100_000)));
    for of_the_class in [true, false] {
        let world = World::new(if of_the_class { &slow } else { &slower });
        let mut lines = Lines::new(world, &[rate(100_000_000)]);
        let flow = |ceiling: Option<u64>| FlowPlan { ceiling: ceiling.map(rate), ..in_class(0) };
        let change = |lines: &mut Lines, leg: Leg, class_plan: &SwitchPlan, ceiling: Option<u64>| {
            if of_the_class {
                lines.world.reconfigure(class_plan, &[]);
            } else {
                lines.world.reconfigure(&plan(None), &[(leg, flow(ceiling))]);
            }
            lines.kick();
        };
        let leg = lines.world.open(0, &if of_the_class { flow(None) } else { flow(Some(1_000_000)) });
        if !of_the_class {
            lines.world.reconfigure(&plan(None), &[]);
        }
        (0..4).for_each(|_| _ = lines.arrive(&[leg], 1000));
        // Clear at 8 ms, but taken away at 1 ms; there again at 1.04 ms, ten times slower, with one
        // packet on the wire; the third is the first that counts, and the fourth waits for it:
        // since it arrived, as the line was taken then.
        lines.run(at(1));
        change(&mut lines, leg, &plan(None), None);
        change(&mut lines, leg, &slower, Some(100_000));
        lines.run(at(1000));
        let starts: Vec<Time> = lines.sent.iter().map(|sent| sent.at).collect();
        let second = at(1) + Span::from_micros(80);
        assert_eq!(starts, [at(0), at(1), second, at(80)], "{of_the_class}");
    }
}

/// An urgent flow (or class) under a ceiling beside one that always has a packet: it is
/// let go although the link never falls idle, and waits one packet at most.
#[test]
fn a_ceiling_lets_go_while_others_keep_the_link_busy() {
    let level = |priority| Contract { reserve: Some(rate(1_000_000)), priority, ..Contract::default() };
    for in_a_class in [false, true] {
        let urgent_class = ClassPlan { contract: level(0), ..class(None, "fifo", 1, Some(5_000_000)) };
        let port = PortPlan { classes: vec![urgent_class], ..PortPlan::new(kind("strict-priority")) };
        let mut lines = lines(port, rate(10_000_000));
        let (class, ceiling) = if in_a_class { (Some(0), None) } else { (None, Some(rate(5_000_000))) };
        let urgent = FlowPlan { class, ceiling, contract: level(0), ..FlowPlan::default() };
        let urgent = lines.world.open(0, &urgent);
        let other = lines.world.open(0, &FlowPlan { contract: level(1), ..FlowPlan::default() });
        lines.world.audited = false;
        for _ in 0..2000 {
            lines.arrive(&[urgent], 1000);
            lines.arrive(&[other], 1000);
        }
        lines.run(SECOND);
        // At 10 Mbit/s they take turns: 5 Mbit/s each.
        assert_never_exceeded(&lines.sent, rate(5_000_000), |sent| sent.packet.flow == urgent.flow);
        assert_reached(&lines, 5_000_000, SECOND, |sent| sent.packet.flow == urgent.flow);
        assert_reached(&lines, 10_000_000, SECOND, |_| true);
    }
}

/// Random trees, arrivals, ceilings at every level: none is ever exceeded, nothing is forgotten.
#[test]
fn no_ceiling_is_exceeded_and_nothing_is_forgotten() {
    for seed in 0..rounds(30) {
        let mut rng = Rng::named(seed, "ceilings");
        let ceiling = |rng: &mut Rng| pick(rng, &[None, Some(3_000_000), Some(1_234_567), Some(20_000_000)]);
        let classes: Vec<ClassPlan> = [None, None, Some(0), Some(0), Some(1)]
            .map(|parent| class(parent, pick(&mut rng, &SCHEDULERS), 500_000, ceiling(&mut rng)))
            .to_vec();
        let port = PortPlan {
            classes: classes.clone(),
            ceiling: ceiling(&mut rng).map(rate),
            ..PortPlan::new(kind(pick(&mut rng, &SCHEDULERS)))
        };
        let whole = port.ceiling;
        let mut lines = lines(port, rate(10_000_000));
        let mut flows = Vec::new();
        for _ in 0..8 {
            let ceiling = ceiling(&mut rng).map(rate);
            let class = pick(&mut rng, &[None, Some(0), Some(1), Some(2), Some(3), Some(4)]);
            let plan = FlowPlan { class, ceiling, ..reserved(500_000) };
            flows.push((lines.world.open(0, &plan), plan));
        }
        let mut arrived = 0;
        for _ in 0..400 {
            let leg = pick(&mut rng, &flows).0;
            for _ in 0..1 + rng.below(4) {
                arrived += 1;
                lines.arrive(&[leg], 40 + rng.below(1460) as u32);
            }
            let until = lines.world.now + Span::from_micros(rng.below(6000));
            lines.run(until);
        }
        lines.drain();
        assert_eq!((lines.sent.len(), lines.dropped.len()), (arrived, 0), "seed {seed}");
        let within = |sent: &Sent, class: usize| {
            let mut at = flows[sent.packet.flow.ix()].1.class;
            while let Some(here) = at {
                if usize::from(here) == class {
                    return true;
                }
                at = classes[usize::from(here)].parent;
            }
            false
        };
        if let Some(ceiling) = whole {
            assert_never_exceeded(&lines.sent, ceiling, |_| true);
        }
        for (ix, class) in classes.iter().enumerate() {
            if let Some(ceiling) = class.ceiling {
                assert_never_exceeded(&lines.sent, ceiling, |sent| within(sent, ix));
            }
        }
        for (leg, plan) in &flows {
            if let Some(ceiling) = plan.ceiling {
                assert_never_exceeded(&lines.sent, ceiling, |sent| sent.packet.flow == leg.flow);
            }
        }
    }
}
