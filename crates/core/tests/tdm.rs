//! Time-division multiplexing: packets start at the beginning of their flow's own slots, and only
//! there, whatever the others do.

mod common;

use common::lines::Lines;
use common::{World, pick, rate, rounds};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::tdm::TdmParams;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PlanChange, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Transmission time of 250 bytes at 400 kbit/s.
const SLOT: Span = Span::from_millis(5);
const SLOTS: u64 = 20;

fn frame() -> SchedulerKind {
    let params = TdmParams { rate: Some(rate(400_000)), slot: 250, slots: SLOTS as u16, window: 0 };
    SchedulerKind::BuiltIn(BuiltInScheduler::Tdm(params))
}

fn reserving(bits: u64) -> FlowPlan {
    let reserve = (bits > 0).then(|| rate(bits));
    FlowPlan { contract: Contract { reserve, ..Contract::default() }, ..FlowPlan::default() }
}

fn lines(start: Time, buffer: Option<u64>) -> Lines {
    let port = PortPlan::new(frame());
    let world = World::starting(
        start,
        &SwitchPlan { ports: vec![port], buffer: buffer.map(Limit::Packets), ..SwitchPlan::default() },
    );
    Lines::new(world, &[rate(400_000)])
}

/// The slot in the frame at which each packet of each flow started.
fn slots(lines: &Lines, start: Time) -> BTreeMap<u32, Vec<u64>> {
    let mut of = BTreeMap::<u32, Vec<u64>>::new();
    for sent in &lines.sent {
        let ticks = sent.at.since(start).ticks();
        assert_eq!(ticks % SLOT.ticks(), 0, "starts in the middle of a slot");
        of.entry(sent.packet.flow.0).or_default().push(ticks / SLOT.ticks());
    }
    of
}

/// Random loads: every flow keeps to its own slots, takes each of them that begins while it has a
/// packet, and its packets stay in order. The start time of each packet follows from this.
#[test]
fn every_flow_has_its_slots_to_itself() {
    for seed in 0..rounds(30) {
        let mut rng = Rng::named(seed, "tdm");
        let start = Time::ORIGIN + Span::from_ticks(rng.below(1 << 40));
        let mut lines = lines(start, None);
        let shares = [1, 3, 5, 2, 0];
        let legs: Vec<Leg> =
            shares.iter().map(|share| lines.world.open(0, &reserving(share * 20_000))).collect();
        let mut arrivals: Vec<Vec<Time>> = vec![Vec::new(); shares.len()];
        for _ in 0..300 {
            let flow = rng.below(5) as usize;
            for _ in 0..=rng.below(3) {
                lines.arrive(&[legs[flow]], pick(&mut rng, &[250, 250, 40]));
                arrivals[flow].push(lines.world.now);
            }
            let until = lines.world.now + Span::from_micros(rng.below(30_000));
            lines.run(until);
        }
        lines.drain();
        let used = slots(&lines, start);
        let mut taken = BTreeSet::new();
        for (flow, share) in shares.iter().enumerate() {
            let numbers = &used[&legs[flow].flow.0];
            assert_eq!(numbers.len(), arrivals[flow].len());
            let own: BTreeSet<u64> = numbers.iter().map(|number| number % SLOTS).collect();
            if *share > 0 {
                assert!(own.len() as u64 <= *share, "{own:?}");
                // No other flow sends in them.
                assert!(own.iter().all(|slot| taken.insert(*slot)));
            }
            // Each packet takes the first of the flow's slots that is left to it.
            let mut last = None;
            for (arrived, number) in arrivals[flow].iter().zip(numbers) {
                let after = arrived.since(start).ticks().div_ceil(SLOT.ticks());
                let first = last.map_or(after, |last: u64| after.max(last + 1));
                let expected = (first..).find(|number| own.contains(&(number % SLOTS)));
                assert_eq!(Some(*number), expected);
                last = Some(*number);
            }
        }
    }
}

#[test]
fn idle_slots_are_wasted_and_unowned_ones_carry_datagrams() {
    let mut lines = lines(Time::ORIGIN, None);
    let (half, _idle, datagrams) =
        (lines.world.open(0, &reserving(200_000)), lines.world.open(0, &reserving(100_000)), {
            lines.world.open(0, &reserving(0))
        });
    for _ in 0..100 {
        lines.arrive(&[half], 250);
        lines.arrive(&[datagrams], 250);
    }
    lines.run(Time::ORIGIN + Span::from_millis(999));
    let used = slots(&lines, Time::ORIGIN);
    // 200 slots a second: half are the first flow's, a quarter the idle one's, a quarter nobody's.
    assert_eq!((used[&half.flow.0].len(), used[&datagrams.flow.0].len()), (100, 50));
    // The owned slots are spread evenly.
    assert!(used[&half.flow.0].windows(2).all(|pair| pair[1] - pair[0] == 2));
}

#[test]
fn slots_are_refused_when_none_is_free_and_come_back_with_their_flow() {
    let mut world = World::with(frame());
    let most = world.open(0, &reserving(390_000));
    let refused = world.switch.open(world.now, PortIx(0), &reserving(20_000)).unwrap_err();
    assert_eq!(refused.0, "1 slots are needed, and 0 of 20 are free");
    // A change of several flows is refused whole.
    let plan = SwitchPlan { ports: vec![PortPlan::new(frame())], buffer: None, ..SwitchPlan::default() };
    world.reconfigure(&plan, &[(most, reserving(100_000))]);
    let small = world.open(0, &reserving(100_000));
    let both = [(most, reserving(200_000)), (small, reserving(220_000))];
    assert!(world.cx(|switch, cx| switch.reconfigure(cx, &plan, &both)).is_err());
    world.open(0, &reserving(200_000));
    // A closed flow's slots are free once its packets are out.
    world.close(most);
    world.open(0, &reserving(100_000));
}

#[test]
fn the_latest_arrival_is_pushed_out() {
    let mut lines = lines(Time::ORIGIN, Some(3));
    let legs = [0, 1, 2].map(|_| lines.world.open(0, &reserving(20_000)));
    // The first goes into service in slot 0, its flow's own.
    let bodies: Vec<u32> = legs.iter().cycle().take(6).map(|leg| lines.arrive(&[*leg], 250)).collect();
    let dropped: Vec<u32> = lines.dropped.iter().map(|(_, packet, _)| packet.body.0).collect();
    assert_eq!(dropped, bodies[3..]);
}

#[test]
fn a_flow_without_a_reservation_waits_while_every_slot_has_an_owner() {
    let mut world = World::with(frame());
    let owner = world.open(0, &reserving(400_000));
    let datagram = world.open(0, &FlowPlan::default());
    let body = world.arrive(&[datagram], 250);
    for _ in 0..2 * SLOTS {
        assert_eq!(world.send(0), None);
        world.wait(SLOT);
    }
    _ = world.cx(|switch, cx| switch.close(cx.now, owner));
    assert_eq!(world.send(0).map(|packet| packet.body.0), Some(body));
}

/// A frame without a rate of its own divides its link's; when that doubles, so does the rate of
/// every slot.
#[test]
fn without_a_rate_a_frame_divides_its_links() {
    let params = TdmParams { rate: None, slot: 250, slots: SLOTS as u16, window: 0 };
    let scheduler = SchedulerKind::BuiltIn(BuiltInScheduler::Tdm(params));
    let plan = |bits: Option<u64>| {
        let port = PortPlan { rate: bits.map(rate), ..PortPlan::new(scheduler.clone()) };
        SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() }
    };
    let mut unknown = World::new(&plan(None));
    assert!(unknown.try_open(0, &reserving(20_000)).is_err());
    let mut lines = Lines::new(World::new(&plan(Some(400_000))), &[rate(400_000)]);
    let flow = lines.world.open(0, &reserving(200_000));
    let share = |lines: &mut Lines| {
        (0..20).for_each(|_| _ = lines.arrive(&[flow], 250));
        let begins = lines.world.now;
        lines.drain();
        lines.sent.last().unwrap().at.since(begins)
    };
    // Half of the slots: one every 10 ms.
    let before = share(&mut lines);
    assert!(before >= Span::from_millis(190) && before <= Span::from_millis(200), "{before:?}");
    // At twice the rate the same reservation is a quarter of the slots, which are half as long.
    let diff = lines.world.reconfigure(&plan(Some(800_000)), &[]);
    assert_eq!(diff, [PlanChange::Rate(0)]);
    let after = share(&mut lines);
    assert!(after >= Span::from_millis(190) && after <= Span::from_millis(200), "{after:?}");
    // And two as large do not fit any more at half of the rate.
    let both = lines.world.open(0, &reserving(300_000));
    let less = lines.world.try_reconfigure(&plan(Some(400_000)), &[]);
    assert!(less.is_err() && lines.world.switch.counters(both).arrived.packets == 0);
}

/// A frame as a class of a FIFO port, for flows in it.
fn in_a_class() -> Lines {
    let mut port = PortPlan::new(common::kind("fifo"));
    port.classes.push(ClassPlan::new(frame()));
    Lines::new(World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() }), &[rate(400_000)])
}

/// Without a reservation a packet waits while others own all slots of its class, and no longer than
/// until one of them is closed.
#[test]
fn slots_of_a_closed_flow_are_used_by_its_class_at_once() {
    let mut lines = in_a_class();
    let [all, none] =
        [400_000, 0].map(|reserved| lines.world.open(0, &FlowPlan { class: Some(0), ..reserving(reserved) }));
    lines.arrive(&[none], 250);
    lines.run(Time::ORIGIN + Span::from_millis(35));
    assert!(lines.sent.is_empty());
    lines.world.close(all);
    lines.drain();
    assert_eq!(
        lines.sent.iter().map(|sent| sent.at).collect::<Vec<_>>(),
        [Time::ORIGIN + Span::from_millis(35)]
    );
}

/// A flow that gives up its few slots has those of all flows without a reservation from then on.
#[test]
fn a_changed_flow_of_a_class_waits_for_its_new_slots() {
    let mut lines = in_a_class();
    let leg = lines.world.open(0, &FlowPlan { class: Some(0), ..reserving(20_000) });
    lines.arrive(&[leg], 250);
    lines.drain();
    lines.arrive(&[leg], 250);
    let changed = FlowPlan { class: Some(0), ..reserving(0) };
    lines.world.cx(|switch, cx| switch.change(cx.now, leg, &changed).map(|_| ())).unwrap();
    lines.drain();
    assert_eq!(lines.sent[1].at, Time::ORIGIN + SLOT);
}
