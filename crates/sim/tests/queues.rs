//! Statistics of a link's queue and of its busy time, against a plain queue and against theory.

mod common;

use common::{add, chain, poisson, rate, run, run_with};
use std::sync::Arc;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::source::{Emission, Traffic};
use tidegate_sim::world::World;

/// One link of 1 Mbit/s under 0.8 of its load: services of 1 and of 4 ms.
fn one_link(warmup: Span) -> Network {
    let mut network = chain(1, 1_000_000, Span::ZERO, "fifo", Span::from_secs(20));
    network.warmup = warmup;
    let sizes: Arc<[u32]> = Arc::new([125, 500]);
    add(&mut network, 0..1, None, Traffic::Poisson { rate: rate(800_000), sizes });
    network
}

/// Passes the network's packets through a plain queue; returns the times of arrival, of the start
/// of service, and of departure.
fn plain_queue(network: &Network, seed: u64) -> Vec<(Time, Time, Time)> {
    let mut emission = Emission::new(network.flows[0].traffic.clone(), Rng::named(seed, "flow/f0"));
    let (mut now, mut free) = (Time::ORIGIN, Time::ORIGIN);
    let mut packets = Vec::new();
    loop {
        let (gap, len) = emission.next_packet().unwrap();
        now += gap;
        if now > Time::ORIGIN + network.duration {
            return packets;
        }
        let begins = now.max(free);
        free = begins + network.links[0].rate.time_for(len);
        packets.push((now, begins, free));
    }
}

#[test]
fn samples_of_utilisation_are_exact_across_the_end_of_the_warm_up() {
    // The warm-up ends within a sample and, at this seed, within a packet.
    let warmup = Span::from_micros(3_333_333);
    let network = one_link(warmup);
    let spacing = Span::from_millis(7);
    let probes = Probes { sample: Some(spacing), ..Probes::default() };
    let world: World<Calendar> = run_with(&network, 4, &probes);
    let packets = plain_queue(&network, 4);
    let warm_at = Time::ORIGIN + warmup;
    assert!(packets.iter().any(|(_, begins, ends)| (*begins..*ends).contains(&warm_at)));
    let mut end = Time::ORIGIN;
    let mut samples = 0;
    for share in world.series().unwrap().values(Subject::Link(0), "utilisation") {
        let measured = Span::from_secs_f64(share * spacing.as_secs_f64());
        let (from, to) = (end, end + spacing);
        let within = |(_, begins, ends): &(Time, Time, Time)| {
            (*ends).min(to).since((*begins).max(from).min((*ends).min(to))).ticks()
        };
        assert_eq!(measured.ticks(), packets.iter().map(within).sum::<u64>(), "sample {samples}");
        (end, samples) = (to, samples + 1);
    }
    assert_eq!(samples, 20_000 / 7);
}

#[test]
fn what_arrivals_see_is_what_a_plain_queue_shows() {
    let warmup = Span::from_secs(2);
    let network = one_link(warmup);
    let packets = plain_queue(&network, 7);
    let seen_by = |at: Time| packets.iter().filter(|(came, _, gone)| *came < at && *gone > at).count() as u64;
    let measured = packets.iter().map(|(came, ..)| *came).filter(|came| *came >= Time::ORIGIN + warmup);
    let expected: Vec<u64> = measured.map(seen_by).collect();
    let stats = run(&network, 7).link(0).stats.unwrap();
    assert_eq!(stats.seen.count(), expected.len() as u64);
    for (part, of) in [(0, 1), (1, 2), (9, 10), (99, 100), (1, 1)] {
        let wanted = tidegate_core::stats::nearest_rank(&mut expected.clone(), part, of);
        assert_eq!(stats.seen.quantile(part, of), wanted);
    }
    let mean = expected.iter().sum::<u64>() as f64 / expected.len() as f64;
    assert!((stats.seen.mean().unwrap() - mean).abs() < 1e-9);
}

/// Poisson arrivals see time averages, which are known for an M/D/1 queue: the mean number is ρ +
/// ρ²/(2(1 − ρ)), the share of an empty queue is 1 − ρ, and that of one packet is (1 − ρ)(e^ρ − 1).
#[test]
fn arrivals_at_an_m_d_1_queue_see_its_stationary_distribution() {
    let seconds = if cfg!(debug_assertions) { 200 } else { 2000 };
    let mut network = chain(1, 1_000_000, Span::ZERO, "fifo", Span::from_secs(seconds));
    add(&mut network, 0..1, None, poisson(700_000, 125));
    let stats = run(&network, 1).link(0).stats.unwrap();
    let load: f64 = 0.7;
    let theory = load + load * load / (2.0 * (1.0 - load));
    let mean = stats.seen.mean().unwrap();
    assert!((mean / theory - 1.0).abs() < 0.05, "{mean}, theory {theory}");
    let time_average = stats.area() as f64 / Span::from_secs(seconds).ticks() as f64;
    assert!((mean / time_average - 1.0).abs() < 0.01, "{mean}, over time {time_average}");
    // 1 − ρ = 0.3 and (1 − ρ)·e^ρ = 0.604: quantiles on either side of both.
    let quantiles = [25, 35, 58, 63].map(|percent| stats.seen.quantile(percent, 100).unwrap());
    assert_eq!(quantiles, [0, 1, 1, 2]);
}
