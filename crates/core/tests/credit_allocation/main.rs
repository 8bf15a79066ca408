//! Adaptive allocation and incremental credits over one link: no cell is lost, and a newcomer ramps
//! up as the theory says.

#[path = "../common/mod.rs"]
mod common;
mod world;

use common::rounds;
use tidegate_core::credit::allocation::{Claim, Division};
use tidegate_core::credit::messages::Counter;
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::stall::Stall;
use tidegate_core::credit::{Adaptation, Arrival, Confirmation, Receiver, Sender};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use world::{By, Setting, World, clean, rtt, vc_ix};

/// The receiver divides half of a pool, and knows after `delay` slots that the sender keeps to the
/// allocation.
fn receiver(pool: u64, delay: u64) -> Adaptation {
    let pool = pool as u32;
    let confirmation = Confirmation::After(Span::from_ticks(delay));
    Adaptation { pool, divided: pool / 2, n2: None, confirmation }
}

/// Slots after which a record has its effect, when the records of all VCs go in credit cells of
/// six.
fn delay(there: u64, back: u64, vcs: u64) -> u64 {
    there + 1 + back + vcs.div_ceil(6) + 1
}

/// A random setting and its number of VCs, which come, go and are blocked.
fn drawn(rng: &mut Rng) -> (Setting, u64) {
    let (there, back, vcs) = (rng.below(30), rng.below(30), 1 + rng.below(10));
    let delay = delay(there, back, vcs);
    let pool = 2 * vcs + rng.below(5 * delay);
    let by = match rng.below(3) {
        0 => {
            let n2 = 1 + rng.below(3);
            By::Sender { pool: (pool + n2 * vcs) as u32, n2: n2 as u32 }
        }
        _ => By::Receiver(receiver(pool, delay)),
    };
    let setting = Setting {
        turns: [0, 2, 20][rng.below(3) as usize],
        blocks: [0, 2, 20][rng.below(3) as usize],
        ..clean(by, there, back, delay + rng.below(3 * delay))
    };
    (setting, vcs)
}

fn pool_of(setting: &Setting) -> u64 {
    match setting.by {
        By::Nobody { .. } => unreachable!(),
        By::Sender { pool, .. } | By::Receiver(Adaptation { pool, .. }) => u64::from(pool),
    }
}

#[test]
fn no_cell_is_lost_while_allocations_change() {
    let mut draw = Rng::named(1, "credit-allocation");
    let (mut full, mut forwarded) = (0, 0);
    for seed in 0..rounds(150) {
        let (setting, vcs) = drawn(&mut draw);
        let mut world = World::new(setting, seed, vcs as usize);
        world.run(3000);
        assert_eq!(world.dropped, 0, "seed {seed}: {setting:?}");
        assert!(world.most <= pool_of(&setting));
        full += u32::from(world.most * 2 > pool_of(&setting));
        forwarded += world.departures.len();
    }
    assert!(full > 10 && forwarded > 50_000, "{full} {forwarded}");
}

#[test]
fn nor_while_credits_and_data_are_lost_and_credits_come_twice_and_late() {
    let mut draw = Rng::named(2, "credit-allocation");
    let (mut lost, mut full) = (0, 0);
    for seed in 0..rounds(150) {
        let (mut setting, vcs) = drawn(&mut draw);
        if let By::Receiver(adaptation) = &mut setting.by {
            adaptation.confirmation = Confirmation::Check;
        }
        setting.checks = Some(10 + draw.below(200));
        setting.data_lost = [0, 1, 10, 40][draw.below(4) as usize];
        setting.credit_lost = [0, 5, 30, 60][draw.below(4) as usize];
        setting.credit_repeated = [0, 20][draw.below(2) as usize];
        setting.credit_late = [0, 60][draw.below(2) as usize];
        let mut world = World::new(setting, seed, vcs as usize);
        world.run(3000);
        assert_eq!(world.dropped, 0, "seed {seed}: {setting:?}");
        assert!(world.most <= pool_of(&setting));
        (lost, full) = (lost + world.lost, full + u32::from(world.most * 2 > pool_of(&setting)));
        // Once nothing more is lost, every VC continues.
        world.lose_nothing();
        (world.setting.turns, world.setting.blocks) = (0, 0);
        world.vcs.iter_mut().for_each(|vc| (vc.on, vc.blocked) = (true, false));
        let recovered = 4 * (setting.checks.unwrap() + setting.interval + 100) + 20 * vcs;
        world.run(recovered);
        let before: Vec<_> = world.vcs.iter().map(|vc| vc.forwarded).collect();
        world.run(recovered + 100 * vcs);
        for (number, (vc, before)) in world.vcs.iter().zip(before).enumerate() {
            assert!(vc.forwarded > before, "VC {number} of {vcs} stands still, seed {seed}: {setting:?}");
        }
    }
    assert!(lost > 10_000 && full > 10, "{lost} {full}");
}

#[test]
fn dividing_more_than_half_of_the_pool_loses_cells() {
    let (there, back, vcs) = (20, 20, 3);
    let delay = delay(there, back, vcs);
    let pool = 4 * (there + 1 + back) + 2 * vcs;
    let run = |divided: u64, seed| {
        let adaptation = Adaptation { divided: divided as u32, ..receiver(pool, delay) };
        // VCs are blocked for about as long as an allocation holds.
        let setting =
            Setting { turns: 4, blocks: 8, ..clean(By::Receiver(adaptation), there, back, 2 * delay) };
        let mut world = World::new(setting, seed, vcs as usize);
        world.run(20_000);
        world.dropped
    };
    let mut losing = 0;
    for seed in 0..rounds(8) {
        assert_eq!(run(pool / 2, seed), 0);
        losing += u32::from(run(pool, seed) > 0);
    }
    assert!(losing > 0);
}

/// Allocations of a newcomer, one by one, beside VCs that have the whole link.
fn ramp(k: u64, loop_slots: u64, n2: Option<u32>) -> Vec<f64> {
    let (there, back) = (loop_slots / 2, loop_slots - loop_slots / 2 - 1);
    let vcs = 2;
    let adaptation = Adaptation { n2, ..receiver(4 * loop_slots + 2 * vcs, loop_slots + 1) };
    let setting = clean(By::Receiver(adaptation), there, back, k * loop_slots);
    let mut world = World::new(setting, 1, vcs as usize);
    world.vcs[1].on = false;
    // The interval of k RTT is measured between allocations, whatever the phase of the newcomer.
    world.run(30 * loop_slots + 1);
    while world.now % setting.interval != 1 {
        world.run(1);
    }
    world.vcs[1].on = true;
    let mut seen = Vec::new();
    while seen.last().is_none_or(|cells| *cells < loop_slots as f64 / 8.0) {
        world.run(setting.interval);
        seen.push(f64::from(world.receiver.allocated(vc_ix(1)).0));
    }
    seen
}

#[test]
fn a_newcomer_ramps_up_as_the_formula_says() {
    let loop_slots = 2000;
    // With N2 = Buf_Alloc/4, up to a quarter of an allocation waits for the next record, except at
    // k = 1: each allocation is sent in a record.
    for (k, n2) in [(1, None), (1, Some(1)), (2, Some(1)), (4, Some(1)), (8, Some(1))] {
        let seen = ramp(k, loop_slots, n2);
        // Large enough that rounding up does not count, small enough that N2·N is small beside the
        // RTT.
        let measured: Vec<f64> =
            seen.into_iter().filter(|cells| (30.0..loop_slots as f64 / 8.0).contains(cells)).collect();
        assert!(measured.len() >= 3, "{measured:?}");
        // At k = 1 it takes two allocations each time.
        let last = measured.len() - 1;
        let steps = last - last % 2;
        let factor = (measured[last] / measured[last - steps]).powf(1.0 / steps as f64);
        // g² = 2·((k − 1)·g + 1)/k, at α = 2 and TQ = 0.
        let k = k as f64;
        let expected = ((k - 1.0) + ((k - 1.0) * (k - 1.0) + 2.0 * k).sqrt()) / k;
        assert!((factor / expected - 1.0).abs() < 0.05, "k = {k}: {factor} beside {expected}, {measured:?}");
        if k == 1.0 {
            assert!((1.9..=2.1).contains(&(factor * factor)), "{factor}");
        }
    }
}

/// Cells of a VC alone in as many slots as a long run has.
fn rate(by: By, there: u64, back: u64, interval: u64) -> f64 {
    let mut world = World::new(clean(by, there, back, interval), 1, 1);
    world.run(60 * interval);
    let before = world.vcs[0].forwarded;
    world.run(20 * interval);
    (world.vcs[0].forwarded - before) as f64 / (20 * interval) as f64
}

/// The least pool with which a VC alone has the whole link.
fn least_pool(most: u32, by: impl Fn(u32) -> By, there: u64, back: u64, interval: u64) -> u32 {
    let (mut low, mut high) = (1, most);
    assert!(rate(by(high), there, back, interval) >= 0.999);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if rate(by(middle), there, back, interval) >= 0.999 { high = middle } else { low = middle }
    }
    high
}

#[test]
fn the_least_pools_are_one_rtt_and_two() {
    let (there, back) = (60, 60);
    let (loop_slots, interval) = (121.0, 2 * delay(there, back, 1));
    let sender = least_pool(400, |pool| By::Sender { pool, n2: 1 }, there, back, interval);
    let of_receiver =
        |pool: u32| By::Receiver(Adaptation { n2: Some(1), ..receiver(pool.into(), delay(there, back, 1)) });
    let receiver = least_pool(800, of_receiver, there, back, interval);
    for (found, expected) in [(sender, loop_slots), (receiver, 2.0 * loop_slots)] {
        assert!((f64::from(found) / expected - 1.0).abs() < 0.1, "{found} beside {expected}");
    }
}

#[test]
fn adaptive_n2_keeps_the_overhead_low() {
    let (there, back, vcs) = (250, 249, 5);
    let adaptation = receiver(4 * 500 + 2 * vcs, delay(there, back, vcs));
    let setting = clean(By::Receiver(adaptation), there, back, 2 * delay(there, back, vcs));
    let mut world = World::new(setting, 1, vcs as usize);
    world.run(20_000);
    let (cells, credits) = (world.departures.len(), world.credit_cells);
    world.run(40_000);
    let (cells, credits) = (world.departures.len() - cells, world.credit_cells - credits);
    assert!(cells as f64 > 0.99 * 40_000.0, "{cells}");
    assert!((credits as f64) < 0.03 * cells as f64, "{credits} credit cells for {cells}");
}

#[test]
fn incremental_credits_do_what_running_counts_do_until_something_is_lost_or_repeated() {
    let mut draw = Rng::named(3, "credit-allocation");
    let (mut apart, mut overruns) = (0, 0);
    for seed in 0..rounds(60) {
        let n2 = 1 + draw.below(6) as u32;
        let by = By::Nobody { buf_alloc: n2 + draw.below(30) as u32, n2 };
        let vcs = 1 + draw.below(6) as usize;
        let (there, back) = (draw.below(20), draw.below(20));
        let setting = Setting { turns: 20, blocks: 20, ..clean(by, there, back, u64::MAX) };
        let run = |protocol, credit_lost, credit_repeated| {
            let setting = Setting { protocol, credit_lost, credit_repeated, ..setting };
            let mut world = World::new(setting, seed, vcs);
            world.run(4000);
            world
        };
        let (cup, incremental) = (run(Protocol::Cup, 0, 0), run(Protocol::Incremental, 0, 0));
        assert_eq!(cup.departures, incremental.departures, "seed {seed}");
        assert!(cup.departures.len() > 100);
        let (cup, incremental) = (run(Protocol::Cup, 20, 0), run(Protocol::Incremental, 20, 0));
        apart += u32::from(incremental.departures.len() < cup.departures.len());
        let (cup, incremental) = (run(Protocol::Cup, 0, 20), run(Protocol::Incremental, 0, 20));
        assert_eq!(cup.dropped, 0);
        overruns += u32::from(incremental.dropped > 0);
    }
    assert!(apart > 30 && overruns > 20, "{apart} {overruns}");
}

#[test]
fn a_smaller_allocation_is_policed_when_the_sender_has_heard_of_it() {
    let delay = Span::from_ticks(50);
    let at = |slot: u64| Time::ORIGIN + Span::from_ticks(slot);
    for confirmation in [Confirmation::After(delay), Confirmation::Check] {
        let adaptation = Adaptation { pool: 400, divided: 200, n2: None, confirmation };
        let mut receiver = Receiver::new(Protocol::Cup, Some(400));
        let mut sender = Sender::new(Some(Span::from_ticks(10))).unwrap();
        for _ in 0..2 {
            sender.open(1, Counter::default()).unwrap();
            receiver.open(1, 1, Counter::default()).unwrap();
        }
        let (used, idle) = (vc_ix(0), vc_ix(1));
        // VC 0 gets nearly all, and then VC 1 does.
        for (slot, vc) in [(0, used), (100, idle)] {
            assert_eq!(receiver.arrived(at(slot), vc), Arrival::Stored);
            receiver.left(vc);
            receiver.allocate(at(slot), &adaptation);
        }
        assert_eq!((receiver.allocated(used).0, receiver.allocated(idle).0 > 1), (1, true));
        // Cells that the sender sent before it learned of that are accepted.
        assert_eq!(receiver.arrived(at(149), used), Arrival::Stored);
        assert_eq!(receiver.arrived(at(149), used), Arrival::Stored);
        match confirmation {
            Confirmation::After(_) => {}
            Confirmation::Check => {
                assert_eq!(receiver.arrived(at(5000), used), Arrival::Stored);
                let credit = receiver.take_credit_cell().unwrap();
                for _ in 0..3 {
                    // As many copies as cells have come since the allocation.
                    sender.credited(at(5000), &credit, |_, _| ());
                }
                let mut check = sender.take_check(at(5100)).unwrap();
                assert_eq!(check.vc, used);
                check.tx_cnt = Counter::from_bits(4);
                assert_eq!(receiver.checked(at(5200), &check), 0);
            }
        }
        assert_eq!(receiver.arrived(at(5300), used), Arrival::Dropped);
    }
}

#[test]
fn a_pool_is_divided_as_far_as_is_safe() {
    let mut rng = Rng::named(4, "credit-allocation");
    let mut bounded = 0;
    for _ in 0..rounds(300) {
        let claim = |_| Claim { used: rng.below(20) as u32, held: rng.below(12) as u32 };
        let claims: Vec<Claim> = (0..6).map(claim).collect();
        let least = 1 + claims[0].held % 3;
        let floor: u64 = claims.iter().map(|claim| u64::from(claim.held.max(least))).sum();
        let limit = floor + u64::from(claims[1].held) * 4;
        let total: u64 = claims.iter().map(|claim| u64::from(claim.used)).sum();
        let shares = |shared: u64| -> Vec<u64> {
            let share = |claim: &Claim| {
                let share = if total == 0 { 0 } else { (shared * u64::from(claim.used)).div_ceil(total) };
                share.max(u64::from(least))
            };
            claims.iter().map(share).collect()
        };
        let taken_up = |shared: u64| -> u64 {
            shares(shared).iter().zip(&claims).map(|(share, claim)| (*share).max(claim.held.into())).sum()
        };
        // The slow way: one after the other.
        let wanted = 60;
        let safe = (0..=wanted).rev().find(|shared| taken_up(*shared) <= limit).unwrap();
        bounded += u32::from(safe < wanted);
        let division = Division { shared: wanted, least, limit: Some(limit) };
        let given: Vec<u64> = division.allocations(&claims).into_iter().map(u64::from).collect();
        assert_eq!(given, shares(safe));
        let division = Division { limit: None, ..division };
        let given: Vec<u64> = division.allocations(&claims).into_iter().map(u64::from).collect();
        assert_eq!(given, shares(wanted));
    }
    assert!(bounded > 30, "{bounded}");
}

#[test]
fn a_vc_has_stalled_that_waits_for_nothing_for_100_rtt() {
    let at = |slot: u64| Time::ORIGIN + Span::from_ticks(slot);
    let rtt = Span::from_ticks(10);
    let found = |since, empty, now| Stall::found(vc_ix(3), since, empty, now, rtt);
    assert_eq!(found(at(50), at(20), at(1049)), None);
    let stall = found(at(50), at(20), at(1050)).unwrap();
    assert_eq!(stall.to_string(), "VC 3 has had no credit for 100 RTT");
    assert_eq!(stall.since, at(50));
    // The stall counts from the time at which the receiver had no more of its cells.
    assert_eq!(found(at(50), at(200), at(1050)), None);
    assert_eq!(found(at(50), at(200), at(1200)).map(|stall| stall.since), Some(at(200)));
    // Cells at the receiver hold it back, and it goes on when they leave.
    assert_eq!(found(at(50), Time::NEVER, at(9000)), None);
    assert_eq!(found(Time::NEVER, at(20), at(9000)), None);
}

#[test]
fn an_rtt_is_what_the_setting_says() {
    assert_eq!(rtt(&clean(By::Nobody { buf_alloc: 1, n2: 1 }, 3, 4, 1)), 8);
    // One cell a loop.
    assert!((rate(By::Nobody { buf_alloc: 1, n2: 1 }, 3, 4, 90) - 1.0 / 9.0).abs() < 0.001);
}
