//! Floyd and Jacobson's derivations: the average after a step, its decay over idle time, and the
//! spread of drops.

use crate::common::rate;
use crate::line::Line;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::dropper::red::RedParams;
use tidegate_core::dropper::{BuiltInDropper, Dropper, DropperKind, Occupancy};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::{Limit, NamedPolicy, PolicyParams, Value};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

const SIZE: u32 = 1000;

fn red(min: u64, max: u64, max_p: f64, weight: f64) -> BuiltInDropper {
    BuiltInDropper::Red(RedParams {
        min_th: Limit::Packets(min),
        max_th: Limit::Packets(max),
        max_p,
        weight,
        limit: Some(Limit::Packets(1 << 20)),
        mean_packet: SIZE,
        ..RedParams::example()
    })
}

fn packet() -> Packet {
    Packet::new(BodyId(0), SIZE)
}

fn queue(packets: u64) -> Occupancy {
    Occupancy { queue: Count { packets, bytes: packets * u64::from(SIZE) }, ..Occupancy::default() }
}

/// Section VI: a queue that grows from empty by one packet at each of L arrivals has the average
/// L + 1 + ((1 − w)^(L+1) − 1) / w.
#[test]
fn the_average_of_a_growing_queue() {
    for weight in [0.001, 0.002, 0.02, 0.5, 1.0] {
        let mut line =
            Line::new(Time::ORIGIN, &red(400, 500, 0.1, weight), rate(1), true, Rng::named(1, "red"));
        for arrived in 1..=200 {
            line.arrive(packet());
            let longest = f64::from(arrived) - 1.0;
            let average = longest + 1.0 + ((1.0 - weight).powf(longest + 1.0) - 1.0) / weight;
            let gauge = line.gauge("average_queue");
            assert!(
                (gauge - average).abs() < 1e-9 * (1.0 + average),
                "{weight} {arrived}: {gauge} {average}"
            );
        }
    }
}

/// An idle time of n transmission times multiplies the average by (1 − w)^n, however the rate
/// changes meanwhile.
#[test]
fn the_average_decays_over_idle_time() {
    let weight = 0.02;
    for idle in [0.5, 1.0, 10.0, 100.0, 1000.0] {
        let slow = rate(800_000);
        let mut line = Line::new(Time::ORIGIN, &red(400, 500, 0.1, weight), slow, true, Rng::named(1, "red"));
        (0..100).for_each(|_| _ = line.arrive(packet()));
        let before = line.gauge("average_queue");
        line.wait(Span::from_secs(1));
        // The queue is empty from here on: 100 packets of 10 ms.
        line.wait(Span::from_secs_f64(idle * 0.005));
        line.set_rate(rate(1_600_000), true);
        line.wait(Span::from_secs_f64(idle * 0.0025));
        line.arrive(packet());
        let (decayed, expected) = (line.gauge("average_queue"), before * 0.98f64.powf(idle));
        assert!((decayed - expected).abs() < 1e-6 * expected, "{idle}: {decayed} {expected}");
    }
}

/// Section VII, method 2: distances between chosen packets are uniform over 1, 2, …, 1/p (χ², 99.9
/// %).
#[test]
fn distances_are_uniform() {
    // A weight of 1 makes the average the queue: 6 of 5 to 15 with 0.5 is p = 1/20.
    let mut dropper = DropperKind::BuiltIn(red(5, 15, 0.5, 1.0)).build().unwrap();
    let mut rng = Rng::named(3, "distances");
    let (mut seen, mut since) = ([0u32; 20], 0);
    for _ in 0..40_000 {
        let mut cx = Ctx { now: Time::ORIGIN, rng: &mut rng, out: &mut Vec::new() };
        match dropper.arrive(&mut cx, &packet(), &queue(6)) {
            Verdict::Congested(Reason::EarlyDrop) => {
                seen[since] += 1;
                since = 0;
            }
            verdict => {
                assert_eq!(verdict, Verdict::Accept);
                since += 1;
            }
        }
    }
    let (drops, kinds) = (f64::from(seen.iter().sum::<u32>()), seen.len() as f64);
    let chi_squared: f64 =
        seen.iter().map(|seen| (f64::from(*seen) - drops / kinds).powi(2) / (drops / kinds)).sum();
    assert!(chi_squared < 43.82, "{chi_squared}: {seen:?}");
    assert!((40_000.0 / drops - 10.5).abs() < 0.5, "{drops}");
}

/// Where the probability rises while packets pass, count · p_b comes to exceed 1: the packet is
/// then chosen.
#[test]
fn a_count_beyond_one_over_p_chooses() {
    for seed in 0..200 {
        let mut dropper = DropperKind::BuiltIn(red(5, 1005, 1.0, 1.0)).build().unwrap();
        let mut rng = Rng::named(seed, "guard");
        let mut ask = |packets| {
            let mut cx = Ctx { now: Time::ORIGIN, rng: &mut rng, out: &mut Vec::new() };
            dropper.arrive(&mut cx, &packet(), &queue(packets))
        };
        // p = 1/1000 for 30 packets, then 1/10.
        if (0..30).all(|_| ask(6) == Verdict::Accept) {
            assert_eq!(ask(105), Verdict::Congested(Reason::EarlyDrop), "seed {seed}");
            // And the next distance begins.
            assert!((0..9).any(|_| ask(105) == Verdict::Accept));
        }
    }
}

/// Step marking (RFC 8257, section 3.1): with equal thresholds and a weight of 1, a packet is chosen
/// where the queue is that long, and nowhere else.
#[test]
fn equal_thresholds_are_a_step() {
    let values = [
        ("min_th", Value::Limit(Limit::Packets(20))),
        ("max_th", Value::Limit(Limit::Packets(20))),
        ("weight", Value::Number(1.0)),
        ("signal", Value::Text("mark".into())),
    ];
    let step = BuiltInDropper::read("red", &values).unwrap().unwrap();
    let mut dropper = DropperKind::BuiltIn(step).build().unwrap();
    let mut rng = Rng::named(1, "step");
    for packets in (0..40).chain((0..40).rev()) {
        let mut cx = Ctx { now: Time::ORIGIN, rng: &mut rng, out: &mut Vec::new() };
        let chosen = matches!(dropper.arrive(&mut cx, &packet(), &queue(packets)), Verdict::Congested(_));
        assert_eq!(chosen, packets >= 20, "{packets}");
    }
}
