//! Queues whose waits are known in closed form (Pollaczek–Khinchine): replications against theory,
//! with 99.9 % intervals at fixed seeds.

mod common;

use common::{add, chain, five_servers, rate, run};
use std::sync::Arc;
use tidegate_core::units::Span;
use tidegate_sim::network::Network;
use tidegate_sim::source::Traffic;

/// Mean wait at the first link over replications, and the half width of its 99.9 % interval.
fn mean_wait(network: &Network, replications: u64) -> (f64, f64) {
    let wait = |seed| {
        let (packets, ticks) = run(network, seed).link(0).waited;
        ticks as f64 / packets as f64 * 1e-11
    };
    let waits: Vec<f64> = (1..=replications).map(wait).collect();
    let n = replications as f64;
    let mean = waits.iter().sum::<f64>() / n;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student's t at 0.9995 with 9 degrees of freedom.
    assert_eq!(replications, 10);
    (mean, 4.781 * (variance / n).sqrt())
}

/// Packets per replication: enough for tight intervals in release, fewer in debug builds.
const SECONDS: u64 = if cfg!(debug_assertions) { 20 } else { 200 };

#[test]
fn the_first_server_of_the_chain_is_an_m_d_1_queue() {
    let network = five_servers("fifo", Span::from_secs(SECONDS / 4));
    let (mean, half) = mean_wait(&network, 10);
    let service = network.links[0].rate.time_for(48).as_secs_f64();
    let load = 15.0 * 1920.0 * service;
    let theory = load * service / (2.0 * (1.0 - load));
    assert!((theory - 171e-6).abs() < 0.1e-6, "{theory}");
    assert!((mean - theory).abs() < half, "{mean} ± {half}, theory {theory}");
    assert!(half < 0.2 * theory, "the interval says nothing: {half}");
}

#[test]
fn exponential_sizes_make_an_m_m_1_queue() {
    // 2000 equally likely quantiles of an exponential distribution with mean 1000 bytes.
    let quantile = |ix: u32| (-1000.0 * (1.0 - (f64::from(ix) + 0.5) / 2000.0).ln()).round().max(1.0) as u32;
    let sizes: Arc<[u32]> = (0..2000).map(quantile).collect();
    let mut network = chain(1, 10_000_000, Span::ZERO, "fifo", Span::from_secs(SECONDS));
    add(&mut network, 0..1, None, Traffic::Poisson { rate: rate(7_000_000), sizes: sizes.clone() });
    let (mean, half) = mean_wait(&network, 10);
    let moment = |power| sizes.iter().map(|size| f64::from(*size).powi(power)).sum::<f64>() / 2000.0;
    let arrivals = 7e6 / 8.0 / moment(1);
    let theory = arrivals * moment(2) * (8.0 / 10e6f64).powi(2) / (2.0 * (1.0 - 0.7));
    // ρ/(1−ρ) services of 0.8 ms: the list is close to its limit.
    assert!((theory / (0.7 / 0.3 * 0.8e-3) - 1.0).abs() < 0.01, "{theory}");
    assert!((mean - theory).abs() < half, "{mean} ± {half}, theory {theory}");
    assert!(half < 0.2 * theory, "the interval says nothing: {half}");
}

/// Kleinrock's conservation law: a work-conserving order changes who waits, not how much work does.
#[test]
fn virtual_clock_and_fifo_keep_the_same_mean_wait_for_equal_sizes() {
    let wait = |scheduler| {
        let world = run(&five_servers(scheduler, Span::from_secs(SECONDS / 10)), 3);
        world.link(0).waited
    };
    let ((fifo_packets, fifo), (vc_packets, vc)) = (wait("fifo"), wait("virtual-clock"));
    // Equal but for the few packets still queued at the end.
    assert!(fifo_packets.abs_diff(vc_packets) == 0, "{fifo_packets} {vc_packets}");
    assert!((fifo as f64 / vc as f64 - 1.0).abs() < 0.01, "{fifo} {vc}");
}
