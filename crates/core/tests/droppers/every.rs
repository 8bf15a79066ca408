//! Properties of every dropper.

use crate::common::lines::Lines;
use crate::common::{World, kind, pick, rate, reserved, rounds};
use crate::line::{passes, record, record_from};
use tidegate_core::context::{Effect, Reason};
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::packet::{BodyId, Colour, Mark, Packet, PortIx};
use tidegate_core::params::{Marking, NamedPolicy};
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{DropperPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Seeds bring all sizes, rates and idle times with them: nothing overflows, and gauges are
/// numbers.
#[test]
fn verdicts_do_not_depend_on_when_or_on_names() {
    for dropper in BuiltInDropper::examples() {
        for seed in 0..rounds(12) {
            let plain = record(&dropper, seed, 1500).verdicts();
            let shift = Span::from_ticks(123_456_789_012_345_678);
            let shifted = record_from(&dropper, seed, 1500, Time::ORIGIN + shift, &|flow| flow);
            let renamed = record_from(&dropper, seed, 1500, Time::ORIGIN, &|flow| 77 - 3 * flow);
            assert_eq!(plain, shifted.verdicts(), "seed {seed}: {dropper:?}");
            assert_eq!(plain, renamed.verdicts(), "seed {seed}: {dropper:?}");
            assert!(plain.len() >= 1500);
        }
    }
}

/// A packet that finds nothing queued, after a long time in which nothing was, is admitted and
/// sent: where the rate is known, by which idle time counts.
#[test]
fn a_lone_packet_passes() {
    for dropper in BuiltInDropper::examples() {
        for seed in 0..rounds(12) {
            let mut line = record(&dropper, seed, 300);
            line.set_rate(rate(1_000_000), true);
            line.wait(Span::from_secs(200 * 86_400));
            let before = line.events.len();
            assert!(line.arrive(Packet::new(BodyId(9999), 1)), "seed {seed}: {dropper:?}");
            line.wait(Span::from_secs(8));
            let (sent, said) = (&line.events[before..], line.verdicts());
            let last = said.last().copied().unwrap();
            assert!(passes(&Packet::new(BodyId(0), 1), last), "{sent:?}");
        }
    }
}

/// Over the queue of a port and over each flow's own, with push-out and without: arrivals equal
/// packets sent and dropped, drops and marks add up by reason and by flow, only ECN-capable packets
/// are marked, and only by droppers that declare marking.
#[test]
fn counters_keep_their_identities() {
    for dropper in BuiltInDropper::examples() {
        let (mut marks_at_all, mut drops_at_all) = (false, false);
        for (seed, scope) in [Scope::Node, Scope::Flow].into_iter().cycle().enumerate().take(8) {
            let name = dropper.record().name;
            let mut rng = Rng::named(seed as u64, name);
            let guard = DropperPlan { kind: DropperKind::BuiltIn(dropper.clone()), scope, detector: None };
            let port = PortPlan {
                dropper: Some(guard),
                rate: Some(rate(10_000_000)),
                ..PortPlan::new(kind(pick(&mut rng, &["fifo", "drr", "virtual-clock"])))
            };
            let buffer = pick(&mut rng, &[None, Some(tidegate_core::params::Limit::Packets(50))]);
            let plan = SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() };
            let mut lines = Lines::new(World::new(&plan), &[rate(10_000_000)]);
            let legs: Vec<_> = (0..3).map(|_| lines.world.open(0, &reserved(500_000))).collect();
            let (mut drops, mut marks) = ([0; Reason::ALL.len()], [0; Reason::ALL.len()]);
            for body in 0..1500 {
                let mut packet = Packet::new(BodyId(body), pick(&mut rng, &[40, 576, 1500]));
                let colour = pick(&mut rng, &[Colour::Green, Colour::Yellow, Colour::Red]);
                packet.mark = Mark::from_ip(0, rng.below(4) as u8).coloured(colour);
                lines.world.arrive_packet(&[pick(&mut rng, &legs)], packet);
                for effect in &lines.world.out {
                    match effect {
                        Effect::Marked { packet, reason, .. } => {
                            assert!(packet.mark.ecn() == 0b11, "{name}: {packet:?}");
                            marks[*reason as usize] += 1;
                        }
                        Effect::Dropped { reason, .. } => drops[*reason as usize] += 1,
                        _ => {}
                    }
                }
                lines.world.out.clear();
                lines.kick();
                let until = lines.world.now + Span::from_micros(rng.below(1000));
                lines.run(until);
            }
            lines.drain();
            let switch = &lines.world.switch;
            let port = (switch.drops(PortIx(0)), switch.marks(PortIx(0)));
            let counters: Vec<_> = legs.iter().map(|leg| switch.counters(*leg)).collect();
            let sum = |what: fn(&tidegate_core::switch::FlowCounters) -> u64| {
                counters.iter().map(what).sum::<u64>()
            };
            assert_eq!(sum(|flow| flow.arrived.packets), 1500);
            assert_eq!(1500, sum(|flow| flow.sent.packets) + port.0.total(), "{name}");
            assert_eq!(
                (sum(|flow| flow.dropped.packets), sum(|flow| flow.marked)),
                (port.0.total(), port.1.total())
            );
            assert_eq!(lines.sent.len() as u64, sum(|flow| flow.sent.packets));
            drops_at_all |= port.0.total() > 0;
            for reason in Reason::ALL {
                let (at_arrival, all) = (drops[reason as usize], port.0.of(reason));
                // Packets dropped or marked on leaving come after the look at the effects.
                assert!(
                    at_arrival <= all && marks[reason as usize] <= port.1.of(reason),
                    "{name}, {reason:?}"
                );
            }
            let congested = lines.sent.iter().filter(|sent| sent.packet.mark.is_congested()).count() as u64;
            assert!(congested <= port.1.total(), "{name}: {congested} were marked");
            marks_at_all |= port.1.total() > 0;
        }
        assert_eq!(marks_at_all, dropper.marking() != Marking::Never, "{dropper:?}");
        // A dropper that divides a pool drops only where there is one.
        assert!(drops_at_all, "{dropper:?}");
    }
}
