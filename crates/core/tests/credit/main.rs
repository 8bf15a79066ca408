//! The Credit Update Protocol over random links, beside counts without bounds.

#[path = "../common/mod.rs"]
mod common;
mod world;

use common::rounds;
use tidegate_core::credit::messages::{Counter, Credit, CreditCell, CreditCheck, CreditRecord, VcIx};
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::sizing::{Exact, Loop, Unsizable};
use tidegate_core::credit::{Arrival, MAX_CELLS, Receiver, Refused, Sender};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use world::{Setting, Wire, World, clean, vc_ix};

fn drawn(rng: &mut Rng) -> (Setting, Vec<(u32, u32)>) {
    let wire = Wire {
        data_lost: [0, 1, 10, 40][rng.below(4) as usize],
        credit_lost: [0, 5, 30, 60][rng.below(4) as usize],
        credit_repeated: [0, 20][rng.below(2) as usize],
        credit_late: [0, 40][rng.below(2) as usize],
        ..clean(rng.below(20), rng.below(20))
    };
    let setting = Setting {
        wire,
        checks: Some(10 + rng.below(200)),
        served: [20, 70, 100][rng.below(3) as usize],
        offered: [2, 20, 100][rng.below(3) as usize],
        repeats: [0, 0, 1, 3][rng.below(4) as usize],
    };
    let vcs = (0..1 + rng.below(12)).map(|_| {
        let n2 = 1 + rng.below(12) as u32;
        (n2 + rng.below(40) as u32, n2)
    });
    (setting, vcs.collect())
}

#[test]
fn nothing_overruns_and_losses_are_made_good() {
    let mut draw = Rng::named(7, "credit-settings");
    let (mut lost, mut late, mut repeated, mut packed) = (0, 0, 0, false);
    for seed in 0..rounds(150) {
        let (setting, vcs) = drawn(&mut draw);
        let mut world = World::new(setting, seed, draw.below(1 << 32) as u32, &vcs);
        world.run(1500);
        (lost, late, repeated) = (lost + world.lost, late + world.late, repeated + world.repeated);
        packed |= vcs.len() > 6;
        // Once the link has recovered, every VC continues.
        world.lose_nothing();
        world.setting.offered = 100;
        let recovered = 2 * (setting.checks.unwrap() + world.rtt() + 50) + 12 * vcs.len() as u64;
        world.run(recovered);
        let before: Vec<_> = world.vcs.iter().map(|vc| vc.forwarded).collect();
        world.run(recovered + 100 * vcs.len() as u64);
        for (number, (vc, before)) in world.vcs.iter().zip(before).enumerate() {
            assert!(vc.forwarded > before, "VC {number} of {vcs:?} stands still, seed {seed}: {setting:?}");
        }
        // Once nothing more is sent, both ends agree and no cell is left.
        world.setting.offered = 0;
        world.setting.served = 100;
        world.vcs.iter_mut().for_each(|vc| vc.waiting = 0);
        let cells: u64 = vcs.iter().map(|(buf_alloc, _)| u64::from(*buf_alloc)).sum();
        world.run(recovered + cells);
        for (number, vc) in world.vcs.iter().enumerate() {
            assert_eq!(u64::from(world.sender.balance(vc_ix(number))), vc.buf_alloc);
            assert_eq!((vc.tx, vc.rx), (vc.rx, vc.fwd));
        }
        world.run(setting.checks.unwrap());
        assert_eq!(world.sender.next_check(), Time::NEVER);
    }
    assert!(lost > 1000 && late > 500 && repeated > 1000 && packed, "{lost} {late} {repeated} {packed}");
}

#[test]
fn one_check_and_its_answer_bring_the_ends_together() {
    let mut draw = Rng::named(8, "credit-settings");
    let mut wrong = 0;
    for seed in 0..rounds(100) {
        let (mut setting, vcs) = drawn(&mut draw);
        setting.checks = Some(2000);
        let mut world = World::new(setting, seed, 0, &vcs);
        world.run(1000);
        // Cells on the link arrive or are lost; the receiver forwards half of its cells.
        world.lose_nothing();
        (world.setting.offered, world.setting.served) = (0, 50);
        world.vcs.iter_mut().for_each(|vc| vc.waiting = 0);
        world.run(world.rtt() + 50);
        world.setting.served = 0;
        world.run(world.rtt() + 50);
        let apart = |world: &World, vc: usize| {
            let buf_alloc = u64::from(vcs[vc].0);
            buf_alloc - u64::from(world.sender.balance(vc_ix(vc))) != world.vcs[vc].queued()
        };
        wrong += (0..vcs.len()).filter(|vc| apart(&world, *vc)).count();
        let outstanding: usize = world.vcs.iter().filter(|vc| vc.tx > vc.known).count();
        world.now = 5000;
        world.run(vcs.len() as u64 + world.rtt() + 50);
        assert_eq!(world.checks as usize, outstanding);
        assert!((0..vcs.len()).all(|vc| !apart(&world, vc)));
    }
    assert!(wrong > 100, "{wrong}");
}

#[test]
fn a_vc_alone_has_the_rate_of_equation_2() {
    let mut rng = Rng::named(9, "credit-settings");
    let mut below = 0;
    for seed in 0..rounds(120) {
        let (there, back, n2) = (rng.below(12), rng.below(12), 1 + rng.below(9));
        let buf_alloc = n2 + rng.below(there + back + 2 * n2);
        let setting =
            Setting { wire: clean(there, back), checks: None, served: 100, offered: 100, repeats: 0 };
        let mut world = World::new(setting, seed, u32::MAX - 99, &[(buf_alloc as u32, n2 as u32)]);
        let period = world.rtt() + n2 - buf_alloc % n2;
        world.run(40 * period);
        let before = world.vcs[0].forwarded;
        world.run(10 * period);
        let rtt = Exact::from_integer(world.rtt().into());
        let share = Loop::new(rtt, n2).unwrap().share(buf_alloc, 1).unwrap().least;
        let cells = world.vcs[0].forwarded - before;
        assert_eq!(Exact::from_integer(cells.into()), share * Exact::from_integer((10 * period).into()));
        below += u32::from(share < Exact::from_integer(1));
    }
    assert!(below > 30, "{below}");
}

#[test]
fn wrapping_counters_change_no_departure() {
    let mut draw = Rng::named(10, "credit-settings");
    let mut wrapped = 0;
    for seed in 0..rounds(30) {
        let (setting, vcs) = drawn(&mut draw);
        let run = |start: u32| {
            let mut world = World::new(setting, seed, start, &vcs);
            world.run(1500);
            world
        };
        let (plain, wrapping) = (run(0), run(u32::MAX - 20));
        assert_eq!(plain.departures, wrapping.departures);
        wrapped += wrapping.vcs.iter().filter(|vc| vc.fwd > 20).count();
    }
    assert!(wrapped > 50, "{wrapped}");
}

#[test]
fn without_checks_lost_cells_take_their_buffer_with_them() {
    for checks in [None, Some(50)] {
        let wire = Wire { data_lost: 10, ..clean(3, 3) };
        let setting = Setting { wire, checks, served: 100, offered: 100, repeats: 0 };
        let mut world = World::new(setting, 1, 0, &[(8, 2)]);
        world.run(3000);
        let before = world.vcs[0].forwarded;
        world.lose_nothing();
        world.run(3000);
        assert_eq!(world.vcs[0].forwarded == before, checks.is_none());
    }
}

#[test]
fn allocations_that_cannot_work_are_refused() {
    let start = Counter::default();
    let mut receiver = Receiver::new(Protocol::Cup, None);
    let deadlock = Refused::Allocation(Unsizable::Deadlock { buf_alloc: 7, n2: 8 });
    assert_eq!(receiver.open(7, 8, start), Err(deadlock));
    assert_eq!(receiver.open(7, 0, start), Err(Refused::Allocation(Unsizable::NoBatch)));
    for buf_alloc in [0, MAX_CELLS + 1, u32::MAX] {
        let refused = Refused::BufAlloc { buf_alloc };
        assert_eq!(receiver.open(buf_alloc, 1, start), Err(refused));
        assert_eq!(Sender::new(None).unwrap().open(buf_alloc, start), Err(refused));
    }
    assert_eq!(Sender::new(Some(Span::ZERO)).err(), Some(Refused::NoInterval));
    // A refused VC is not open.
    assert_eq!(receiver.open(8, 8, start), Ok(VcIx(0)));
    assert_eq!(receiver.arrived(Time::ORIGIN, VcIx(1)), Arrival::Dropped);
}

#[test]
fn no_message_and_no_cell_can_do_harm() {
    let mut rng = Rng::named(11, "credit-settings");
    let (mut dropped, mut passed_over, mut found_lost) = (0, 0, 0);
    for _ in 0..rounds(200) {
        let n2 = 1 + rng.below(4) as u32;
        let buf_alloc = n2 + rng.below(6) as u32;
        let start = Counter::from_bits(rng.below(1 << 32) as u32);
        let (mut sender, mut receiver) = (Sender::new(None).unwrap(), Receiver::new(Protocol::Cup, None));
        let vc = sender.open(buf_alloc, start).unwrap();
        receiver.open(buf_alloc, n2, start).unwrap();
        let (mut rx, mut fwd) = (0_u64, 0_u64);
        for _ in 0..200 {
            let about = if rng.below(2) == 0 { rx } else { fwd } as u32;
            let near = start.plus(about).plus((rng.below(16) as u32).wrapping_sub(4));
            let count = if rng.below(2) == 0 { near } else { Counter::from_bits(rng.below(1 << 32) as u32) };
            let other = VcIx(rng.below(3) as u32);
            let before = sender.balance(vc);
            match rng.below(5) {
                0 => {
                    let credit = Credit::Forwarded(count);
                    let record = CreditRecord { vc: other, credit, allocation: None };
                    sender.credited(Time::ORIGIN, &CreditCell::of(&[record; 6]).unwrap(), |_, _| ());
                    // No message takes credit away.
                    assert!((before..=buf_alloc).contains(&sender.balance(vc)));
                    passed_over += u32::from(before == sender.balance(vc));
                }
                1 => assert_eq!(sender.sent(Time::ORIGIN, vc).is_ok(), before > 0),
                2 => {
                    // The check holds only if its count is between the cells that have come and
                    // those that may have been sent.
                    let tx = u64::from(count.since(start));
                    let stands = other == vc && (rx..=fwd + u64::from(buf_alloc)).contains(&tx);
                    let lost = if stands { tx - rx } else { 0 };
                    let check = CreditCheck { vc: other, tx_cnt: count, allocation: Counter::default() };
                    assert_eq!(u64::from(receiver.checked(Time::ORIGIN, &check)), lost);
                    (rx, fwd) = (rx + lost, fwd + lost);
                    found_lost += u32::from(lost > 0);
                }
                3 if receiver.queued(vc) > 0 => {
                    receiver.left(vc);
                    fwd += 1;
                }
                _ => {
                    let is_dropped = receiver.arrived(Time::ORIGIN, other) == Arrival::Dropped;
                    assert_eq!(is_dropped, other != vc || rx - fwd == u64::from(buf_alloc));
                    let mine = u64::from(other == vc);
                    (rx, fwd) = (rx + mine, fwd + if is_dropped { mine } else { 0 });
                    dropped += u32::from(is_dropped);
                }
            }
            assert_eq!(u64::from(receiver.queued(vc)), rx - fwd);
            assert!(receiver.queued(vc) <= buf_alloc);
        }
    }
    assert!(dropped > 100 && passed_over > 100 && found_lost > 100, "{dropped} {passed_over} {found_lost}");
    assert_eq!(CreditCell::of(&[CreditRecord::default(); 7]), None);
}
