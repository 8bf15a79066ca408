//! A gate between two hosts of the kernel's: the frames that pass, their rate and their order.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use rustix::process::Signal;
use serde_json::Value;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// A run is inconclusive about rates, which have to be within 0.1 % over two seconds and more, when
/// the 99 % quantile of the lateness is above this, in seconds.
const SLACK: f64 = 2e-3;
/// Maximum number of times that an inconclusive run is repeated.
const REPEATS: u32 = 2;

/// Returns true if the gate got the processor when it needed it.
fn conclusive(report: &Value, direction: &str) -> bool {
    let one = &report["directions"][direction];
    one["stalls"] == 0 && one["lateness"]["p99"].as_f64().unwrap() <= SLACK
}

/// Repeats a measurement whose timing was disturbed; `None` when every run was disturbed.
fn measured<T>(mut run: impl FnMut() -> Option<T>) -> Option<T> {
    let found = (0..=REPEATS).find_map(|_| run());
    if found.is_none() {
        println!("inconclusive: the gate itself was late, {} times", REPEATS + 1);
    }
    found
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_ping_passes_and_sockets_go_with_the_gate() {
    let net = Net::new();
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", ""));
    // At each interface 17 sockets receive, each from a part of the hosts, and 8 for flows that are
    // promised something. One is never selected, and one sends.
    assert_eq!(net.packet_sockets(), 2 * 27);
    assert!(net.ping(5));
    let report = gate.stop();
    for direction in ["up", "down"] {
        assert!(report["directions"][direction]["sent"].as_u64().unwrap() >= 5, "{report:#}");
        assert_eq!(report["directions"][direction]["dropped"], 0, "{report:#}");
    }
    assert_eq!(net.packet_sockets(), 0);

    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", ""));
    assert!(net.ping(1));
    gate.signal(Signal::KILL);
    assert!(!gate.wait().0.success());
    assert_eq!(net.packet_sockets(), 0);
}

/// A queue of 50 packets of 1042 bytes lasts 41 ms at 10 Mbit/s: a source that paused for longer
/// than this may have let it run empty, and then the link was not always busy.
const MAX_PAUSE: Duration = Duration::from_millis(30);

/// Sends UDP at `rate` bit/s from the inside to `port` outside, in frames of `42 + payload` bytes.
/// Returns the longest time between two sends.
fn blast(
    net: &Net,
    port: u16,
    payload: usize,
    rate: f64,
    lasting: Duration,
) -> std::thread::JoinHandle<Duration> {
    net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((INSIDE, port)).unwrap();
        let (bytes, gap) = (vec![0; payload], (42 + payload) as f64 * 8.0 / rate);
        let start = Instant::now();
        let (mut before, mut pause) = (start, Duration::ZERO);
        for packet in 0_u32.. {
            let due = start + Duration::from_secs_f64(f64::from(packet) * gap);
            if due.duration_since(start) > lasting {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let _ = socket.send_to(&bytes, (OUTSIDE, port));
            let now = Instant::now();
            pause = pause.max(now.duration_since(before));
            before = now;
        }
        pause
    })
}

/// Times at which packets arrived at `port` outside, until none arrived for a while.
fn arrivals(net: &Net, port: u16) -> std::thread::JoinHandle<Vec<f64>> {
    net.receive(Place::Outside, (OUTSIDE, port), Duration::from_millis(600), |socket| {
        let (start, mut bytes, mut times) = (Instant::now(), [0; 2048], Vec::new());
        while socket.recv(&mut bytes).is_ok() {
            times.push(start.elapsed().as_secs_f64());
        }
        times
    })
}

/// Packets per second: the slope of the count over time, by least squares.
fn slope(times: &[f64]) -> f64 {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let (mut over, mut under) = (0.0, 0.0);
    for (ix, time) in times.iter().enumerate() {
        over += (ix as f64 - middle) * (time - mean);
        under += (time - mean) * (time - mean);
    }
    over / under
}

/// Difference of the rate from one packet in `gap` seconds, as a share of it. A packet can be seen
/// late and never early, so the earliest of the first quarter and of the last are compared.
fn rate_error(times: &[f64], gap: f64) -> f64 {
    let quarter = times.len() / 4;
    let earliest = |from: usize| {
        let late = |ix: usize| times[ix] - ix as f64 * gap;
        (from..from + quarter).map(late).fold(f64::INFINITY, f64::min)
    };
    let last = times.len() - quarter;
    (earliest(0) - earliest(last)) / (last as f64 * gap)
}

/// Twice the rate comes in, and the rate goes out, within 0.1 %.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_flood_is_shaped_to_the_rate() {
    const FRAME: usize = 1042;
    const RATE: f64 = 10e6;
    let net = Net::new();
    let error = measured(|| {
        let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", "switch = { buffer = \"50p\" }"));
        assert!(net.ping(1));
        let times = arrivals(&net, 9);
        let pause = blast(&net, 9, FRAME - 42, 2.0 * RATE, Duration::from_secs(3)).join().unwrap();
        let times = times.join().unwrap();
        let report = gate.stop();
        assert!(report["directions"]["up"]["drops"]["pushed-out"].as_u64().unwrap() > 1000, "{report:#}");
        // Without the first packets, while the queue is filling, and the last, when it is served
        // out.
        let steady = &times[100..times.len() - 100];
        let error = rate_error(steady, FRAME as f64 * 8.0 / RATE);
        println!(
            "{error:+.1e} over {} packets; lateness {}",
            steady.len(),
            report["directions"]["up"]["lateness"]
        );
        (conclusive(&report, "up") && pause < MAX_PAUSE).then_some(error)
    });
    if let Some(error) = error {
        assert!(error.abs() < 1e-3, "rate error {error}");
    }
}

/// A gate that sleeps between its bursts keeps the rate and the order; a burst's length of 5 ms is
/// 0.2 % of the time.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_gate_that_coalesces_keeps_the_rate() {
    const FRAME: usize = 1042;
    let net = Net::new();
    let error = measured(|| {
        let file = TempFile::gate("10mbit", "10mbit", "switch = { buffer = \"50p\" }");
        let gate = Gate::start_with(&net, file, &["--coalesce", "5ms"]);
        assert!(net.ping(1));
        let times = arrivals(&net, 9);
        let pause = blast(&net, 9, FRAME - 42, 20e6, Duration::from_secs(3)).join().unwrap();
        let times = times.join().unwrap();
        let report = gate.stop();
        let steady = &times[100..times.len() - 100];
        let error = rate_error(steady, FRAME as f64 * 8.0 / 10e6);
        println!("{error:+.1e}; lateness {}", report["directions"]["up"]["lateness"]);
        (report["directions"]["up"]["stalls"] == 0 && pause < MAX_PAUSE).then_some(error)
    });
    if let Some(error) = error {
        assert!(error.abs() < 1e-2, "rate error {error}");
    }
}

/// Two flows that each send as much as the link carries, and reserve 3 and 1. There is room for all
/// that they send: docs/schedulers/virtual-clock.md describes the effect of push-out on a flow that
/// floods.
#[test]
#[ignore = "needs root and network namespaces"]
fn virtual_clock_shares_the_link_as_reserved() {
    let net = Net::new();
    let rules = "port = { scheduler = \"virtual-clock\" }\nswitch = { buffer = \"5000p\" }\n\
                 [[flow]]\nname = \"three\"\nmatch = { outside_port = 3 }\nreserve = \"6mbit\"\n\
                 [[flow]]\nname = \"one\"\nmatch = { outside_port = 1 }\nreserve = \"2mbit\"\n";
    let ratio = measured(|| {
        let gate = Gate::start(&net, TempFile::gate("8mbit", "8mbit", rules));
        assert!(net.ping(1));
        let times = [3, 1].map(|port| arrivals(&net, port));
        let senders = [3, 1].map(|port| blast(&net, port, 958, 8e6, Duration::from_secs(2)));
        for sender in senders {
            sender.join().unwrap();
        }
        let [three, one] = times.map(|times| {
            let mut times = times.join().unwrap();
            let first = times[0];
            times.retain(|time| (0.1..1.9).contains(&(time - first)));
            slope(&times)
        });
        let report = gate.stop();
        println!("{three:.1} and {one:.1} packets/s");
        let flows = &report["directions"]["up"]["flows"];
        assert_eq!((&flows[0]["name"], &flows[1]["name"]), (&"three".into(), &"one".into()));
        assert_eq!(report["directions"]["up"]["dropped"], 0, "{report:#}");
        conclusive(&report, "up").then_some(three / one)
    });
    if let Some(ratio) = ratio {
        assert!((2.94..3.06).contains(&ratio), "{ratio}");
    }
}
