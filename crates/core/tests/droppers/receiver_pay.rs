//! Senders and receivers that pay, in one queue (Clark and Fang 1998, section II.E.2): "routers
//! turn on the ECN bit of a packet whenever such a packet would have been dropped had it been an
//! out packet".
//!
//! The sender-pay/receiver-pay bit is the packet's ECN field: a packet of a receiver that pays is
//! ECN-capable and out, one of a sender that pays is not ECN-capable, and in or out.

use crate::common::{World, kind, pick, rate, rounds};
use tidegate_core::context::Reason;
use tidegate_core::dropper::rio::RioParams;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::packet::{BodyId, Colour, Mark, Packet, PortIx};
use tidegate_core::params::{Limit, PolicyParams};
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::Span;

const ECT: u8 = 0b10;
const LAST: BodyId = BodyId(u32::MAX - 1);

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Queued,
    Marked,
    Dropped(Reason),
}

/// Fate of a packet with this mark behind a random past, which is equal for every mark.
fn fate(seed: u64, mark: Mark) -> Fate {
    let mut rng = Rng::named(seed, "past");
    // The signal is a mark for ECN-capable packets, until the queue is full.
    let rio = RioParams {
        min_in: Limit::Packets(8),
        max_in: Limit::Packets(16),
        min_out: Limit::Packets(3),
        max_out: Limit::Packets(9),
        max_p_out: 0.3,
        weight: pick(&mut rng, &[0.02, 0.2, 0.9]),
        limit: Limit::Packets(pick(&mut rng, &[12, 24])),
        ..RioParams::example()
    };
    let dropper = DropperKind::BuiltIn(BuiltInDropper::Rio(rio));
    let port = PortPlan {
        dropper: Some(DropperPlan { kind: dropper, scope: Scope::Node, detector: None }),
        rate: Some(rate(1_000_000)),
        ..PortPlan::new(kind("fifo"))
    };
    let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
    let leg = world.open(0, &FlowPlan::default());
    let marks = [Mark::NONE, Mark::NONE.coloured(Colour::Red), Mark::from_ip(0, ECT).coloured(Colour::Red)];
    let leaves = pick(&mut rng, &[0.4, 0.48, 0.5]);
    for ix in 0..20 + rng.below(200) as u32 {
        world.wait(Span::from_micros(rng.below(2_000)));
        if rng.chance(leaves) {
            world.send(0);
        } else {
            let mut packet = Packet::new(BodyId(ix), 1_000);
            packet.mark = pick(&mut rng, &marks);
            world.arrive_packet(&[leg], packet);
        }
    }
    _ = world.dropped();
    let mut packet = Packet::new(LAST, 1_000);
    packet.mark = mark;
    world.arrive_packet(&[leg], packet);
    if let Some((_, reason, _)) = world.dropped().into_iter().find(|(body, _, _)| *body == LAST.0) {
        return Fate::Dropped(reason);
    }
    let mut waiting = world.switch.waiting(PortIx(0));
    let (_, queued) = waiting.find(|(_, packet)| packet.body == LAST).unwrap();
    if queued.mark.has_met_congestion() { Fate::Marked } else { Fate::Queued }
}

/// A packet of a receiver that pays is marked exactly where one of a sender that pays is dropped
/// when it is out, by chance or by force; when the queue is full, both are dropped. In packets of a
/// sender that pays have the better fate.
#[test]
fn a_receiver_that_pays_is_marked_where_an_out_packet_is_dropped() {
    let (mut marked, mut full, mut spared) = (0, 0, 0);
    for seed in 0..rounds(1_500) {
        let out = fate(seed, Mark::NONE.coloured(Colour::Red));
        let receiver = fate(seed, Mark::from_ip(0, ECT).coloured(Colour::Red));
        let expected = match out {
            Fate::Dropped(Reason::EarlyDrop | Reason::ForcedDrop) => Fate::Marked,
            other => other,
        };
        assert_eq!(receiver, expected, "seed {seed}");
        assert_ne!(out, Fate::Marked, "seed {seed}");
        let within = fate(seed, Mark::NONE);
        marked += u64::from(receiver == Fate::Marked);
        full += u64::from(out == Fate::Dropped(Reason::QueueLimit));
        spared += u64::from(out != Fate::Queued && within == Fate::Queued);
    }
    let few = rounds(1_500) / 20;
    assert!(marked > few && full > 5 && spared > few, "{marked} {full} {spared}");
}
