//! Droppers that do their own work: at the head, by two averages, a flow at a time; and the events
//! reported to them.

use crate::common::lines::Lines;
use crate::common::plans::drop_tail;
use crate::common::{World, kind, pick, rate, reserved, rounds};
use crate::toy::toy;
use std::collections::BTreeMap;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::contract::Contract;
use tidegate_core::dropper::{Dropper, DropperKind, Left, Occupancy};
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading};
use tidegate_core::packet::{BodyId, Colour, Leg, Mark, Packet, PortIx};
use tidegate_core::params::{Limit, Role};
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{ClassPlan, DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Colours every other packet red; [`InOut`] drops red packets where the queue is long.
#[derive(Default)]
pub struct EveryOther(u32);
impl Meter for EveryOther {
    fn see(&mut self, _: &mut Ctx<'_>, _: ProfileIx, packet: &mut Packet) -> Reading {
        self.0 += 1;
        packet.mark =
            packet.mark.coloured(if self.0.is_multiple_of(2) { Colour::Red } else { Colour::Green });
        Verdict::Accept.into()
    }
}
#[derive(Default)]
pub struct InOut;
impl Dropper for InOut {
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        match (packet.mark.colour(), at.queue.packets) {
            (Colour::Red, 4..) => Verdict::Drop(Reason::EarlyDrop),
            (_, 8..) => Verdict::Congested(Reason::EarlyDrop),
            _ => Verdict::Accept,
        }
    }
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Occupancy) -> Verdict {
        let late = cx.now.since(packet.arrived) > Span::from_secs(1);
        if late { Verdict::Drop(Reason::SojournTime) } else { Verdict::Accept }
    }
}

toy!(EveryOtherParams makes EveryOther: "every-other", Role::Meter { colours: true });
toy!(InOutParams makes InOut: "in-out", Role::Dropper);

#[test]
fn an_in_out_marking_dropper() {
    let dropper = Some(DropperKind::outside(InOutParams {}).into());
    let meters = vec![MeterKind::outside(EveryOtherParams {})];
    let port = PortPlan { meters, dropper, ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    let leg = world.open(0, &FlowPlan::default());
    for body in 1..=20 {
        let mut packet = Packet::new(BodyId(body), 1000);
        packet.mark = Mark::from_ip(0, 0b10);
        world.arrive_packet(&[leg], packet);
    }
    // In 1 out 2 in 3 out 4, then only the in packets 5, 7, 9, … up to ten of them in all.
    let out: Vec<u32> = world.dropped().iter().map(|(body, ..)| *body).collect();
    assert_eq!(out, [6, 8, 10, 12, 14, 16, 18, 20]);
    let mut marked = Vec::new();
    for _ in 0..12 {
        let packet = world.send(0).unwrap();
        marked.extend(packet.mark.is_congested().then_some(packet.body.0));
    }
    assert_eq!(marked, [13, 15, 17, 19]);
    world.wait(Span::from_secs(2));
    // A packet that has waited too long is dropped when its turn comes.
    world.arrive(&[leg], 1000);
    world.wait(Span::from_secs(2));
    world.arrive_packet(&[leg], Packet::new(BodyId(99), 1000));
    assert_eq!(world.send(0).unwrap().body.0, 99);
    let drops = world.switch.drops(PortIx(0));
    assert_eq!((drops.of(Reason::EarlyDrop), drops.of(Reason::SojournTime)), (8, 1));
    let marks = world.switch.marks(PortIx(0));
    assert_eq!((marks.of(Reason::EarlyDrop), marks.total(), world.switch.counters(leg).marked), (4, 4, 4));
}

/// A CoDel in miniature: a packet that has waited more than 20 ms is dropped when its turn comes.
#[derive(Default)]
pub struct Sojourn;
impl Dropper for Sojourn {
    fn arrive(&mut self, _: &mut Ctx<'_>, _: &Packet, _: &Occupancy) -> Verdict {
        Verdict::Accept
    }
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let late = cx.now.since(packet.arrived) > Span::from_millis(20) && at.queue.packets > 0;
        if late { Verdict::Congested(Reason::SojournTime) } else { Verdict::Accept }
    }
}

toy!(SojournParams makes Sojourn: "sojourn", Role::Dropper);

/// Under a port ceiling, and inside a class with one and below a class that always has packets:
/// packets dropped at the head leave no trace. The others leave at the same times as if nothing
/// else ever came, and the link is never idle while the other class has packets.
#[test]
fn what_is_dropped_at_the_head_was_never_charged() {
    for (in_class, root) in [(false, "fifo"), (true, "strict-priority"), (true, "virtual-clock")] {
        let dropper = || Some(DropperPlan::from(DropperKind::outside(SojournParams {})));
        let run = |arrivals: &[(Time, u32)], guarded: bool| {
            let (level, ceiling) =
                (Contract { priority: 1, ..reserved(1_000_000).contract }, Some(rate(2_000_000)));
            let guard = dropper().filter(|_| guarded);
            let mut port = PortPlan::new(kind(root));
            if in_class {
                let class = |contract| ClassPlan { contract, ..ClassPlan::new(kind("fifo")) };
                let guarded = ClassPlan { ceiling, dropper: guard, ..class(reserved(1_000_000).contract) };
                port.classes = vec![guarded, class(level)];
            } else {
                (port.ceiling, port.dropper) = (ceiling, guard);
            }
            let plan = SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() };
            let mut lines = Lines::new(World::new(&plan), &[rate(10_000_000)]);
            let flow = |class| FlowPlan { class: in_class.then_some(class), ..FlowPlan::default() };
            let leg = lines.world.open(0, &flow(0));
            if in_class {
                let rival = lines.world.open(0, &flow(1));
                (0..400).for_each(|_| _ = lines.arrive(&[rival], 1500));
            }
            for (at, body) in arrivals {
                lines.run(*at);
                lines.world.arrive_packet(&[leg], Packet::new(BodyId(*body), 1000));
                lines.kick();
            }
            lines.drain();
            let of = |sent: &&crate::common::lines::Sent| sent.packet.flow == leg.flow;
            let sent: Vec<_> = lines.sent.iter().filter(of).map(|s| (s.at, s.packet.body.0)).collect();
            let busy = |pair: &[crate::common::lines::Sent]| {
                pair[1].at == pair[0].at + rate(10_000_000).time_for(pair[0].packet.len)
            };
            assert!(!in_class || lines.sent.windows(2).take(399).all(busy), "{root}: the link was idle");
            (sent, lines.dropped.iter().map(|(_, packet, _)| packet.body.0).collect::<Vec<_>>())
        };
        // 4 ms a packet under the ceiling, and one comes every 2 ms: half of them have to go.
        let arrivals: Vec<_> =
            (0..200).map(|n| (Time::ORIGIN + Span::from_millis(2 * u64::from(n)), 10_000 + n)).collect();
        let (sent, dropped) = run(&arrivals, true);
        assert!(dropped.len() > 50 && sent.len() > 50, "{root}: {} {}", sent.len(), dropped.len());
        let survivors: Vec<_> = arrivals.into_iter().filter(|(_, body)| !dropped.contains(body)).collect();
        assert_eq!(run(&survivors, false), (sent, Vec::new()), "{root}");
    }
}

/// RIO in miniature (Clark and Fang 1998): one average of packets in profile, one of all; packets
/// in profile are judged by the first, packets out of profile by the second. It counts the packets
/// that it has admitted itself.
#[derive(Default)]
pub struct TwinAverage {
    queued: [u64; 2],
    averages: [f64; 2],
}
impl TwinAverage {
    fn judge(queued: [u64; 2], averages: &mut [f64; 2], out: bool) -> bool {
        averages[0] += 0.2 * (queued[0] as f64 - averages[0]);
        averages[1] += 0.2 * ((queued[0] + queued[1]) as f64 - averages[1]);
        if out { averages[1] < 4.0 } else { averages[0] < 8.0 }
    }
}
impl Dropper for TwinAverage {
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        assert_eq!(at.queue.packets, self.queued[0] + self.queued[1], "every way out was told");
        let out = packet.mark.colour() == Colour::Red;
        if !TwinAverage::judge(self.queued, &mut self.averages, out) {
            return Verdict::Drop(Reason::EarlyDrop);
        }
        self.queued[usize::from(out)] += 1;
        Verdict::Accept
    }
    fn left(&mut self, _: &mut Ctx<'_>, packet: &Packet, _: &Occupancy, _: Left) {
        self.queued[usize::from(packet.mark.colour() == Colour::Red)] -= 1;
    }
}

toy!(TwinAverageParams makes TwinAverage: "twin-average", Role::Dropper);

/// Two classes of one port, each with averages of its own: every verdict is the one that the
/// class's own arrivals ask for, whatever the other class does, also when a drop-tail further out
/// refuses some.
#[test]
fn a_twin_average_dropper_in_two_classes() {
    let guarded = || ClassPlan {
        contract: reserved(1_000_000).contract,
        dropper: Some(DropperKind::outside(TwinAverageParams {}).into()),
        ..ClassPlan::new(kind("fifo"))
    };
    let dropper = Some(drop_tail(Limit::Packets(9)).into());
    let port =
        PortPlan { classes: vec![guarded(), guarded()], dropper, ..PortPlan::new(kind("virtual-clock")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    let legs = [0, 1].map(|class| world.open(0, &FlowPlan { class: Some(class), ..FlowPlan::default() }));
    let (mut queued, mut averages) = ([[0; 2]; 2], [[0.0; 2]; 2]);
    let mut seen = BTreeMap::new();
    let mut rng = Rng::named(1, "twin averages");
    for body in 0..4000 {
        let (class, out) = (rng.below(2) as usize, rng.chance(0.5));
        let mut packet = Packet::new(BodyId(body), 500);
        packet.mark = packet.mark.coloured(if out { Colour::Red } else { Colour::Green });
        let let_in = TwinAverage::judge(queued[class], &mut averages[class], out);
        let expected = match (let_in, queued.as_flattened().iter().sum::<u64>()) {
            (false, _) => Some(Reason::EarlyDrop),
            (true, 9..) => Some(Reason::QueueLimit),
            (true, _) => None,
        };
        world.arrive_packet(&[legs[class]], packet);
        let dropped = world.dropped().first().map(|(_, reason, _)| *reason);
        assert_eq!(dropped, expected, "packet {body}");
        *seen.entry(dropped).or_insert(0) += 1;
        queued[class][usize::from(out)] += u64::from(expected.is_none());
        if rng.chance(0.45)
            && let Some(sent) = world.send(0)
        {
            let class = usize::from(sent.flow == legs[1].flow);
            queued[class][usize::from(sent.mark.colour() == Colour::Red)] -= 1;
        }
    }
    assert!(seen.values().all(|count| *count > 50) && seen.len() == 3, "{seen:?}");
}

/// A flow that floods fills its own queue and nobody else's.
#[test]
fn a_dropper_for_each_flow() {
    let dropper =
        Some(DropperPlan { kind: drop_tail(Limit::Packets(3)), scope: Scope::Flow, detector: None });
    let class = ClassPlan { dropper, ..ClassPlan::new(kind("fifo")) };
    let port = PortPlan { classes: vec![class], ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    let legs = [0; 4].map(|_| world.open(0, &FlowPlan { class: Some(0), ..FlowPlan::default() }));
    let alone = world.open(0, &FlowPlan::default());
    for (ix, leg) in legs.iter().enumerate() {
        (0..4 * ix).for_each(|_| _ = world.arrive(&[*leg], 100));
    }
    (0..10).for_each(|_| _ = world.arrive(&[alone], 100));
    let dropped = |world: &World| legs.map(|leg| world.switch.counters(leg).dropped.packets);
    assert_eq!(dropped(&world), [0, 1, 5, 9]);
    // A packet in service counts until it is out.
    assert_eq!(world.start(0).unwrap().flow, legs[1].flow);
    world.arrive(&[legs[1]], 100);
    assert_eq!(dropped(&world), [0, 2, 5, 9]);
    world.finish(0);
    world.arrive(&[legs[1]], 100);
    assert_eq!(dropped(&world), [0, 2, 5, 9]);
    // The next flow of an index has a dropper of its own.
    while world.send(0).is_some() {}
    world.close(legs[3]);
    let again = world.open(0, &FlowPlan { class: Some(0), ..FlowPlan::default() });
    assert_eq!(again, legs[3]);
    (0..5).for_each(|_| _ = world.arrive(&[again], 100));
    assert_eq!(world.switch.counters(again).dropped.packets, 2);
    assert_eq!(world.switch.counters(alone).dropped.packets, 0);
}

/// Drops packets at random, marks others, and counts its queue from the events reported to it.
#[derive(Default)]
pub struct Bookkeeper {
    bytes: u64,
}
impl Dropper for Bookkeeper {
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        assert_eq!(at.queue.bytes, self.bytes);
        assert!(at.flow.bytes <= at.queue.bytes && at.queue.packets <= at.pool.packets);
        match cx.rng.below(10) {
            0 => Verdict::Drop(Reason::EarlyDrop),
            1 if packet.mark.ecn() == 0 => Verdict::Congested(Reason::EarlyDrop),
            verdict => {
                self.bytes += u64::from(packet.len);
                if verdict == 1 { Verdict::Congested(Reason::EarlyDrop) } else { Verdict::Accept }
            }
        }
    }
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        assert_eq!(at.queue.bytes, self.bytes - u64::from(packet.len));
        if cx.rng.chance(0.2) { Verdict::Congested(Reason::SojournTime) } else { Verdict::Accept }
    }
    fn left(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy, _: Left) {
        self.bytes -= u64::from(packet.len);
        assert_eq!(at.queue.bytes, self.bytes);
    }
}

toy!(BookkeeperParams makes Bookkeeper: "bookkeeper", Role::Dropper);

/// In every scope at once, with push-out: each way out is reported to each dropper, marked packets
/// are ECN-capable, and the identities of the counters hold.
#[test]
fn droppers_hear_of_every_way_out() {
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "bookkeepers");
        let keeper = |scope| {
            Some(DropperPlan { kind: DropperKind::outside(BookkeeperParams {}), scope, detector: None })
        };
        let class = |parent, scope, ceiling| ClassPlan {
            parent,
            contract: reserved(2_000_000).contract,
            ceiling,
            dropper: keeper(scope),
            ..ClassPlan::new(kind("virtual-clock"))
        };
        let ceiling = rng.chance(0.5).then(|| rate(3_000_000));
        let classes = vec![class(None, Scope::Node, ceiling), class(Some(0), Scope::Flow, None)];
        let port = PortPlan { classes, dropper: keeper(Scope::Node), ..PortPlan::new(kind("fifo")) };
        let buffer = Some(Limit::Packets(1 + rng.below(30)));
        let plan = SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() };
        let mut lines = Lines::new(World::new(&plan), &[rate(10_000_000)]);
        let flow = |class| FlowPlan { class, ..reserved(500_000) };
        let classes = [None, Some(0), Some(1), Some(1)];
        let legs: Vec<Leg> = classes.iter().map(|class| lines.world.open(0, &flow(*class))).collect();
        for body in 0..800 {
            let mut packet = Packet::new(BodyId(body), pick(&mut rng, &[40, 576, 1500]));
            packet.mark = Mark::from_ip(0, rng.below(4) as u8);
            lines.world.arrive_packet(&[pick(&mut rng, &legs)], packet);
            lines.kick();
            let until = lines.world.now + Span::from_micros(rng.below(1500));
            lines.run(until);
        }
        lines.drain();
        let switch = &lines.world.switch;
        let (drops, marks) = (switch.drops(PortIx(0)), switch.marks(PortIx(0)));
        let counters: Vec<_> = legs.iter().map(|leg| switch.counters(*leg)).collect();
        let sum =
            |what: fn(&tidegate_core::switch::FlowCounters) -> u64| counters.iter().map(what).sum::<u64>();
        assert_eq!(sum(|flow| flow.dropped.packets), drops.total());
        assert_eq!(drops.total(), Reason::ALL.iter().map(|reason| drops.of(*reason)).sum::<u64>());
        assert_eq!(sum(|flow| flow.marked), marks.total());
        assert_eq!(sum(|flow| flow.arrived.packets), sum(|flow| flow.sent.packets) + drops.total());
        assert!(marks.of(Reason::EarlyDrop) > 0 && marks.of(Reason::SojournTime) > 0);
        for sent in lines.sent.iter().filter(|sent| sent.packet.mark.is_congested()) {
            assert_eq!(sent.packet.mark.ecn(), 0b11);
        }
        let congested = lines.sent.iter().filter(|sent| sent.packet.mark.is_congested()).count();
        assert!(congested as u64 <= marks.total());
    }
}
