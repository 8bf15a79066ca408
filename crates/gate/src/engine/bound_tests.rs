//! Bounds of reserved flows beside their largest delays, and the packets beyond their envelopes.

use super::tests::{Bench, file, udp};
use super::*;
use crate::config::plan::Plan;
use crate::stats::Envelope;
use proptest::prelude::*;
use tidegate_core::rng::Rng;

/// A call of 1 Mbit/s that may send two kilobytes at once, and others. Ports are those inside.
const RULES: &str = "port = { scheduler = \"virtual-clock\" }\nswitch = { buffer = \"2000p\" }\n\
                     [[flow]]\nname = \"call\"\nmatch = { inside_port = 1 }\nreserve = \"1mbit\"\nworkahead = \"2000B\"\n\
                     [[flow]]\nname = \"others\"\nmatch = { inside_port = 2 }\nreserve = \"6mbit\"\n";

/// The delay bound, the largest delay and the packets beyond its envelope of the call.
fn of_call(bench: &Bench) -> (f64, f64, u64) {
    let bound = file(RULES).delay_bounds(Direction::Up).find(|one| one.0 == 0).unwrap().1;
    let statistics = bench.engine.statistics(Direction::Up, 0);
    let beyond = statistics.envelope.as_ref().unwrap().beyond;
    (bound.as_secs_f64(), statistics.largest_delay.as_secs_f64(), beyond)
}

/// Serves the link until then, each event at its time.
fn serve_until(bench: &mut Bench, until: Time) {
    while bench.engine.next_event(Direction::Up) < until {
        bench.wake(bench.engine.next_event(Direction::Up), Direction::Up);
    }
    bench.wake(until, Direction::Up);
}

#[test]
fn a_flow_with_a_workahead_has_a_bound_and_others_have_none() {
    let bounds: Vec<(usize, Span)> = file(RULES).delay_bounds(Direction::Up).collect();
    let [(0, bound)] = bounds[..] else { panic!("{bounds:?}") };
    // 2,000 bytes at the reservation, and the longest frame with its overhead twice on the link.
    let frame = f64::from(1514 + 24) * 8.0 / 8e6;
    assert!(bound.as_secs_f64() >= 0.016 + frame && bound.as_secs_f64() <= 0.016 + 2.0 * frame, "{bound:?}");
}

proptest! {
    /// Whatever others send, packets within the envelope are within the bound.
    #[test]
    fn conforming_packets_keep_the_bound_beside_floods(seed: u64) {
        let mut rng = Rng::named(seed, "bound");
        let mut bench = Bench::of(&Plan::of(&file(RULES)));
        let mut envelope = Envelope::of(&file(RULES).flows[0].contract.contract()).unwrap();
        for _ in 0..100 {
            let now = bench.now + Span::from_micros(rng.below(6000));
            serve_until(&mut bench, now);
            for _ in 0..rng.below(12) {
                bench.receive(Direction::Up, &udp(2, [20, 700, 1472][rng.below(3) as usize]));
            }
            for _ in 0..rng.below(4) {
                let frame = udp(1, [60, 900][rng.below(2) as usize]);
                let before = envelope.beyond;
                envelope.see(bench.now, frame.len() as u32 + 24);
                if envelope.beyond == before {
                    bench.receive(Direction::Up, &frame);
                }
            }
        }
        let end = bench.now + Span::from_secs(60);
        serve_until(&mut bench, end);
        let (bound, largest, beyond) = of_call(&bench);
        prop_assert_eq!(beyond, 0);
        prop_assert!(largest <= bound, "{} of {}", largest, bound);
    }
}

#[test]
fn packets_beyond_the_envelope_are_counted_and_wait_longer() {
    let mut bench = Bench::new(RULES);
    for _ in 0..1500 {
        bench.receive(Direction::Up, &udp(2, 1472));
    }
    // Twice the reservation for two seconds: half of 500, but for the burst.
    for number in 0..250 {
        serve_until(&mut bench, Time::ORIGIN + Span::from_millis(8 * number));
        bench.receive(Direction::Up, &udp(1, 934));
        bench.receive(Direction::Up, &udp(1, 934));
    }
    let end = bench.now + Span::from_secs(60);
    serve_until(&mut bench, end);
    let (bound, largest, beyond) = of_call(&bench);
    assert_eq!(beyond, 249);
    assert!(largest > 10.0 * bound, "{largest} of {bound}");
    bench.check_identity();
}
