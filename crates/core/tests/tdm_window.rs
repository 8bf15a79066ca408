//! Mukherji's schedule: idle slots of a frame are used by others, within a window.

mod common;

use common::lines::Lines;
use common::{World, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::tdm::TdmParams;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::Span;

/// Transmission time of 250 bytes at 400 kbit/s.
const SLOT: Span = Span::from_millis(5);
const SLOTS: u64 = 20;
/// Slots that each flow reserves; the last two are datagrams.
const SHARES: [u64; 6] = [1, 3, 5, 8, 0, 0];

fn frame(window: u16) -> SchedulerKind {
    let params = TdmParams { rate: Some(rate(400_000)), slot: 250, slots: SLOTS as u16, window };
    SchedulerKind::BuiltIn(BuiltInScheduler::Tdm(params))
}

/// Arrivals: a flow and the time since the start, in the order of time.
type Arrivals = Vec<(Span, usize)>;

/// Numbers of the slots in which each flow sends, by the port.
fn sent(window: u16, arrivals: &Arrivals) -> Vec<Vec<u64>> {
    let mut lines = Lines::new(World::with(frame(window)), &[rate(400_000)]);
    let start = lines.world.now;
    let open = |share: u64| {
        let reserve = (share > 0).then(|| rate(share * 20_000));
        lines.world.open(
            0,
            &FlowPlan { contract: Contract { reserve, ..Contract::default() }, ..FlowPlan::default() },
        )
    };
    let legs: Vec<Leg> = SHARES.map(open).into();
    for (after, flow) in arrivals {
        lines.run(start + *after);
        lines.arrive(&[legs[*flow]], 250);
    }
    lines.drain();
    let mut slots = vec![Vec::new(); SHARES.len()];
    for sent in &lines.sent {
        let flow = legs.iter().position(|leg| leg.flow == sent.packet.flow).unwrap();
        let ticks = sent.at.since(start).ticks();
        assert_eq!(ticks % SLOT.ticks(), 0, "starts in the middle of a slot");
        slots[flow].push(ticks / SLOT.ticks());
    }
    slots
}

/// Owner of each slot: each flow at the first free one from its even share on.
fn owners() -> Vec<Option<usize>> {
    let frame = SLOTS as usize;
    let mut owners = vec![None; frame];
    for (flow, share) in SHARES.iter().enumerate() {
        for nth in 0..*share as usize {
            let even = nth * frame / *share as usize;
            let free = (even..even + frame).map(|at| at % frame).find(|at| owners[*at].is_none()).unwrap();
            owners[free] = Some(flow);
        }
    }
    owners
}

/// Slots of each flow from lists, slot by slot, and the number of packets sent in slots of others.
fn by_hand(window: u16, arrivals: &Arrivals) -> (Vec<Vec<u64>>, u64) {
    let owners = owners();
    let mut waiting: Vec<(Span, usize)> = arrivals.clone();
    let mut slots = vec![Vec::new(); SHARES.len()];
    let mut borrowed = [0; SHARES.len()];
    let mut lent = 0;
    for number in 0.. {
        if waiting.is_empty() {
            break;
        }
        if number % SLOTS == 0 {
            borrowed = [0; SHARES.len()];
        }
        let now = Span::from_ticks(number * SLOT.ticks());
        let owner = owners[(number % SLOTS) as usize];
        let there = || waiting.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let own = there().find(|(_, (_, flow))| match owner {
            Some(owner) => *flow == owner,
            None => SHARES[*flow] == 0,
        });
        let other = there().find(|(_, (_, flow))| borrowed[*flow] < window);
        let Some((at, (_, flow))) = own.or(other) else { continue };
        if own.is_none() {
            borrowed[*flow] += 1;
            lent += 1;
        }
        slots[*flow].push(number);
        waiting.remove(at);
    }
    (slots, lent)
}

fn arrivals(rng: &mut Rng) -> Arrivals {
    let mut at = Span::ZERO;
    let mut arrivals = Arrivals::new();
    for _ in 0..250 {
        let flow = rng.below(SHARES.len() as u64) as usize;
        (0..=rng.below(4)).for_each(|_| arrivals.push((at, flow)));
        let most = pick(rng, &[5_000, 30_000, 60_000]);
        at += Span::from_micros(rng.below(most));
        if at.ticks().is_multiple_of(SLOT.ticks()) {
            // At the beginning of a slot the order of events decides.
            at += Span::from_micros(1);
        }
    }
    arrivals
}

/// The owner first, then the earliest packet of a flow whose window of the frame is not used up; and
/// no packet of a flow with slots of its own is later than without the window.
#[test]
fn idle_slots_are_used_within_the_window() {
    let mut lent = 0;
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "window");
        let arrivals = arrivals(&mut rng);
        let plain = sent(0, &arrivals);
        assert_eq!((plain.clone(), 0), by_hand(0, &arrivals), "seed {seed}");
        for window in [1, 2, 20] {
            let used = sent(window, &arrivals);
            let (expected, others) = by_hand(window, &arrivals);
            assert_eq!(used, expected, "seed {seed}, window {window}");
            lent += others;
            for flow in (0..SHARES.len()).filter(|flow| SHARES[*flow] > 0) {
                assert!(used[flow].iter().zip(&plain[flow]).all(|(one, other)| one <= other), "seed {seed}");
            }
        }
    }
    assert!(lent > 1_000, "{lent}");
}

/// With a window of a whole frame no slot is idle while a packet waits; with one of a packet a flow
/// alone sends that many more in a frame than it owns.
#[test]
fn the_window_is_what_a_flow_may_send_beside_its_own() {
    let at_once: Arrivals = (0..100).map(|_| (Span::ZERO, 0)).collect();
    assert_eq!(sent(SLOTS as u16, &at_once)[0], (0..100).collect::<Vec<u64>>());
    for window in 0..5 {
        let slots = &sent(window, &at_once)[0];
        for frame in 0..10 {
            let within = slots.iter().filter(|slot| *slot / SLOTS == frame).count();
            assert_eq!(within, usize::from(window) + 1, "{window}");
        }
    }
}

/// A new frame begins as the link becomes idle: the time that the scheduler waits for is its first
/// slot, and not the next one of the flow's own.
#[test]
fn a_flow_that_has_used_its_window_waits_for_the_next_frame() {
    let slots = &sent(2, &(0..6).map(|_| (Span::ZERO, 0)).collect())[0];
    assert_eq!(*slots, [0, 1, 2, 20, 21, 22]);
}
