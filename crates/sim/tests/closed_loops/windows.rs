//! Windows of packets, clocked by acknowledgements.

use crate::common::add;
use crate::{row, run, throughput, window};
use std::sync::Arc;
use tidegate_core::units::Span;
use tidegate_sim::source::Traffic;

/// Throughput is window / round-trip time while that is below the rate, and the rate beyond.
#[test]
fn acknowledgements_clock_a_window() {
    for packets in [1, 2, 5, 9, 10, 14, 30] {
        let mut network = row(2, 8_000_000, Span::from_millis(2), 20);
        network.warmup = Span::from_secs(1);
        window(&mut network, packets, 40);
        let measured = throughput(&run(&network), 0, &network);
        // Two links of 2 ms and a packet's time of 1 ms there, of 40 µs back.
        let round_trip = 2.0 * (2e-3 + 1e-3) + 2.0 * (2e-3 + 40e-6);
        let expected = (packets as f64 * 8000.0 / round_trip).min(8e6);
        assert!((measured / expected - 1.0).abs() < 0.01, "{packets}: {measured} of {expected}");
    }
}

/// Acknowledgements wait behind the traffic of the way back, and the window is clocked by the
/// longer round trip.
#[test]
fn acknowledgements_queue_behind_reverse_traffic() {
    let mut network = row(1, 8_000_000, Span::from_millis(2), 20);
    network.warmup = Span::from_secs(1);
    window(&mut network, 4, 40);
    add(&mut network, 0..1, None, Traffic::Greedy { window: 20, sizes: Arc::new([1000]) });
    network.flows[2].route = vec![1];
    let world = run(&network);
    // An acknowledgement finds 20 packets of 1 ms; the one in service is half through on average.
    let queueing =
        world.records()[1].queueing.sum_ticks() as f64 / world.records()[1].queueing.count() as f64;
    let waited = Span::from_ticks(queueing as u64).as_secs_f64();
    assert!((19e-3..=20.2e-3).contains(&waited), "{waited}");
    let expected = 4.0 * 8000.0 / (1e-3 + 2e-3 + waited + 40e-6 + 2e-3);
    let measured = throughput(&world, 0, &network);
    assert!((measured / expected - 1.0).abs() < 0.02, "{measured} of {expected}");
}
