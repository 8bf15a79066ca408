//! Changes of plans, and the traces that they leave.

use crate::common::lines::Lines;
use crate::common::{World, every_scheduler, pick, plans, rate, rounds};
use crate::storm::Storm;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

/// Schedulers that forget the past. Not among them: slots are laid out in the order in which flows
/// came, Pulse keeps its flows' unsent credit, and deficit round robins, of which triple isolation is
/// one, keep the flow that sent last in their lists until another one does.
fn forgetful() -> Vec<SchedulerKind> {
    let remembers = |name: &str| ["pulse", "triple-isolate"].contains(&name) || name.contains("drr");
    let forgets = |kind: &SchedulerKind| !kind.record().is_slotted() && !remembers(kind.record().name);
    every_scheduler().into_iter().filter(forgets).collect()
}

/// After any sequence of plans and any traffic, once all is sent and time has passed, the switch is
/// the one that a fresh switch with the last plan is.
#[test]
fn any_way_to_a_plan_ends_in_the_same_switch() {
    for seed in 0..rounds(30) {
        let mut storm = Storm::new(seed, "plans", 1 + seed as usize % 2, forgetful(), plans::drop_tails());
        while storm.open.len() < 6 {
            storm.open();
        }
        for _ in 0..200 {
            match storm.rng.below(100) {
                0..50 => storm.arrive(),
                50..85 => {
                    let until = storm.lines.world.now + Span::from_micros(storm.rng.below(3000));
                    storm.lines.run(until);
                }
                85..95 => {
                    let gate = pick(
                        &mut storm.rng,
                        &[Participation::Active, Participation::Held, Participation::Absent],
                    );
                    storm.take_part(gate);
                }
                _ => {
                    let wanted = storm.another_plan();
                    storm.reconfigure(wanted);
                }
            }
        }
        // A last plan that is the last one but for rates: no tree is built anew by it. Monitors go:
        // they remember what they have seen of an average interval, however long ago.
        let mut wanted = storm.another_plan();
        for port in &mut wanted.ports {
            port.meters.clear();
            port.classes.iter_mut().for_each(|class| class.meters.clear());
        }
        storm.reconfigure(wanted);
        storm.drain();
        storm.check(&format!("seed {seed}"));
        storm.lines.world.wait(Span::from_secs(1_000_000));

        let mut fresh = Lines::new(World::starting(storm.lines.world.now, &storm.plan), &storm.lines.rates);
        let mut flows = storm.open.clone();
        flows.sort_by_key(|(leg, _)| *leg);
        for (leg, plan) in &flows {
            assert_eq!(fresh.world.open(leg.port.0, plan), *leg);
        }
        let seen = |lines: &mut Lines| {
            let mut rng = Rng::named(seed, "afterwards");
            let (sent, dropped) = (lines.sent.len(), lines.dropped.len());
            let mut first = None;
            for _ in 0..150 {
                let (leg, _) = pick(&mut rng, &flows);
                match rng.below(10) {
                    0..5 => {
                        let body = lines.arrive(&[leg], 40 + rng.below(1460) as u32);
                        first = first.or(Some(body));
                    }
                    5..9 => {
                        let until = lines.world.now + Span::from_micros(rng.below(3000));
                        lines.run(until);
                    }
                    _ => {
                        lines.world.take_part(
                            leg,
                            pick(
                                &mut rng,
                                &[Participation::Active, Participation::Held, Participation::Absent],
                            ),
                        );
                        lines.kick();
                    }
                }
            }
            flows.iter().for_each(|(leg, _)| lines.world.take_part(*leg, Participation::Active));
            lines.drain();
            let first = first.unwrap();
            let sent: Vec<(Time, u16, u32)> = lines.sent[sent..]
                .iter()
                .map(|sent| (sent.at, sent.port, sent.packet.body.0 - first))
                .collect();
            let dropped: Vec<(u16, u32)> = lines.dropped[dropped..]
                .iter()
                .map(|(port, packet, _)| (*port, packet.body.0 - first))
                .collect();
            (sent, dropped)
        };
        assert_eq!(seen(&mut storm.lines), seen(&mut fresh), "seed {seed}");
    }
}

/// A class that only closed flows belonged to can be taken away.
#[test]
fn closed_flows_do_not_keep_their_class() {
    let mut rng = Rng::named(1, "classes");
    let with_class = loop {
        let plan = plans::switch(&mut rng, 1, &forgetful());
        if !plan.ports[0].classes.is_empty() {
            break plan;
        }
    };
    let mut without = with_class.clone();
    without.ports[0].classes.clear();
    let mut world = World::new(&with_class);
    let leg = world.open(0, &FlowPlan { class: Some(0), ..FlowPlan::default() });
    let refused = world.cx(|switch, cx| switch.reconfigure(cx, &without, &[]));
    assert!(refused.is_err(), "an open flow does");
    world.close(leg);
    world.reconfigure(&without, &[]);
    assert_eq!(world.open(0, &FlowPlan::default()), leg);
}

/// A pool that becomes smaller than its content is within its limit at once.
#[test]
fn a_smaller_pool_is_within_its_limit_at_once() {
    let mut rng = Rng::named(1, "smaller");
    let mut plan = plans::switch(&mut rng, 2, &forgetful());
    plan.buffer = None;
    for port in &mut plan.ports {
        port.dropper = None;
        port.classes.iter_mut().for_each(|class| class.dropper = None);
    }
    let mut world = World::new(&plan);
    let shaper = Some(ShaperPlan {
        rate: rate(1000),
        burst: 100,
        peak: None,
        queue: None,
        excess: Excess::Wait,
        calendar: None,
    });
    let legs = [(0, None), (1, None), (0, shaper), (1, shaper)]
        .map(|(port, shaper)| world.open(port, &FlowPlan { shaper, ..FlowPlan::default() }));
    (0..10).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 100)));
    for packets in [30, 15, 3] {
        plan.buffer = Some(Limit::Packets(packets));
        world.reconfigure(&plan, &[]);
        assert_eq!(world.switch.pool().packets, packets);
    }
}
