//! BBR alone on a link: the order of its states, its model of the path, and the queue that it keeps.

use crate::path::{Path, World};
use crate::wire::{DATA, congestion, params};
use tidegate_core::endpoint::Endpoint;
use tidegate_core::endpoint::tcp::{LossRecovery, Sender, TcpParams};
use tidegate_core::params::PolicyParams;

/// Values that BBR shows: bits per second and seconds, and the number of its state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Model {
    bandwidth: f64,
    min_rtt: f64,
    pacing_rate: f64,
    phase: f64,
    cwnd: f64,
    flight: f64,
}

impl Model {
    fn of(sender: &Sender) -> Model {
        let mut seen = Model::default();
        sender.gauges(&mut |name, value| match name {
            "bandwidth" => seen.bandwidth = value,
            "min_rtt" => seen.min_rtt = value,
            "pacing_rate" => seen.pacing_rate = value,
            "phase" => seen.phase = value,
            "cwnd" => seen.cwnd = value,
            "flight" => seen.flight = value,
            _ => {}
        });
        seen
    }
}

fn bbr() -> TcpParams {
    let params = params(("bbr", LossRecovery::Rack));
    TcpParams { initial_window: 10, receiver_window: 10_000 * DATA as u32, ..params }
}

const CLEAN: Path = Path {
    delay: 20,
    service: 100,
    queue: 100_000,
    loss: 0.0,
    early: 0.0,
    marked: 0.0,
    lost_acks: 0.0,
    late: 0.0,
    lateness: 1,
};

/// Bits per second of data that the link carries, its least round trip in seconds, and their product
/// in segments.
fn link(path: Path) -> (f64, f64, f64) {
    let (service, delay) = (path.service as f64 / 1e6, path.delay as f64 / 1e3);
    let round_trip = 2.0 * delay + service;
    (8.0 * DATA as f64 / service, round_trip, round_trip / service)
}

/// Links of 80 Mbit/s and 40 ms, 8 Mbit/s and 11 ms, 160 Mbit/s and 100 ms, 2 Mbit/s and 84 ms.
const LINKS: [(u64, u64); 4] = [(20, 100), (5, 1000), (50, 50), (40, 4000)];

/// Runs BBR alone for `seconds`, and shows its model each millisecond.
fn alone(path: Path, seconds: u64, mut show: impl FnMut(f64, Model)) -> World {
    let mut world = World::new(&bbr(), path, u64::MAX, 1);
    for millisecond in 1..=1000 * seconds {
        world.run(millisecond, |_| {});
        show(millisecond as f64 / 1e3, Model::of(&world.sender));
    }
    world
}

/// Startup, Drain, ProbeBw; and from then on ProbeRtt after every ten seconds in which no round trip
/// was shorter, for 200 ms and about a round trip.
#[test]
fn the_states_follow_each_other() {
    for (delay, service) in LINKS {
        let path = Path { delay, service, ..CLEAN };
        let (_, round_trip, _) = link(path);
        let mut states: Vec<(f64, f64)> = Vec::new();
        alone(path, 45, |now, model| {
            if states.last().is_none_or(|(_, phase)| *phase != model.phase) {
                states.push((now, model.phase));
            }
        });
        let order: Vec<f64> = states.iter().map(|(_, phase)| *phase).collect();
        assert_eq!(order[..8], [0.0, 1.0, 2.0, 3.0, 2.0, 3.0, 2.0, 3.0], "{path:?}");
        for pair in states[3..].windows(2) {
            let [(from, phase), (to, _)] = pair else { unreachable!() };
            let lasted = to - from;
            if *phase == 3.0 {
                assert!(lasted > 0.2 && lasted < 0.21 + 3.0 * round_trip, "{path:?}: {lasted}");
            } else {
                assert!(lasted > 9.99 && lasted < 10.01 + 2.0 * round_trip, "{path:?}: {lasted}");
            }
        }
    }
}

/// The estimates are those of the link, and it is full but for ProbeRtt, which takes 200 ms and about
/// a round trip of ten seconds.
#[test]
fn one_flow_fills_its_link() {
    for (delay, service) in LINKS {
        let path = Path { delay, service, ..CLEAN };
        let (rate, round_trip, _) = link(path);
        let [mut early, mut late] = [0, 0];
        let mut world = World::new(&bbr(), path, u64::MAX, 1);
        for (seconds, arrived) in [(5, &mut early), (45, &mut late)] {
            world.run(1000 * seconds, |_| {});
            *arrived = world.arrived;
            let model = Model::of(&world.sender);
            assert!((model.bandwidth / rate - 1.0).abs() < 0.02, "{path:?}: {model:?}");
            assert!((model.min_rtt / round_trip - 1.0).abs() < 0.05, "{path:?}: {model:?}");
        }
        let used = 8.0 * (late - early) as f64 / 40.0 / rate;
        let expected = 1.0 - (0.2 + round_trip) / 10.2;
        assert!(used > expected - 0.005 && used <= 1.0, "{path:?}: {used} of {expected}");
        assert!(round_trip > 0.05 || used >= 0.97, "{path:?}: {used}");
    }
}

/// In Startup the rate doubles in each round trip: the window that fills the pipe is reached in
/// log₂ (BDP / 10) of them, three more show that it is full, and each has a queue of up to 1.9 BDP.
/// After Drain the queue is a fraction of the BDP, and the window two.
#[test]
fn the_queue_of_startup_is_drained() {
    for (delay, service) in LINKS {
        let path = Path { delay, service, ..CLEAN };
        let (rate, round_trip, bdp) = link(path);
        // Room for three bursts of a millisecond. The rate at the start is that of ten segments in one.
        let quanta = |rate: f64| 3.0 * (rate / 8.0 / 1024.0 / DATA as f64).max(2.0) + 4.0;
        let startup = 2.89 * rate.max(8.0 * 10.0 * DATA as f64 / 0.001);
        let mut drained = None;
        let (mut began, mut most, mut sum, mut count) = (f64::NAN, 0.0_f64, 0.0, 0.0);
        alone(path, 9, |now, model| {
            if model.phase == 1.0 && began.is_nan() {
                began = now;
                assert!((model.bandwidth / rate - 1.0).abs() < 0.02, "{path:?}: {model:?}");
                assert!(model.flight < 2.89 * bdp + quanta(startup), "{path:?}: {model:?}");
            }
            if model.phase == 2.0 {
                drained.get_or_insert(model.flight);
                // The burst at the start without a handshake's round trip lasts for a while.
                if now > 3.0 {
                    most = most.max(model.flight - bdp);
                    (sum, count) = (sum + model.flight - bdp, count + 1.0);
                }
            }
        });
        let rounds = (bdp / 10.0).log2().max(0.0) + 3.0;
        assert!(began > rounds * round_trip && began < (rounds + 9.0) * round_trip, "{path:?}: {began}");
        let quanta = quanta(rate);
        assert!(drained.unwrap() <= bdp + quanta, "{path:?}: {drained:?}");
        assert!(most < 0.5 * bdp + 2.0 * quanta, "{path:?}: {most} of {bdp}");
        assert!(sum / count < 0.25 * bdp + quanta, "{path:?}: {} of {bdp}", sum / count);
    }
}

/// 5/4, then 3/4, then six round trips at the bandwidth, at 99 % of it.
#[test]
fn the_gains_follow_the_cycle() {
    let path = CLEAN;
    let (_, round_trip, _) = link(path);
    let mut gains: Vec<(f64, f64)> = Vec::new();
    alone(path, 9, |now, model| {
        let gain = (model.pacing_rate / model.bandwidth * 100.0).round() / 99.0;
        if model.phase == 2.0 && gains.last().is_none_or(|(_, last)| (last - gain).abs() > 0.1) {
            gains.push((now, gain));
        }
    });
    let first = gains.iter().position(|(_, gain)| *gain > 1.1).unwrap();
    let cycles = gains[first..].chunks_exact(3).collect::<Vec<_>>();
    assert!(cycles.len() > 15, "{gains:?}");
    for cycle in &cycles {
        for ((_, gain), expected) in cycle.iter().zip([1.25, 0.75, 1.0]) {
            assert!((gain - expected).abs() < 0.02, "{cycle:?}");
        }
        assert!(cycle[1].0 - cycle[0].0 > round_trip, "{cycle:?}");
        assert!(cycle[2].0 - cycle[1].0 <= round_trip + 0.003, "{cycle:?}");
    }
    for pair in cycles.windows(2) {
        let lasted = (pair[1][0].0 - pair[0][2].0) / round_trip;
        assert!(lasted > 6.0 && lasted < 6.6, "{lasted}");
    }
}

/// A rate that does not follow from losses: at one of fifty by chance BBR has more than nine tenths of
/// the link, and CUBIC less than a fifth.
#[test]
fn losses_by_chance_do_not_slow_it() {
    let path = Path { loss: 0.02, ..CLEAN };
    let (rate, ..) = link(path);
    let used = |params: &TcpParams| {
        let mut world = World::new(params, path, u64::MAX, 1);
        world.run(20_000, |_| {});
        8.0 * world.arrived as f64 / 20.0 / rate
    };
    let (with_bbr, with_cubic) =
        (used(&bbr()), used(&TcpParams { congestion: congestion("cubic"), ..bbr() }));
    assert!(with_bbr > 0.9 && with_cubic < 0.2, "{with_bbr} {with_cubic}");
}

/// Losses are found by time alone, and no other recovery measures what BBR needs.
#[test]
fn it_needs_recovery_by_time() {
    for recovery in [LossRecovery::Sack, LossRecovery::NewReno, LossRecovery::Reno1990] {
        let fault = TcpParams { recovery, ..bbr() }.check().unwrap_err();
        assert!(fault.message.contains("needs `recovery = \"rack\"`"), "{}", fault.message);
    }
    assert!(bbr().check().is_ok());
}
