//! Trees of schedulers: priority over disciplines, shares of classes and then within a class,
//! unused capacity that goes to the siblings first, and the charge of a class for the packets that
//! it sends.

mod common;

use common::lines::Lines;
use common::{World, every_scheduler, every_work_conserving_scheduler, kind, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

fn class(parent: Option<u16>, scheduler: &str, reserve: u64, priority: u8) -> ClassPlan {
    class_of(parent, kind(scheduler), reserve, priority)
}

fn class_of(parent: Option<u16>, scheduler: SchedulerKind, reserve: u64, priority: u8) -> ClassPlan {
    let contract = Contract { reserve: Some(rate(reserve)), priority, ..Contract::default() };
    ClassPlan { parent, contract, ceiling: None, ..ClassPlan::new(scheduler) }
}

fn world(root: &str, classes: Vec<ClassPlan>) -> World {
    let port = PortPlan { classes, rate: Some(rate(10_000_000)), ..PortPlan::new(kind(root)) };
    World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() })
}

fn member(class: u16, reserve: u64, priority: u8) -> FlowPlan {
    let contract = Contract { reserve: Some(rate(reserve)), priority, ..Contract::default() };
    FlowPlan { class: Some(class), contract, ..FlowPlan::default() }
}

/// Between any two that always have packets, bytes over promise differ by at most `slack` bytes of
/// the one behind (it waits for a packet of its own), and `early` of the one ahead: a class whose
/// token announced a smaller packet than it then sent is charged later.
fn assert_shares(served: &[(u64, u64)], slack: u64, early: u64, what: &str) {
    for (ahead, ahead_bits) in served {
        for (behind, behind_bits) in served {
            let product = |bytes: u64, bits: u64| i128::from(bytes) * i128::from(bits);
            let gap = product(*ahead, *behind_bits) - product(*behind, *ahead_bits);
            let most = product(slack, *ahead_bits) + product(early, *behind_bits);
            assert!(gap <= most, "{what}: {served:?}");
        }
    }
}

/// An urgent packet waits for the one in service and for the urgent ones before it, for nothing
/// else.
#[test]
fn an_urgent_class_waits_one_packet_at_most() {
    for inner in every_work_conserving_scheduler() {
        let classes =
            vec![class_of(None, inner.clone(), 1_000_000, 0), class_of(None, inner.clone(), 90_000_000, 1)];
        let mut lines = Lines::new(world("strict-priority", classes), &[rate(10_000_000)]);
        lines.world.audited = false;
        let urgent = lines.world.open(0, &member(0, 1_000_000, 3));
        let bulk = [0; 3].map(|_| lines.world.open(0, &member(1, 30_000_000, 0)));
        bulk.iter().for_each(|leg| (0..300).for_each(|_| _ = lines.arrive(&[*leg], 9000)));
        let mut rng = Rng::named(1, "urgent");
        for _ in 0..200 {
            // 200 bytes take 160 µs, so an urgent packet never meets another.
            let until = lines.world.now + Span::from_micros(8000 + rng.below(9000));
            lines.run(until);
            lines.arrive(&[urgent], 200);
        }
        lines.drain();
        let urgent = lines.sent.iter().filter(|sent| sent.packet.flow == urgent.flow);
        let waited = urgent.map(|sent| sent.at.since(sent.packet.arrived));
        let bulk_packet = rate(10_000_000).time_for(9000);
        assert!(waited.clone().all(|waited| waited <= bulk_packet), "{inner:?}");
        assert!(waited.max() > Some(Span::ZERO));
    }
}

struct Site {
    bits: u64,
    subscribers: Vec<(Leg, u64)>,
    served: Vec<u64>,
}

/// Sites of subscribers, VirtualClock in VirtualClock: every subscriber has packets all the time.
#[test]
fn sites_share_by_reservation_and_so_do_their_subscribers() {
    for seed in 0..rounds(4) {
        let mut rng = Rng::named(seed, "sites");
        let sites = 2 + rng.below(3) as usize;
        let bits: Vec<u64> = (0..sites).map(|_| pick(&mut rng, &[1_000_000, 3_000_000, 777_777])).collect();
        let classes = bits.iter().map(|bits| class(None, "virtual-clock", *bits, 0)).collect();
        let mut world = world("virtual-clock", classes);
        world.audited = false;
        let mut sites: Vec<Site> = bits
            .into_iter()
            .enumerate()
            .map(|(ix, bits)| {
                let subscribers: Vec<(Leg, u64)> = (0..1 + rng.below(4))
                    .map(|_| pick(&mut rng, &[100_000, 300_000, 64_000]))
                    .map(|bits| (world.open(0, &member(ix as u16, bits, 0)), bits))
                    .collect();
                Site { bits, served: vec![0; subscribers.len()], subscribers }
            })
            .collect();
        let sizes: Vec<Vec<u32>> =
            (0..9).map(|_| (0..3).map(|_| 40 + rng.below(8960) as u32).collect()).collect();
        for packet in 0..250 {
            for leg in sites.iter().flat_map(|site| &site.subscribers).map(|(leg, _)| *leg) {
                world.arrive(&[leg], sizes[(leg.flow.ix() + packet) % 9][packet % 3]);
            }
        }
        let all_backlogged = |world: &World, sites: &[Site]| {
            let mut legs = sites.iter().flat_map(|site| &site.subscribers);
            legs.all(|(leg, _)| {
                let counters = world.switch.counters(*leg);
                counters.sent.packets < counters.arrived.packets
            })
        };
        while all_backlogged(&world, &sites) {
            let sent = world.send(0).unwrap();
            for site in &mut sites {
                if let Some(ix) = site.subscribers.iter().position(|(leg, _)| leg.flow == sent.flow) {
                    site.served[ix] += u64::from(sent.len);
                }
            }
            let totals: Vec<(u64, u64)> =
                sites.iter().map(|site| (site.served.iter().sum(), site.bits)).collect();
            assert_shares(&totals, 9001, 9001, "sites");
            for site in &sites {
                let each: Vec<(u64, u64)> =
                    site.served.iter().copied().zip(site.subscribers.iter().map(|(_, bits)| *bits)).collect();
                assert_shares(&each, 9001, 0, "subscribers");
            }
        }
    }
}

/// Bytes that four subscribers in two sites of 3:1 get in a second, when only some have packets.
fn shares(active: [bool; 4]) -> [u64; 4] {
    let classes =
        vec![class(None, "virtual-clock", 6_000_000, 0), class(None, "virtual-clock", 2_000_000, 0)];
    let mut lines = Lines::new(world("virtual-clock", classes), &[rate(8_000_000)]);
    lines.world.audited = false;
    let plans = [(0, 4_000_000), (0, 2_000_000), (1, 1_000_000), (1, 1_000_000)];
    let legs = plans.map(|(class, bits)| lines.world.open(0, &member(class, bits, 0)));
    for _ in 0..1200 {
        legs.iter()
            .zip(active)
            .filter(|(_, active)| *active)
            .for_each(|(leg, _)| _ = lines.arrive(&[*leg], 1000));
    }
    let until = Time::ORIGIN + Span::from_secs(1);
    lines.run(until);
    let bytes = legs.map(|leg| lines.bytes(Time::ORIGIN, until, |sent| sent.packet.flow == leg.flow));
    // Work conservation: the link is never idle.
    assert_eq!(bytes.iter().sum::<u64>(), 1_000_000, "{bytes:?}");
    bytes
}

#[test]
fn what_a_subscriber_leaves_goes_to_its_site_and_what_a_site_leaves_to_the_others() {
    let near = |bytes: [u64; 4], expected: [u64; 4]| {
        let off = bytes.iter().zip(expected).any(|(bytes, expected)| bytes.abs_diff(expected) > 3000);
        assert!(!off, "{bytes:?}, not {expected:?}");
    };
    near(shares([true; 4]), [500_000, 250_000, 125_000, 125_000]);
    near(shares([false, true, true, true]), [0, 750_000, 125_000, 125_000]);
    near(shares([true, true, false, true]), [500_000, 250_000, 0, 250_000]);
    near(shares([true, true, false, false]), [666_667, 333_333, 0, 0]);
    near(shares([false, false, true, false]), [0, 0, 1_000_000, 0]);
}

/// A class announces its bulk packet and sends an urgent one that came later, or the other way
/// round: it is charged for the packets sent, at every moment within a few packets.
#[test]
fn a_class_is_charged_what_it_sends() {
    for inner in every_work_conserving_scheduler() {
        let mut rng = Rng::named(1, "charged");
        let what = format!("{inner:?}");
        let classes = vec![class_of(None, inner, 1_000_000, 0), class(None, "fifo", 3_000_000, 0)];
        let mut world = world("virtual-clock", classes);
        world.audited = false;
        let urgent = world.open(0, &member(0, 700_000, 0));
        let bulk = world.open(0, &member(0, 300_000, 5));
        let rival = world.open(0, &member(1, 1_000_000, 0));
        let link = rate(6_000_000);
        let mut served = [(0, 1_000_000), (0, 3_000_000)];
        let queued = |world: &World, leg: Leg| {
            let counters = world.switch.counters(leg);
            counters.arrived.packets - counters.sent.packets
        };
        for _ in 0..rounds(100_000) {
            while queued(&world, bulk) < 2 {
                world.arrive(&[bulk], pick(&mut rng, &[40, 9000]));
            }
            while queued(&world, rival) < 2 {
                world.arrive(&[rival], pick(&mut rng, &[40, 1500]));
            }
            // Now and then one or several come at once, half of the class's traffic.
            if rng.chance(0.1) {
                (0..rng.below(4)).for_each(|_| _ = world.arrive(&[urgent], pick(&mut rng, &[40, 300, 9000])));
            }
            let packet = world.start(0).unwrap();
            world.wait(link.time_for(packet.len));
            world.finish(0);
            served[usize::from(packet.flow == rival.flow)].0 += u64::from(packet.len);
            assert_shares(&served, 9001, 9001, &what);
        }
        assert!(world.switch.counters(urgent).sent.packets > 1000);
    }
}

/// Runs a workload on one scheduler and on an equivalent tree: the order is equal, packet for
/// packet. A class without a packet does not learn that its flow is held, which lets turns pass under
/// deficit round robin: there flows are held with a packet only.
fn assert_same_order(
    flat: &SchedulerKind,
    tree: impl Fn(u16, &mut FlowPlan) -> ClassPlan,
    root: &SchedulerKind,
    gated: bool,
) {
    let is_drr = flat.record().name == "drr";
    for seed in 0..rounds(3) {
        let mut sides = [false, true].map(|nested| {
            let mut rng = Rng::named(seed, "same order");
            let mut plans: Vec<FlowPlan> = (0..5)
                .map(|_| {
                    let mut plan = reserved(pick(&mut rng, &[1_000_000, 4_000_000, 333_333]));
                    plan.contract.priority = rng.below(3) as u8;
                    plan
                })
                .collect();
            let classes: Vec<ClassPlan> =
                plans.iter_mut().enumerate().map(|(ix, plan)| tree(ix as u16, plan)).collect();
            let mut port = PortPlan { rate: Some(rate(40_000_000)), ..PortPlan::new(flat.clone()) };
            if nested {
                (port.scheduler, port.classes) = (root.clone(), classes);
            } else {
                plans.iter_mut().for_each(|plan| plan.class = None);
            }
            let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
            let legs: Vec<Leg> = plans.iter().map(|plan| world.open(0, plan)).collect();
            (rng, world, legs, Vec::new())
        });
        for _ in 0..800 {
            for (rng, world, legs, order) in &mut sides {
                let leg = pick(rng, legs);
                match rng.below(10) {
                    0..5 => _ = world.arrive(&[leg], pick(rng, &[40, 500, 1000, 1500])),
                    5..8 => order.extend(world.send_next(0).map(|packet| packet.body.0)),
                    8 => world.wait(Span::from_micros(500 * rng.below(9))),
                    _ if gated => {
                        let how = pick(rng, &[Participation::Active, Participation::Held]);
                        let counters = world.switch.counters(leg);
                        let is_empty = counters.arrived.packets == counters.sent.packets;
                        if !(is_drr && is_empty && how == Participation::Held) {
                            world.take_part(leg, how);
                        }
                    }
                    _ => {}
                }
            }
            // A class may be woken for a flow that does not take part any more.
            let now = sides.iter().map(|(_, world, ..)| world.now).max().unwrap();
            sides.iter_mut().for_each(|(_, world, ..)| world.now = now);
        }
        let orders = sides.map(|(_, mut world, legs, mut order)| {
            legs.iter().for_each(|leg| world.take_part(*leg, Participation::Active));
            order.extend(std::iter::from_fn(|| world.send_next(0)).map(|packet| packet.body.0));
            assert!(world.switch.is_idle(PortIx(0)));
            order
        });
        assert_eq!(orders[0], orders[1], "{flat:?} against {root:?}, seed {seed}");
    }
}

#[test]
fn a_class_for_every_flow_serves_like_one_scheduler() {
    let sees_as_much = |root: &SchedulerKind| !root.record().reads_queues;
    for root in every_scheduler().into_iter().filter(sees_as_much) {
        for inner in every_work_conserving_scheduler() {
            let one_each = |ix, plan: &mut FlowPlan| {
                plan.class = Some(ix);
                ClassPlan { contract: plan.contract, ..ClassPlan::new(inner.clone()) }
            };
            assert_same_order(&root, one_each, &root, true);
        }
    }
}

#[test]
fn a_scheduler_in_the_only_class_serves_like_the_ports() {
    // The fluid server of WFQ follows time at a port, and the bytes sent in a class
    // (`fair_queueing/trees.rs`).
    // Triple isolation counts the flows of hosts when a packet is about to be sent, which a class knows
    // earlier than a port.
    let follows_time = |kind: &SchedulerKind| ["wfq", "triple-isolate"].contains(&kind.record().name);
    for root in every_work_conserving_scheduler() {
        for inner in every_scheduler().into_iter().filter(|kind| !follows_time(kind)) {
            let all_in_one = |ix, plan: &mut FlowPlan| {
                plan.class = Some(0);
                class_of(None, if ix == 0 { inner.clone() } else { kind("fifo") }, 10_000_000, 0)
            };
            assert_same_order(&inner, all_in_one, &root, true);
        }
    }
}

/// Two levels of slots may never have theirs at the same time.
#[test]
fn slots_within_slots_are_refused() {
    let slotted = every_scheduler().into_iter().filter(|kind| kind.record().is_slotted());
    for scheduler in slotted {
        let between = [
            ClassPlan::new(kind("fifo")),
            ClassPlan { parent: Some(0), ..ClassPlan::new(scheduler.clone()) },
        ];
        for classes in [vec![ClassPlan::new(scheduler.clone())], between.to_vec()] {
            let rate = Some(rate(1_000_000));
            let port = PortPlan { classes, rate, ..PortPlan::new(scheduler.clone()) };
            assert!(
                Switch::new(Time::ORIGIN, &SwitchPlan { ports: vec![port], ..SwitchPlan::default() })
                    .is_err()
            );
        }
    }
}

#[test]
fn fifo_within_fifo_is_fifo() {
    // Three levels deep: flow 4 in class 4 in class 3 in …, no deeper than the limit.
    let nested = |ix: u16, plan: &mut FlowPlan| {
        plan.class = (ix > 0).then_some(ix / 2);
        class((ix > 0 && ix < 3).then_some(0), "fifo", 1, 0)
    };
    assert_same_order(&kind("fifo"), nested, &kind("fifo"), false);
}

#[test]
fn priority_over_fifo_classes_is_strict_priority() {
    let by_level = |ix: u16, plan: &mut FlowPlan| {
        plan.class = Some(u16::from(plan.contract.priority));
        class(None, "fifo", 1, ix as u8)
    };
    assert_same_order(&kind("strict-priority"), by_level, &kind("strict-priority"), false);
}

/// Packets pushed out of a class were charged to it, for good: they give no credit for when the
/// class comes back, whether its last packet was sent or pushed out.
#[test]
fn a_class_saves_no_credit_from_what_was_pushed_out() {
    for buffer in [1, 2] {
        let classes = vec![class(None, "strict-priority", 1_000_000, 0), class(None, "fifo", 1_000_000, 0)];
        let port = PortPlan { classes, ..PortPlan::new(kind("virtual-clock")) };
        let mut plan =
            SwitchPlan { ports: vec![port], buffer: Some(Limit::Packets(buffer)), ..SwitchPlan::default() };
        let mut world = World::new(&plan);
        let bulk = world.open(0, &member(0, 1_000_000, 5));
        let urgent = world.open(0, &member(0, 1_000_000, 0));
        let rival = world.open(0, &member(1, 1_000_000, 0));
        let lost = world.arrive(&[bulk], 9000);
        let kept = if buffer == 1 { rival } else { urgent };
        (0..buffer).for_each(|_| _ = world.arrive(&[kept], 40));
        assert_eq!(world.dropped().first().map(|(body, ..)| *body), Some(lost));
        while world.send(0).is_some() {}
        // Long after, all clocks are behind: equal stamps, so in the order of arrival.
        world.wait(Span::from_secs(10));
        plan.buffer = None;
        world.reconfigure(&plan, &[]);
        for leg in [rival, bulk, rival, bulk] {
            world.arrive(&[leg], 1000);
        }
        let order: Vec<_> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow).collect();
        assert_eq!(order, [rival.flow, bulk.flow, rival.flow, bulk.flow], "buffer of {buffer}");
    }
}
