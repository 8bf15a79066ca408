use super::*;
use proptest::prelude::*;

/// Hundredths of a byte in a tick, at rates that have whole ones; zero when the link is down.
const SPEEDS: [u64; 5] = [0, 1, 4, 50, 100];

fn span(ticks: u64) -> Span {
    Span::from_ticks(ticks)
}

fn rate(hundredths: u64) -> Option<Rate> {
    // A tick is 10 ps: a hundredth of a byte in it are 8 Gbit/s.
    Rate::from_bits_per_second(hundredths * 8_000_000_000)
}

fn steps(first: u64, changes: &[(u64, u64)], period: Option<u64>) -> Arc<RateSteps> {
    let changes: Vec<_> = changes.iter().map(|(at, speed)| (span(*at), rate(*speed))).collect();
    Arc::new(RateSteps::new(rate(first), changes, period.map(span)).unwrap())
}

fn at(ticks: u64) -> Time {
    Time::ORIGIN + span(ticks)
}

#[test]
fn a_packet_goes_on_at_the_new_rate() {
    // 100 bytes: 50 ticks at a whole byte a tick, and then 50 bytes at a twenty-fifth of it.
    let mut link = SteppedLink::new(steps(100, &[(50, 4)], None), Time::ORIGIN);
    assert_eq!(link.departure(at(0), 100), at(50 + 50 * 25));
    assert_eq!((link.used(at(50)), link.used(at(75)), link.used(at(10_000))), (50, 51, 100));
    assert_eq!(link.offered(at(40), at(100)), 12);
}

#[test]
fn a_link_that_is_down_sends_nothing() {
    let mut link = SteppedLink::new(steps(100, &[(50, 0), (80, 100)], None), Time::ORIGIN);
    assert_eq!((link.opens(at(49)), link.opens(at(50)), link.opens(at(80))), (at(49), at(80), at(80)));
    assert_eq!(link.departure(at(40), 30), at(100));
    let mut cut = SteppedLink::new(steps(100, &[(50, 0)], None), Time::ORIGIN);
    assert_eq!((cut.departure(at(40), 30), cut.opens(at(60))), (Time::NEVER, Time::NEVER));
    assert_eq!(cut.used(at(1_000)), 10);
    let mut dead = SteppedLink::new(steps(0, &[(5, 0)], Some(9)), Time::ORIGIN);
    assert_eq!((dead.opens(at(7)), dead.departure(at(7), 1)), (Time::NEVER, Time::NEVER));
    assert_eq!((dead.offered(at(0), at(1 << 40)), dead.used(at(1 << 40))), (0, 0));
}

/// A slow packet over a short period takes as long as its periods, and no longer to compute.
#[test]
fn many_periods_are_one_multiplication() {
    let mut link = SteppedLink::new(steps(50, &[(1, 0)], Some(1_000)), Time::ORIGIN);
    // Half a byte every thousand ticks, the last one at the start of a period.
    let len = 1 << 20;
    assert_eq!(link.departure(at(0), len), at((u64::from(len) * 2 - 1) * 1_000 + 1));
}

/// The link tick by tick, in hundredths of a byte.
struct Oracle {
    first: u64,
    changes: Vec<(u64, u64)>,
    period: Option<u64>,
}

impl Oracle {
    fn speed(&self, tick: u64) -> u64 {
        let within = self.period.map_or(tick, |period| tick % period);
        self.changes.iter().rfind(|(at, _)| *at <= within).map_or(self.first, |(_, speed)| *speed)
    }

    /// The first tick from `from` on at which it is up, and the first by which `len` bytes are out;
    /// `None` after `limit`.
    fn packet(&self, from: u64, len: u64, limit: u64) -> Option<(u64, u64)> {
        let opens = (from..limit).find(|tick| self.speed(*tick) > 0)?;
        let (mut left, mut tick) = (len * 100, opens);
        while left > 0 && tick < limit {
            left = left.saturating_sub(self.speed(tick));
            tick += 1;
        }
        (left == 0).then_some((opens, tick))
    }

    fn sent(&self, from: u64, until: u64) -> u64 {
        (from..until).map(|tick| self.speed(tick)).sum::<u64>() / 100
    }
}

proptest! {
    #[test]
    fn a_link_does_what_it_does_tick_by_tick(
        first in prop::sample::select(&SPEEDS[..]),
        changes in prop::collection::vec((1u64..60, prop::sample::select(&SPEEDS[..])), 0..5),
        rest in prop::option::of(1u64..60),
        packets in prop::collection::vec((0u64..90, 1u32..60), 1..20),
    ) {
        let mut time = 0;
        let changes: Vec<_> = changes.into_iter().map(|(gap, speed)| { time += gap; (time, speed) }).collect();
        let period = rest.map(|rest| time + rest);
        let mut link = SteppedLink::new(steps(first, &changes, period), Time::ORIGIN);
        let oracle = Oracle { first, changes, period };
        const LIMIT: u64 = 40_000;
        let mut free = 0;
        let mut whole = 0;
        for (gap, len) in packets {
            let from = free + gap;
            let expected = oracle.packet(from, u64::from(len), LIMIT);
            let opens = link.opens(at(from));
            let ends = link.departure(at(from), len);
            let Some((opened, ended)) = expected else {
                prop_assert!(ends > at(LIMIT - 1));
                break;
            };
            prop_assert_eq!(opens, at(opened));
            // The nearest tick is that of the last bit or the one before.
            prop_assert!(ends == at(ended) || ends + Span::TICK == at(ended), "{ends:?} {ended}");
            let middle = (opened + ended) / 2;
            let used = whole + oracle.sent(opened, middle).min(u64::from(len));
            prop_assert!(link.used(at(middle)).abs_diff(used) <= 1, "{} {used}", link.used(at(middle)));
            whole += u64::from(len);
            prop_assert_eq!(link.used(at(ended)), whole);
            prop_assert!(link.offered(at(from), at(ended)).abs_diff(oracle.sent(from, ended)) <= 1);
            let down = (from..ended).filter(|tick| oracle.speed(*tick) == 0).count() as u64;
            prop_assert_eq!(link.down_between(at(from), at(ended)), span(down));
            prop_assert_eq!(link.is_down(at(from)), oracle.speed(from) == 0);
            free = ended;
        }
    }
}
