//! Both queues against an exact oracle: a set of (time, component).

use super::{BinaryHeapQueue, Calendar, EventQueue};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};

const TWO_YEARS: u64 = 2 * 366 * 86_400 * TICKS_PER_SECOND;

/// The two queues and the oracle, kept in step; every answer is compared.
struct Trio {
    calendar: Calendar,
    heap: BinaryHeapQueue,
    oracle: BTreeSet<(Time, u32)>,
    times: Vec<Time>,
}

impl Trio {
    fn new(components: u32) -> Trio {
        Trio {
            calendar: Calendar::new(components),
            heap: BinaryHeapQueue::new(components),
            oracle: BTreeSet::new(),
            times: vec![Time::NEVER; components as usize],
        }
    }

    fn set(&mut self, component: u32, at: Time) {
        let before = self.note(component, at);
        if before == Time::NEVER {
            self.calendar.insert(component, at);
        } else {
            self.calendar.set(component, at);
        }
        self.heap.set(component, at);
        self.check();
    }

    /// Sets the component's event in the oracle; returns its previous time.
    fn note(&mut self, component: u32, at: Time) -> Time {
        let before = std::mem::replace(&mut self.times[component as usize], at);
        self.oracle.remove(&(before, component));
        if at != Time::NEVER {
            self.oracle.insert((at, component));
        }
        before
    }

    /// Inserts an event with the lead time `ahead`; the component may have an event already.
    fn insert_after(&mut self, component: u32, ahead: Span, at: Time) {
        if at == Time::NEVER || at < Time::from_ticks(ahead.ticks()) {
            return self.set(component, at);
        }
        if self.note(component, at) != Time::NEVER {
            self.calendar.set(component, Time::NEVER);
        }
        self.calendar.insert_after(component, at.before(ahead), at);
        self.heap.insert_after(component, at.before(ahead), at);
        self.check();
    }

    /// Carries out the first event; its component's next one has the lead time `ahead`.
    fn renew_first(&mut self, ahead: Span, at: Time) {
        let Some(&(_, component)) = self.oracle.first() else { return };
        if at < Time::from_ticks(ahead.ticks()) {
            return;
        }
        self.note(component, at);
        self.calendar.renew_first(at.before(ahead), at);
        self.heap.renew_first(at.before(ahead), at);
        self.check();
    }

    fn check(&mut self) {
        match self.oracle.first() {
            Some(first) => {
                assert_eq!(self.calendar.first(), *first);
                assert_eq!(self.heap.first(), *first);
            }
            None => {
                assert_eq!(self.calendar.first().0, Time::NEVER);
                assert_eq!(self.heap.first().0, Time::NEVER);
            }
        }
    }
}

fn time() -> impl Strategy<Value = Time> {
    let origin = Time::ORIGIN.ticks();
    prop_oneof![
        // Few instants, so that many components share one.
        6 => (0u64..4).prop_map(move |ticks| origin + ticks),
        4 => (0u64..TWO_YEARS).prop_map(move |ticks| origin + ticks),
        2 => Just(u64::MAX),
        1 => u64::MAX - 2..u64::MAX,
        1 => 0u64..3,
    ]
    .prop_map(Time::from_ticks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Few or many components, several of them due at one instant.
    #[test]
    fn any_workload_comes_out_in_order(
        components in 1u32..300,
        steps in prop::collection::vec((any::<u32>(), time(), 0u64..12, 0u8..4), 1..400),
    ) {
        let mut trio = Trio::new(components);
        trio.check();
        for (component, at, ahead, how) in steps {
            match how {
                0 => trio.renew_first(Span::from_ticks(ahead), at),
                1 => trio.insert_after(component % components, Span::from_ticks(ahead), at),
                _ => trio.set(component % components, at),
            }
        }
        // Until nothing is pending.
        while let Some(&(_, component)) = trio.oracle.first() {
            trio.set(component, Time::NEVER);
        }
        trio.check();
    }
}

#[test]
fn hold_model_at_every_size() {
    for (components, mean) in
        [(1, 1), (2, 5), (5, 1 << 20), (16, 7), (17, 1 << 12), (128, 3), (129, 3), (20_000, TWO_YEARS / 50)]
    {
        let mut trio = Trio::new(components);
        let mut rng = Rng::named(u64::from(components), "hold");
        let mean = Span::from_ticks(mean);
        for component in 0..components {
            trio.set(component, Time::ORIGIN + rng.exponential(mean));
        }
        for _ in 0..30_000.max(3 * components) {
            let (at, component) = trio.calendar.first();
            trio.set(component, at + rng.exponential(mean));
        }
    }
}

#[test]
fn links_of_few_rates_at_every_size() {
    for (links, spans) in [(3, 1), (40, 2), (300, 3), (300, 40), (5_000, 5)] {
        let mut trio = Trio::new(links);
        let mut rng = Rng::named(u64::from(links), "links");
        let mut now = Time::ORIGIN;
        for _ in 0..20_000.max(6 * links) {
            let ahead = Span::from_ticks(100 + 37 * rng.below(spans));
            match trio.oracle.first().copied() {
                Some((at, _)) if trio.oracle.len() >= links as usize / 2 || rng.below(3) == 0 => {
                    now = at;
                    // The packet continues, pauses for a time, or another component changes when it
                    // ends.
                    match rng.below(20) {
                        0 => trio.set(rng.below(u64::from(links)) as u32, now + ahead),
                        1..8 => trio.renew_first(ahead, Time::NEVER),
                        _ => trio.renew_first(ahead, now + ahead),
                    }
                }
                _ => {
                    let link = rng.below(u64::from(links)) as u32;
                    if trio.times[link as usize] == Time::NEVER {
                        trio.insert_after(link, ahead, now + ahead);
                    }
                }
            }
        }
    }
}

#[test]
fn without_components_nothing_is_pending() {
    assert_eq!(Calendar::new(0).first().0, Time::NEVER);
    assert_eq!(BinaryHeapQueue::new(0).first().0, Time::NEVER);
}
