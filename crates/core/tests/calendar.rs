//! A shaper with a calendar of departure times: cells leave as from buckets of departure times, in
//! which no VC has a queue of its own, and at most a bucket later than from a shaper of each VC.

mod common;

use common::{World, kind, pick, rate, rounds};
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::packet::Leg;
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan, TokenBucketParams};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

const CELL: u32 = 53;

/// Ticks per cell: the rate of a VC is such that they are whole.
fn vc(ticks: u64, calendar: Option<Span>) -> FlowPlan {
    let rate = rate(u64::from(CELL) * 800_000_000_000 / ticks);
    let shaper = ShaperPlan { rate, burst: CELL, peak: None, queue: None, excess: Excess::Wait, calendar };
    FlowPlan { shaper: Some(shaper), ..FlowPlan::default() }
}

/// The buckets, by their end: cells in the order in which they were put there.
struct Calendar {
    width: u64,
    buckets: BTreeMap<u64, VecDeque<u32>>,
    /// The earliest time of the next departure of each VC, apart from its cells.
    next: Vec<u64>,
}

impl Calendar {
    /// Puts a cell into the bucket of its departure time, which is returned.
    fn put(&mut self, now: u64, vc: usize, ticks: u64, cell: u32) -> u64 {
        let due = now.max(self.next[vc]);
        self.next[vc] = due + ticks;
        self.buckets.entry(due.div_ceil(self.width) * self.width).or_default().push_back(cell);
        due
    }
}

fn ticks(at: Time) -> u64 {
    at.since(Time::ORIGIN).ticks()
}

/// Cells by the time at which they leave.
type Departures = BTreeMap<u64, Vec<u32>>;

/// The departures of the switch, those of the calendar, and the exact departure time of each cell.
/// Cells arrive one at a time at random, in bursts and far apart.
fn departures(seed: u64, width: u64) -> (Departures, Departures, Vec<u64>) {
    let mut rng = Rng::named(seed, "calendar");
    let mut world = World::with(kind("fifo"));
    let spacing: Vec<u64> =
        (0..1 + rng.below(6)).map(|_| pick(&mut rng, &[530_000, 1_060_000, 2_650_000, 26_500_000])).collect();
    let vcs: Vec<Leg> =
        spacing.iter().map(|ticks| world.open(0, &vc(*ticks, Some(Span::from_ticks(width))))).collect();
    let mut calendar = Calendar { width, buckets: BTreeMap::new(), next: vec![0; vcs.len()] };
    let (mut left, mut due) = (Departures::new(), Vec::new());
    let mut wake_at: Option<Time> = None;
    let take = |world: &mut World, left: &mut Departures| {
        let sent: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.body.0).collect();
        if !sent.is_empty() {
            left.entry(ticks(world.now)).or_default().extend(sent);
        }
    };
    let run = |world: &mut World, wake_at: &mut Option<Time>, until: Time, left: &mut _| {
        while let Some(at) = wake_at.filter(|at| *at <= until) {
            world.now = at;
            world.out.clear();
            world.timer(0);
            *wake_at = world.wakes().last().copied();
            take(world, left);
        }
        world.now = until;
    };
    for cell in 1..=300 {
        let gap = pick(&mut rng, &[0, 0, 1, 1_000_000, 40_000_000]) * rng.below(3);
        let until = world.now + Span::from_ticks(gap);
        run(&mut world, &mut wake_at, until, &mut left);
        let of = rng.below(vcs.len() as u64) as usize;
        due.push(calendar.put(ticks(world.now), of, spacing[of], cell));
        world.out.clear();
        assert_eq!(world.arrive(&[vcs[of]], CELL), cell);
        take(&mut world, &mut left);
        wake_at = world.wakes().last().copied().or(wake_at);
    }
    let end = world.now + Span::from_secs(60);
    run(&mut world, &mut wake_at, end, &mut left);
    let buckets = calendar.buckets.into_iter().map(|(at, cells)| (at, cells.into())).collect();
    (left, buckets, due)
}

#[test]
fn cells_leave_as_from_buckets_without_a_queue_of_each_vc() {
    let (mut late, mut together) = (0, 0);
    for seed in 0..rounds(30) {
        let width = [1, 7_919, 100_000, 530_000, 3_000_000][seed as usize % 5];
        let (left, buckets, due) = departures(seed, width);
        assert_eq!(left, buckets, "seed {seed}, width {width}");
        for (at, cells) in &left {
            for cell in cells {
                let due = due[*cell as usize - 1];
                assert!(*at >= due && *at - due < width, "cell {cell}");
                late += u64::from(*at > due);
            }
            together += u64::from(cells.len() > 1);
        }
        assert_eq!(left.values().map(Vec::len).sum::<usize>(), 300);
    }
    assert!(late > 1000 && together > 100, "{late} {together}");
}

/// The exact times of departure of the oracle are those of the shaper of each VC.
#[test]
fn buckets_of_a_tick_are_the_shaper_of_each_vc() {
    for seed in 0..rounds(10) {
        let (left, _, due) = departures(seed, 1);
        for (at, cells) in left {
            cells.iter().for_each(|cell| assert_eq!(due[*cell as usize - 1], at));
        }
    }
}

#[test]
fn a_calendar_holds_only_what_waits() {
    let with = |excess, calendar| TokenBucketParams { excess, calendar, ..TokenBucketParams::example() };
    let width = Some(Span::from_millis(1));
    assert!(with(Excess::Wait, width).check().is_ok());
    assert!(with(Excess::Mark, width).check().is_err() && with(Excess::Drop, width).check().is_err());
    assert!(with(Excess::Wait, Some(Span::ZERO)).check().is_err());
}
