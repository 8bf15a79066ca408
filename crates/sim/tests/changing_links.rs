//! Links whose rate and delay change, that are down for a while, or whose delay differs from packet
//! to packet.

mod common;

use common::{add, chain, poisson, rate, run, run_with};
use std::sync::Arc;
use tidegate_core::link::{Distribution, Jitter, Pace, RateSteps, SteppedLink, Steps};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::source::{Emission, Traffic};
use tidegate_sim::world::World;

const SECONDS: u64 = if cfg!(debug_assertions) { 20 } else { 200 };

fn ms(milliseconds: u64) -> Span {
    Span::from_millis(milliseconds)
}

/// One link that begins with 10 Mbit/s, and then has these rates in kbit/s, 0 for none.
fn changing(changes: &[(u64, u64)], period: Option<u64>) -> Network {
    let mut network = chain(1, 10_000_000, Span::ZERO, "fifo", Span::from_secs(SECONDS));
    let changes: Vec<_> =
        changes.iter().map(|(at, kbit)| (ms(*at), (*kbit > 0).then(|| rate(kbit * 1000)))).collect();
    let steps = RateSteps::new(Some(rate(10_000_000)), changes, period.map(ms)).unwrap();
    network.links[0].pace = Pace::Steps(Arc::new(steps));
    network
}

/// A source that always has packets to send gets the area below the curve of rates: in a period of
/// 100 ms, 40 ms of 10 Mbit/s, 30 ms of 2 Mbit/s and 30 ms of nothing are 57,500 bytes.
#[test]
fn a_greedy_flow_gets_what_the_rates_add_up_to() {
    let network = || changing(&[(40, 2_000), (70, 0)], Some(100));
    for sizes in [&[1500][..], &[700], &[40, 1500, 9000]] {
        let mut network = network();
        add(&mut network, 0..1, None, Traffic::Greedy { window: 60, sizes: sizes.into() });
        let probes = Probes { sample: Some(ms(250)), ..Probes::default() };
        let world: World<Calendar> = run_with(&network, 1, &probes);
        let link = world.link(0);
        let whole = 57_500 * 10 * SECONDS;
        assert_eq!(link.used, Some((whole, whole)));
        // Except for the packet that is being sent.
        assert!(link.sent.1 <= whole && whole - link.sent.1 < 9000, "{} of {whole}", link.sent.1);
        let series = world.series().unwrap().values(Subject::Link(0), "utilisation");
        assert!(series.iter().all(|share| (0.999..=1.001).contains(share)), "{series:?}");
    }
}

/// Every packet's delay in the simulator is that of the link alone, packet by packet, whose
/// departures are judged tick by tick in the core.
#[test]
fn a_queue_before_a_link_is_the_links() {
    for bits in [2_000_000, 5_000_000] {
        let traffic = Traffic::Poisson { rate: rate(bits), sizes: Arc::new([300, 1500, 60]) };
        let mut network = changing(&[(40, 2_000), (70, 0), (85, 30_000)], Some(100));
        add(&mut network, 0..1, None, traffic.clone());
        let world = run(&network, 9);
        let Pace::Steps(rates) = &network.links[0].pace else { panic!() };
        let mut link = SteppedLink::new(rates.clone(), Time::ORIGIN);
        let mut emission = Emission::new(traffic, Rng::named(9, "flow/f0"));
        let (mut at, mut free, mut delays, mut arrived) = (Time::ORIGIN, Time::ORIGIN, 0, 0);
        loop {
            let (gap, size) = emission.next_packet().unwrap();
            at += gap;
            let opens = link.opens(at.max(free));
            free = link.departure(opens, size);
            if free.max(at) > Time::ORIGIN + Span::from_secs(SECONDS) {
                break;
            }
            delays += u128::from(free.since(at).ticks());
            arrived += 1;
        }
        let record = world.records()[0];
        assert_eq!((record.received.0, record.delay.sum_ticks()), (arrived, delays));
    }
}

/// A link that goes down for good keeps what waits, and loses nothing.
#[test]
fn a_link_that_stays_down_ends_nothing() {
    let mut network = changing(&[(1_000, 0)], None);
    add(&mut network, 0..1, None, poisson(4_000_000, 500));
    let world = run(&network, 3);
    let record = world.records()[0];
    assert!(record.received.0 > 900 && record.received.0 < 1100, "{record:?}");
    assert_eq!((record.dropped, world.lost(0)), (0, 0));
    assert!(record.sent.0 > 19 * record.received.0);
}

/// Packets have the delay of the moment when they are out, and none overtakes another.
#[test]
fn a_delay_that_changes_holds_for_what_is_sent_then() {
    let mut network = chain(1, 10_000_000, ms(50), "fifo", Span::from_secs(SECONDS));
    // Half of the time 50 ms, and half of it 10 ms.
    let steps = Steps::new(ms(50), vec![(ms(5_000), ms(10))], Some(ms(10_000))).unwrap();
    network.links[0].delays = Some(Arc::new(steps));
    add(&mut network, 0..1, None, poisson(2_000_000, 500));
    let world = run(&network, 4);
    let record = world.records()[0];
    let flight = record.delay.mean().unwrap().as_secs_f64()
        - record.queueing.mean().unwrap().as_secs_f64()
        - 500.0 * 8.0 / 10e6;
    // At the change down, packets wait for those before them: for 40 ms, up to 40 ms.
    let held = 0.5 * 0.040 * 0.040 / 10.0;
    assert!((flight - 0.030 - held).abs() < 0.0008, "{flight}");
    assert_eq!(world.lost(0), 0);
}

/// Delays have the mean of their distribution when packets may overtake each other; without that,
/// no packet is before its predecessor, which makes the mean longer.
#[test]
fn jitter_delays_each_packet_by_its_own() {
    let plain = {
        let mut network = chain(1, 10_000_000, ms(50), "fifo", Span::from_secs(SECONDS));
        add(&mut network, 0..1, None, poisson(2_000_000, 500));
        network
    };
    let undisturbed = run(&plain, 5);
    let before = undisturbed.records()[0];
    for (distribution, mean, deviation) in [
        (Distribution::Uniform { spread: ms(12) }, 0.0, 0.012 / 3f64.sqrt()),
        (Distribution::Normal { deviation: ms(8) }, 0.0, 0.008),
        (Distribution::Exponential { mean: ms(6) }, 0.006, 0.006),
    ] {
        let [overtaking, in_order] = [true, false].map(|reorders| {
            let mut network = plain.clone();
            network.links[0].jitter = Jitter::new(distribution, reorders).unwrap();
            let world = run(&network, 5);
            assert_eq!(world.fingerprint(), run(&network, 5).fingerprint());
            let after = world.records()[0];
            assert_eq!((after.dropped, world.lost(0)), (0, 0));
            assert_eq!(
                (world.link(0).sent, world.link(0).waited),
                (undisturbed.link(0).sent, undisturbed.link(0).waited)
            );
            after.delay.mean().unwrap().as_secs_f64() - before.delay.mean().unwrap().as_secs_f64()
        });
        let half = 3.29 * deviation / (before.received.0 as f64).sqrt();
        assert!((overtaking - mean).abs() < half, "{distribution:?}: {overtaking} ± {half}");
        assert!(in_order > overtaking + half, "{distribution:?}: {in_order}");
    }
}
