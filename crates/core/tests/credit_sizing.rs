//! Equations (2), (5) and (6) beside a slow model of one link, cell by cell.

mod common;

use common::rounds;
use std::collections::VecDeque;
use tidegate_core::credit::sizing::{Exact, Link, Loop, Pool, Unsizable, propagation};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span};

/// Resource at which VCs take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shared {
    /// One sender and one link for all.
    Link,
    /// A sender and a link each, and one output of the receiver.
    Output,
}

struct Vc {
    sent: u64,
    /// Arrival times of the cells that are not yet forwarded.
    queue: VecDeque<u64>,
    forwarded: u64,
    /// The last forwarded count sent in a record.
    told: u64,
    /// Records on the way: time of arrival, and forwarded count.
    records: VecDeque<(u64, u64)>,
    credited: u64,
}

/// Greedy VCs on a link of one cell a slot. A cell that is sent in slot t has arrived by slot
/// t + 1 + there, is forwarded from the slot of its turn on, and a record of that is usable `back`
/// slots after: RTT = there + 1 + back. The output takes `output` slots for a cell.
struct Model {
    shared: Shared,
    output: u64,
    /// The slot from which on the output is free.
    free: u64,
    there: u64,
    back: u64,
    buf_alloc: u64,
    n2: u64,
    vcs: Vec<Vc>,
    sender: usize,
    receiver: usize,
    now: u64,
}

impl Model {
    fn new(shared: Shared, (there, back): (u64, u64), buf_alloc: u64, n2: u64, active: usize) -> Model {
        let vc = || Vc {
            sent: 0,
            queue: VecDeque::new(),
            forwarded: 0,
            told: 0,
            records: VecDeque::new(),
            credited: 0,
        };
        let vcs = (0..active).map(|_| vc()).collect();
        Model { shared, output: 1, free: 0, there, back, buf_alloc, n2, vcs, sender: 0, receiver: 0, now: 0 }
    }

    /// The next in turn of those for whom `ready` holds.
    fn next(vcs: &[Vc], last: &mut usize, ready: impl Fn(&Vc) -> bool) -> Option<usize> {
        let turn = (1..=vcs.len()).map(|step| (*last + step) % vcs.len()).find(|&vc| ready(&vcs[vc]))?;
        *last = turn;
        Some(turn)
    }

    fn slot(&mut self) {
        let Model { there, back, buf_alloc, n2, now, output, .. } = *self;
        for vc in &mut self.vcs {
            while vc.records.front().is_some_and(|(at, _)| *at <= now) {
                vc.credited = vc.records.pop_front().unwrap().1;
            }
        }
        let is_there = |vc: &Vc| vc.queue.front().is_some_and(|at| *at <= now);
        if self.free <= now
            && let Some(turn) = Self::next(&self.vcs, &mut self.receiver, is_there)
        {
            self.free = now + output;
            let vc = &mut self.vcs[turn];
            vc.queue.pop_front();
            vc.forwarded += 1;
            if vc.forwarded - vc.told == n2 {
                vc.told = vc.forwarded;
                vc.records.push_back((now + output + back, vc.forwarded));
            }
        }
        let credit = |vc: &Vc| vc.sent - vc.credited < buf_alloc;
        let turns: Vec<_> = match self.shared {
            Shared::Link => Self::next(&self.vcs, &mut self.sender, credit).into_iter().collect(),
            Shared::Output => (0..self.vcs.len()).filter(|&vc| credit(&self.vcs[vc])).collect(),
        };
        for turn in turns {
            let vc = &mut self.vcs[turn];
            vc.sent += 1;
            vc.queue.push_back(now + 1 + there);
            let there_now = vc.queue.iter().filter(|at| **at <= now).count() as u64;
            assert!(there_now <= buf_alloc);
        }
        self.now += 1;
    }

    /// Cells of each VC that are forwarded in `slots` slots after a warm-up.
    fn forwarded(&mut self, warm_up: u64, slots: u64) -> Vec<u64> {
        (0..warm_up).for_each(|_| self.slot());
        let before: Vec<_> = self.vcs.iter().map(|vc| vc.forwarded).collect();
        (0..slots).for_each(|_| self.slot());
        self.vcs.iter().zip(before).map(|(vc, before)| vc.forwarded - before).collect()
    }
}

fn whole(number: u64) -> Exact {
    Exact::from_integer(number.into())
}

/// RTT, N2 and Buf_Alloc of a grid.
fn grid() -> impl Iterator<Item = (u64, u64, u64)> {
    let batches = |rtt: u64| (1..=8).chain([12, 30]).map(move |n2| (rtt, n2));
    [1, 2, 5, 11, 24]
        .into_iter()
        .flat_map(batches)
        .flat_map(|(rtt, n2)| (n2..=rtt + 3 * n2).map(move |buf_alloc| (rtt, n2, buf_alloc)))
}

#[test]
fn equation_2_is_exact_for_one_vc() {
    let mut below = 0;
    for (rtt, n2, buf_alloc) in grid() {
        let share = Loop::new(whole(rtt), n2).unwrap().share(buf_alloc, 1).unwrap();
        assert_eq!(share.least, share.most);
        // Ten whole periods, after the beginning.
        let period = rtt + n2 - buf_alloc % n2;
        let split = ((rtt - 1) / 3, rtt - 1 - (rtt - 1) / 3);
        let [cells] =
            Model::new(Shared::Link, split, buf_alloc, n2, 1).forwarded(40 * period, 10 * period)[..]
        else {
            unreachable!()
        };
        assert_eq!(whole(cells), share.least * whole(10 * period), "{rtt} {n2} {buf_alloc}");
        if buf_alloc % n2 == 0 {
            let paper = Exact::new(buf_alloc.into(), (rtt + n2).into());
            assert_eq!(share.least, paper.min(whole(1)));
        }
        below += u32::from(share.least < whole(1));
    }
    assert!(below > 300, "{below}");
}

#[test]
fn equation_2_is_a_bound_for_several_vcs() {
    let (mut above, mut at_most, mut cases) = (0, 0, 0);
    for (rtt, n2, buf_alloc) in grid().filter(|(rtt, n2, buf)| (rtt + 3 * n2 + 7 * buf) % 9 == 0) {
        for active in [2, 3, 7] {
            for shared in [Shared::Link, Shared::Output] {
                let share = Loop::new(whole(rtt), n2).unwrap().share(buf_alloc, active).unwrap();
                let split = ((rtt - 1) / 2, rtt - 1 - (rtt - 1) / 2);
                let loop_time = rtt + n2 * active;
                let slots = 60 * loop_time;
                let mut model = Model::new(shared, split, buf_alloc, n2, active as usize);
                for cells in model.forwarded(10 * loop_time, slots) {
                    // Bounds the cells of records begun before or ending after the window.
                    let cut = buf_alloc + n2;
                    let case = || format!("{shared:?} {rtt} {n2} {buf_alloc} {active}: {cells} of {slots}");
                    assert!(whole(cells + cut) >= share.least * whole(slots), "{}", case());
                    assert!(whole(cells) <= share.most * whole(slots) + whole(cut), "{}", case());
                    cases += 1;
                    above += u32::from(whole(cells) > share.least * whole(slots) + whole(cut));
                    at_most += u32::from(share.least == share.most);
                }
            }
        }
    }
    assert!(above > cases / 50 && at_most > cases / 20, "{above} and {at_most} of {cases}");
}

#[test]
fn a_slower_output_takes_n2_times_as_long() {
    let (mut below, mut slowed) = (0, 0);
    for (rtt, n2, buf_alloc) in grid() {
        for output in [2, 3, 7] {
            let control = Loop::new(whole(rtt), n2).unwrap().behind(output, 1).unwrap();
            let share = control.share(buf_alloc, 1).unwrap();
            assert_eq!(share.least, share.most);
            let period = rtt + (n2 - buf_alloc % n2) * output;
            let split = ((rtt - 1) / 3, rtt - 1 - (rtt - 1) / 3);
            let mut model = Model::new(Shared::Link, split, buf_alloc, n2, 1);
            model.output = output;
            // Whole periods of the loop, and of the output.
            let window = 10 * period * output;
            let [cells] = model.forwarded(40 * period, window)[..] else { unreachable!() };
            assert_eq!(whole(cells), share.least * whole(window), "{rtt} {n2} {buf_alloc} {output}");
            if buf_alloc % n2 == 0 {
                // The lecture's formula with N2·C/C_out in place of N2.
                let paper = Exact::new(buf_alloc.into(), (rtt + n2 * output).into());
                assert_eq!(share.least, paper.min(Exact::new(1, output.into())));
            }
            below += u32::from(share.least < Exact::new(1, output.into()));
            let fast = Loop::new(whole(rtt), n2).unwrap().share(buf_alloc, 1).unwrap();
            slowed += u32::from(share.least < fast.least.min(Exact::new(1, output.into())));
        }
    }
    assert!(below > 400 && slowed > 400, "{below} {slowed}");
    // A faster one changes nothing.
    let control = Loop::new(whole(10), 4).unwrap();
    assert_eq!(control.behind(2, 3), Ok(control));
    assert_eq!(control.behind(0, 3), Err(Unsizable::NoLink));
    assert_eq!(control.behind(3, 0), Err(Unsizable::NoLink));
}

#[test]
fn a_slower_output_bounds_several_vcs() {
    let (mut below, mut cases) = (0, 0);
    for (rtt, n2, buf_alloc) in grid().filter(|(rtt, n2, buf)| (rtt + 3 * n2 + 7 * buf) % 9 == 0) {
        for (active, output) in [(2, 2), (2, 5), (3, 3)] {
            for shared in [Shared::Link, Shared::Output] {
                let control = Loop::new(whole(rtt), n2).unwrap().behind(output, 1).unwrap();
                let share = control.share(buf_alloc, active).unwrap();
                let split = ((rtt - 1) / 2, rtt - 1 - (rtt - 1) / 2);
                let loop_time = rtt + n2 * active * output;
                let slots = 60 * loop_time;
                let mut model = Model::new(shared, split, buf_alloc, n2, active as usize);
                model.output = output;
                for cells in model.forwarded(10 * loop_time, slots) {
                    let cut = buf_alloc + n2;
                    let case =
                        || format!("{shared:?} {rtt} {n2} {buf_alloc} {active} {output}: {cells} of {slots}");
                    assert!(whole(cells + cut) >= share.least * whole(slots), "{}", case());
                    assert!(whole(cells) <= share.most * whole(slots) + whole(cut), "{}", case());
                    cases += 1;
                    below += u32::from(share.least < Exact::new(1, (active * output).into()));
                }
            }
        }
    }
    assert!(below > cases / 20, "{below} of {cases}");
}

#[test]
fn the_buffer_for_a_share_is_the_least_that_has_it() {
    let mut rng = Rng::named(1, "credit-sizing");
    for _ in 0..rounds(2000) {
        let rtt = Exact::new(rng.below(4000).into(), u128::from(1 + rng.below(40)));
        let (n2, active) = (1 + rng.below(60), 1 + rng.below(9));
        let (link, output) = (1 + rng.below(9), 1 + rng.below(9));
        let control = Loop::new(rtt, n2).unwrap().behind(link, output).unwrap();
        let parts = 1 + rng.below(50);
        let fair = Exact::new(output.into(), u128::from(link) * u128::from(active));
        let share =
            Exact::new((1 + rng.below(parts)).into(), parts.into()) * fair.min(Exact::new(1, active.into()));
        let cells = control.buffer(share, active).unwrap();
        assert!(cells >= n2);
        assert!(control.share(cells, active).unwrap().least >= share);
        for fewer in n2..cells {
            assert!(control.share(fewer, active).unwrap().least < share, "{rtt} {n2} {active} {share}");
        }
        if share == whole(1) {
            // The paper's RTT + N2.
            assert_eq!(u128::from(cells), (rtt + whole(n2)).ceil().to_integer());
        }
    }
}

#[test]
fn a_pool_lets_a_newcomer_ramp_up_while_equation_6_holds() {
    let mut rng = Rng::named(2, "credit-sizing");
    let mut stuck = 0;
    for _ in 0..rounds(2000) {
        let rtt = Exact::new((400 + rng.below(4000)).into(), u128::from(1 + rng.below(9)));
        let (alpha, vcs) = (2 + rng.below(3), 2 + rng.below(30));
        let pool = Pool::new(rtt, alpha, vcs).unwrap();
        if alpha == 2 {
            assert_eq!(pool.queued_below, rtt * Exact::new(2, 3));
        }
        // Any allocation X with which equation (2) gives less than 1/N at N2 = X/4, and the longest
        // queue allowed.
        let enough = rtt * Exact::new(4, (3 * vcs).into());
        let allocation = enough * Exact::new((1 + rng.below(999)).into(), 1000);
        let batch = allocation / whole(4);
        let used = allocation / (rtt + batch * whole(vcs));
        assert!(used < Exact::new(1, vcs.into()));
        let next = |queued: Exact| {
            // Equation (3), with M/2 − N = α·RTT at least.
            (Exact::new(pool.cells.into(), 2) - whole(vcs) - queued) * used
        };
        assert!(next(pool.queued_below) > allocation);
        // With a tenth of the RTT more in the queue, one that is just below its share is stuck.
        if allocation > enough * Exact::new(99, 100) {
            assert!(next(pool.queued_below + rtt / whole(10)) < allocation);
            stuck += 1;
        }
    }
    assert!(stuck > 5);
}

#[test]
fn what_cannot_work_is_refused() {
    let control = Loop::new(whole(10), 8).unwrap();
    for buf_alloc in 0..8 {
        assert_eq!(control.share(buf_alloc, 1), Err(Unsizable::Deadlock { buf_alloc, n2: 8 }));
        // The deadlock occurs: nothing passes after the first allocation.
        let mut model = Model::new(Shared::Link, (4, 5), buf_alloc, 8, 1);
        assert_eq!(model.forwarded(100, 1000), [0]);
    }
    assert_eq!(Loop::new(whole(10), 0), Err(Unsizable::NoBatch));
    assert_eq!(control.share(8, 0), Err(Unsizable::NoVc));
    assert_eq!(control.buffer(whole(0), 1), Err(Unsizable::Share { active: 1 }));
    assert_eq!(control.buffer(Exact::new(2, 5), 3), Err(Unsizable::Share { active: 3 }));
    assert_eq!(Pool::new(whole(10), 1, 8), Err(Unsizable::Alpha { alpha: 1 }));
    let slow = Link { rate: 1, cell: 1, credit_cell: 1, delay: Span::ZERO, processing: None };
    assert_eq!(Link { rate: 0, ..slow }.rtt(), Err(Unsizable::NoLink));
    assert_eq!(Link { cell: 0, ..slow }.rtt(), Err(Unsizable::NoLink));
}

#[test]
fn nothing_panics_at_the_ends_of_the_ranges() {
    let ends = [0, 1, 2, 1 << 32, u64::MAX - 1, u64::MAX];
    let sizes = [0, 1, 53, u32::MAX];
    for rate in [0, 1, 99_999_999_977, Rate::MAX_BITS_PER_SECOND, u64::MAX] {
        for (cell, credit_cell) in sizes.iter().flat_map(|one| sizes.map(|other| (*one, other))) {
            for delay in [Span::ZERO, Span::TICK, Span::from_ticks(u64::MAX - 1)] {
                for processing in [None, Some(delay)] {
                    let link = Link { rate, cell, credit_cell, delay, processing };
                    for (n2, cells) in ends.iter().flat_map(|one| ends.map(|other| (*one, other))) {
                        _ = link.overhead(n2, cells);
                        _ = link.n2_for_overhead(n2 as u32);
                        let Ok(rtt) = link.rtt() else { continue };
                        _ = Pool::new(rtt, n2, cells);
                        let Ok(control) = Loop::new(rtt, n2) else { continue };
                        let control = control.behind(rate, cells).unwrap_or(control);
                        for active in ends {
                            _ = control.share(cells, active);
                            _ = control.buffer(Exact::new(1, u128::from(active.max(1))), active);
                            _ = control.buffer(Exact::new(7, u128::MAX), active);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_rtt_is_what_a_cell_and_its_credit_take() {
    // 100 Gbit/s, 2 km: 10 µs each way, and 64 bytes take 5.12 ns.
    assert_eq!(propagation(2_000_000), Span::from_micros(10));
    assert_eq!((propagation(0), propagation(1)), (Span::ZERO, Span::TICK));
    let link = Link {
        rate: 100_000_000_000,
        cell: 64,
        credit_cell: 64,
        delay: propagation(2_000_000),
        processing: Some(Span::ZERO),
    };
    assert_eq!(link.rtt(), Ok(Exact::new(20_000_000, 5_120)));
    let store_and_forward = Link { processing: None, credit_cell: 8, ..link };
    assert_eq!(store_and_forward.rtt(), Ok(Exact::new(20_000_000, 5_120) + Exact::new(9, 8)));
    assert_eq!(link.n2_for_overhead(1), Ok(100));
    assert_eq!(link.overhead(100, 1), Ok(Exact::new(1, 100)));
    assert_eq!(store_and_forward.overhead(1, 6), Ok(Exact::new(1, 48)));
}
