//! The token-bucket markers against their definitions: worked cases of RFC 2697 and 2698, and exact
//! buckets that count in bits and ticks of whole rates, packet by packet.

mod common;

use common::{pick, rate, rounds};
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::contract::Contract;
use tidegate_core::meter::mode::Mode;
use tidegate_core::meter::srtcm::SrTcmParams;
use tidegate_core::meter::trtcm::TrTcmParams;
use tidegate_core::meter::{BuiltInMeter, Meter, MeterKind, ProfileIx};
use tidegate_core::packet::{BodyId, Colour, Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

const ONE: ProfileIx = ProfileIx(0);
const YEAR: u64 = 365 * 86_400 * TICKS_PER_SECOND;
use Colour::{Green, Red, Yellow};

/// A meter that the test drives by hand.
struct Bench {
    meter: Box<dyn Meter + Send>,
    rng: Rng,
    now: Time,
}

impl Bench {
    fn new(kind: BuiltInMeter, terms: &Contract) -> Bench {
        let mut meter = MeterKind::BuiltIn(kind).build().unwrap();
        meter.set_profile(ONE, terms);
        Bench { meter, rng: Rng::named(1, "bench"), now: Time::ORIGIN }
    }

    /// The colour that a packet gets.
    fn see(&mut self, len: u32, came: Colour) -> Colour {
        let mut packet = Packet::new(BodyId(0), len);
        packet.mark = Mark::NONE.coloured(came);
        let (now, out) = (self.now, &mut Vec::new());
        let reading = self.meter.see(&mut Ctx { now, rng: &mut self.rng, out }, ONE, &mut packet);
        assert_eq!(reading.verdict, Verdict::Accept);
        packet.mark.colour()
    }

    fn wait(&mut self, micros: u64) {
        self.now += Span::from_micros(micros);
    }
}

fn single(mode: Mode) -> BuiltInMeter {
    BuiltInMeter::SrTcm(SrTcmParams { mode })
}

fn two(mode: Mode) -> BuiltInMeter {
    BuiltInMeter::TrTcm(TrTcmParams { mode })
}

/// A byte a microsecond; CBS 1500 bytes, EBS 1000 bytes.
fn single_terms() -> Contract {
    let (workahead, excess_burst) = (Some(1500), Some(1000));
    Contract { reserve: Some(rate(8_000_000)), workahead, excess_burst, ..Contract::default() }
}

/// CIR a byte a microsecond, PIR two; CBS 1500 bytes, PBS 2000 bytes.
fn two_terms() -> Contract {
    let (peak, peak_burst) = (Some(rate(16_000_000)), Some(2000));
    Contract {
        reserve: Some(rate(8_000_000)),
        workahead: Some(1500),
        peak,
        peak_burst,
        ..Contract::default()
    }
}

/// RFC 2697, section 3, colour-blind: both buckets are full at first; green takes from C alone,
/// yellow from E alone, red from neither; E gets tokens only while C is full.
#[test]
fn single_rate_worked_case_colour_blind() {
    let mut bench = Bench::new(single(Mode::Blind), &single_terms());
    // Tc 1500, Te 1000.
    assert_eq!(bench.see(1000, Red), Green);
    // Tc 500: not enough for 600; Te 1000 - 600.
    assert_eq!(bench.see(600, Green), Yellow);
    assert_eq!(bench.see(500, Green), Green);
    // Tc 0, Te 400.
    assert_eq!(bench.see(401, Green), Red);
    assert_eq!(bench.see(400, Green), Yellow);
    assert_eq!(bench.see(1, Green), Red);
    // 1500 tokens: all of them for C.
    bench.wait(1500);
    assert_eq!(bench.see(1501, Green), Red);
    // 300 more: C is full, and they are for E.
    bench.wait(300);
    assert_eq!(bench.see(1500, Green), Green);
    assert_eq!(bench.see(301, Green), Red);
    assert_eq!(bench.see(300, Green), Yellow);
    // C gets what comes before E gets any.
    bench.wait(700);
    assert_eq!(bench.see(701, Green), Red);
    assert_eq!(bench.see(700, Green), Green);
}

/// RFC 2697, section 3, colour-aware: yellow never takes from C, red takes nothing.
#[test]
fn single_rate_worked_case_colour_aware() {
    let mut bench = Bench::new(single(Mode::Aware), &single_terms());
    assert_eq!(bench.see(500, Red), Red);
    assert_eq!(bench.see(700, Yellow), Yellow);
    // Tc 1500, Te 300: a yellow packet does not get what C holds.
    assert_eq!(bench.see(301, Yellow), Red);
    assert_eq!(bench.see(1500, Green), Green);
    assert_eq!(bench.see(300, Green), Yellow);
    assert_eq!(bench.see(1, Green), Red);
}

/// RFC 2698, section 3, colour-blind: red takes nothing, yellow from P alone, green from both.
#[test]
fn two_rate_worked_case_colour_blind() {
    let mut bench = Bench::new(two(Mode::Blind), &two_terms());
    // Tp 2000, Tc 1500.
    assert_eq!(bench.see(2001, Green), Red);
    assert_eq!(bench.see(1000, Red), Green);
    // Tp 1000, Tc 500.
    assert_eq!(bench.see(600, Green), Yellow);
    // Tp 400, Tc 500: P is asked first.
    assert_eq!(bench.see(401, Green), Red);
    assert_eq!(bench.see(400, Green), Green);
    // Tp 0, Tc 100; in 100 us 200 and 100 more.
    bench.wait(100);
    assert_eq!(bench.see(201, Green), Red);
    assert_eq!(bench.see(200, Green), Green);
    assert_eq!(bench.see(1, Green), Red);
    // Tc 0; a year fills both, and no more than that.
    bench.now += Span::from_ticks(YEAR);
    assert_eq!(bench.see(1501, Green), Yellow);
    assert_eq!(bench.see(499, Green), Green);
    assert_eq!(bench.see(1, Green), Red);
}

/// RFC 2698, section 3, colour-aware: red takes nothing, yellow never takes from C.
#[test]
fn two_rate_worked_case_colour_aware() {
    let mut bench = Bench::new(two(Mode::Aware), &two_terms());
    assert_eq!(bench.see(40, Red), Red);
    assert_eq!(bench.see(400, Yellow), Yellow);
    // Tp 1600, Tc 1500.
    assert_eq!(bench.see(1500, Green), Green);
    assert_eq!(bench.see(101, Yellow), Red);
    assert_eq!(bench.see(100, Green), Yellow);
    assert_eq!(bench.see(1, Green), Red);
}

/// A bucket that counts tokens in bits times the ticks of a second.
struct Bucket {
    bits_per_second: i128,
    depth: i128,
    level: i128,
}

impl Bucket {
    fn new(bits_per_second: u64, bytes: u32) -> Bucket {
        let depth = bits(bytes);
        Bucket { bits_per_second: i128::from(bits_per_second), depth, level: depth }
    }

    /// Adds the tokens of this many ticks; returns those that exceed the depth.
    fn gain(&mut self, ticks: i128) -> i128 {
        let level = self.level + ticks * self.bits_per_second;
        self.level = level.min(self.depth);
        level - self.level
    }

    fn take(&mut self, len: u32) -> bool {
        let enough = self.level >= bits(len);
        self.level -= if enough { bits(len) } else { 0 };
        enough
    }
}

fn bits(bytes: u32) -> i128 {
    i128::from(bytes) * 8 * i128::from(TICKS_PER_SECOND)
}

/// The meters of RFC 2697 and 2698, section 3, as they are written there.
struct Oracle {
    single_rate: bool,
    aware: bool,
    committed: Bucket,
    /// E or P.
    other: Bucket,
    last: Time,
}

impl Oracle {
    fn see(&mut self, now: Time, len: u32, came: Colour) -> Colour {
        let ticks = i128::from(now.since(self.last).ticks());
        self.last = now;
        let rest = self.committed.gain(ticks);
        if self.single_rate {
            self.other.level = (self.other.level + rest).min(self.other.depth);
        } else {
            self.other.gain(ticks);
        }
        let came = if self.aware { came } else { Green };
        if self.single_rate {
            return match came {
                Green if self.committed.take(len) => Green,
                Green | Yellow if self.other.take(len) => Yellow,
                _ => Red,
            };
        }
        if came == Red || !self.other.take(len) {
            return Red;
        }
        if came == Yellow || !self.committed.take(len) { Yellow } else { Green }
    }
}

/// Rates that are held exactly: products of twos and fives.
const RATES: &[u64] =
    &[1, 50, 64_000, 1_000_000, 5_000_000, 6_250_000, 100_000_000, 40_000_000_000, 6_400_000_000_000];

/// Setting of one run of arrivals.
struct Drawn {
    bench: Bench,
    oracle: Oracle,
    sizes: u64,
    /// Mean gap in ticks.
    gap: u64,
}

fn draw(rng: &mut Rng, single_rate: bool) -> Drawn {
    let cir = pick(rng, RATES);
    let pir = RATES.iter().copied().filter(|bits| *bits >= cir).nth(rng.below(3) as usize).unwrap_or(cir);
    let sizes = pick(rng, &[1, 40, 1500, 65_535]);
    // Also depths below a packet.
    let mut depth = |most: u64| 1 + rng.below(most * sizes) as u32;
    let (cbs, other) = (depth(20), depth(30));
    let (aware, mode) = pick(rng, &[(false, Mode::Blind), (true, Mode::Aware)]);
    let mut terms = Contract { reserve: Some(rate(cir)), workahead: Some(cbs), ..Contract::default() };
    let kind = if single_rate {
        terms.excess_burst = Some(other);
        single(mode)
    } else {
        (terms.peak, terms.peak_burst) = (Some(rate(pir)), Some(other));
        two(mode)
    };
    let committed = Bucket::new(cir, cbs);
    let other = Bucket::new(if single_rate { cir } else { pir }, other);
    let oracle = Oracle { single_rate, aware, committed, other, last: Time::ORIGIN };
    // From half to twice the rate.
    let fair = rate(cir).time_for((sizes as u32).div_ceil(2)).ticks();
    let gap = fair / 2 + rng.below(fair.saturating_mul(2).max(1));
    Drawn { bench: Bench::new(kind, &terms), oracle, sizes, gap }
}

const ARRIVALS_A_RUN: u64 = 500;

fn agrees_with_exact_buckets(single_rate: bool) {
    let mut seen = [0u64; 3];
    let mut improved = 0;
    for seed in 0..rounds(50_000) / ARRIVALS_A_RUN {
        let mut rng = Rng::named(seed, "markers");
        let Drawn { mut bench, mut oracle, sizes, gap } = draw(&mut rng, single_rate);
        for _ in 0..ARRIVALS_A_RUN {
            // Back to back, by a tick, about as fast as tokens come, and now and then a year later.
            let wait = match rng.below(100) {
                0..30 => 0,
                30..35 => 1,
                35..99 => rng.below(gap.saturating_mul(3).max(1)),
                _ => rng.below(YEAR / 300),
            };
            // Two years at most, all in all.
            if bench.now.since(Time::ORIGIN).ticks() < 2 * YEAR {
                bench.now += Span::from_ticks(wait.min(YEAR / 3));
            }
            let len = 1 + rng.below(sizes) as u32;
            let came = pick(&mut rng, &[Green, Green, Green, Yellow, Red]);
            let colour = bench.see(len, came);
            assert_eq!(colour, oracle.see(bench.now, len, came), "seed {seed}, {:?}", bench.now);
            assert!(!oracle.aware || colour >= came);
            improved += u64::from(colour < came);
            seen[colour as usize] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > rounds(50_000) / 20), "{seen:?}");
    assert!(improved > 0);
}

#[test]
fn the_single_rate_marker_agrees_with_exact_buckets() {
    agrees_with_exact_buckets(true);
}

#[test]
fn the_two_rate_marker_agrees_with_exact_buckets() {
    agrees_with_exact_buckets(false);
}

/// Over two years at one bit a second and at ten terabit a second, with packets of one byte and of
/// 64 KiB, green traffic equals the amount allowed by CIR and CBS, to a packet.
#[test]
fn what_is_green_is_what_was_committed() {
    for kind in [single(Mode::Blind), two(Mode::Blind)] {
        for (bits, len) in
            [(1, 1), (1, 65_535), (Rate::MAX_BITS_PER_SECOND, 1), (Rate::MAX_BITS_PER_SECOND, 65_535)]
        {
            let reserve = rate(bits);
            let depth = 3 * len;
            let terms = Contract { reserve: Some(reserve), workahead: Some(depth), ..Contract::default() };
            let mut bench = Bench::new(kind.clone(), &terms);
            let step = Span::from_ticks(reserve.time_for(len).ticks() / 3);
            let mut green = 0;
            for _ in 0..(2 * YEAR / step.ticks().max(1)).min(3_000) {
                green += u64::from(bench.see(len, Green) == Green) * u64::from(len);
                bench.now += step;
            }
            let elapsed = bench.now.since(Time::ORIGIN);
            let allowed = u64::from(depth) + reserve.bytes_in(elapsed);
            assert!(green <= allowed && allowed - green <= u64::from(2 * len), "{green} of {allowed}");
            // Idle to the end of time: full, and no fuller.
            bench.now = Time::NEVER;
            let after = (0..4).map(|_| bench.see(len, Green)).collect::<Vec<_>>();
            assert_eq!((&after[..3], after[3] > Green), (&[Green; 3][..], true));
        }
    }
}

/// A profile that is changed keeps its tokens, in bytes, as far as there is room.
#[test]
fn a_changed_profile_keeps_its_tokens() {
    for kind in [single(Mode::Blind), two(Mode::Blind)] {
        let mut bench = Bench::new(kind, &single_terms());
        assert_eq!(bench.see(1100, Green), Green);
        // 400 are left, at any rate and in a deeper bucket.
        for (bits, workahead) in [(7_000_003, 9000), (123, 9000), (8_000_000, 5000)] {
            let (peak, peak_burst) = (Some(rate(100_000_000)), Some(9000));
            let terms = Contract {
                reserve: Some(rate(bits)),
                workahead: Some(workahead),
                peak,
                peak_burst,
                ..single_terms()
            };
            bench.meter.set_profile(ONE, &terms);
            assert_ne!(bench.see(401, Green), Green);
        }
        // The amount rounded down is less than a byte.
        assert_eq!(bench.see(399, Green), Green);
        // A shallower bucket holds less.
        bench.wait(5000);
        bench.meter.set_profile(ONE, &Contract { workahead: Some(200), ..single_terms() });
        assert_ne!(bench.see(201, Green), Green);
        assert_eq!(bench.see(200, Green), Green);
    }
}

/// A profile may be forgotten when it is like a new one: from then on, and not before, it colours
/// as a new one does.
#[test]
fn a_profile_is_forgotten_when_its_buckets_are_full() {
    for (kind, terms) in [(single(Mode::Blind), single_terms()), (two(Mode::Blind), two_terms())] {
        let mut bench = Bench::new(kind, &terms);
        assert!(bench.meter.forgettable_at(ONE) <= bench.now);
        assert_eq!((bench.see(1500, Green), bench.see(400, Green)), (Green, Yellow));
        let full = bench.meter.forgettable_at(ONE);
        for (early, expected) in [(0, [Green, Yellow]), (1, [Green, Red])] {
            let mut bench = Bench::new(kind_of(&terms), &terms);
            assert_eq!((bench.see(1500, Green), bench.see(400, Green)), (Green, Yellow));
            bench.now = full.before(Span::from_ticks(early));
            let rest = if terms.excess_burst.is_some() { 1000 } else { 500 };
            let colours = [bench.see(1500, Green), bench.see(rest, Green)];
            // In the two-rate marker, C is the last bucket to fill up.
            let expected = if early == 1 && rest == 500 { [Yellow, Green] } else { expected };
            assert_eq!(colours, expected);
        }
    }
}

fn kind_of(terms: &Contract) -> BuiltInMeter {
    if terms.excess_burst.is_some() { single(Mode::Blind) } else { two(Mode::Blind) }
}
