//! Traffic without the gate; no frame ever takes both ways.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

#[path = "../common/mod.rs"]
mod common;

mod bridges;
mod killed;

use common::{BINARY, INSIDE, Net, OUTSIDE, Place, TempFile};
use std::net::UdpSocket;
use std::process::Output;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two packets of a flow.
const GAP: Duration = Duration::from_millis(1);

/// Traffic has to pass again within this time, in seconds.
const MAX_OUTAGE: f64 = 0.05;

/// A run in which a packet is later than this, in seconds, before anything happens is inconclusive.
const SLACK: f64 = 0.02;

const OPEN: &str = "[port]\nscheduler = \"fifo\"\n";

/// A file with `fail = "closed"`.
fn closed() -> TempFile {
    let file = TempFile::gate("50mbit", "50mbit", "");
    let text = std::fs::read_to_string(file.path()).unwrap();
    TempFile::new(&text.replace("down = ", "fail = \"closed\", down = "))
}

fn open() -> TempFile {
    TempFile::gate("50mbit", "50mbit", OPEN)
}

/// The packets that arrived in one direction: their numbers and times.
type Arrivals = Vec<(u32, Instant)>;

/// Sends numbered packets from one end to the other for `duration`, and returns those that arrived.
fn flow(net: &Net, up: bool, port: u16, duration: Duration) -> JoinHandle<Arrivals> {
    let (from, to) = if up {
        ((Place::Inside, INSIDE), (Place::Outside, OUTSIDE))
    } else {
        ((Place::Outside, OUTSIDE), (Place::Inside, INSIDE))
    };
    let receiver = net.receive(to.0, (to.1, port), Duration::from_millis(100), move |socket| {
        let (start, mut bytes, mut arrivals) = (Instant::now(), [0; 64], Vec::new());
        while start.elapsed() < duration + Duration::from_millis(300) {
            if socket.recv(&mut bytes).is_ok() {
                let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
                arrivals.push((number, Instant::now()));
            }
        }
        arrivals
    });
    net.spawn(from.0, move || {
        let socket = UdpSocket::bind((from.1, 0)).unwrap();
        let start = Instant::now();
        for number in 0_u32.. {
            let due = GAP * number;
            if due > duration {
                return;
            }
            std::thread::sleep(due.saturating_sub(start.elapsed()));
            // The receiver may have ended.
            let _ = socket.send_to(&[&number.to_be_bytes()[..], &[0; 60]].concat(), (to.1, port));
        }
    });
    receiver
}

/// Checks that no packet arrived twice.
fn check_single(arrivals: &Arrivals) {
    let mut numbers: Vec<u32> = arrivals.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "a packet arrived twice");
}

/// The longest time without a packet among those that arrived within a span, the ends included.
fn longest_gap(arrivals: &Arrivals, from: Instant, until: Instant) -> f64 {
    let within =
        arrivals.iter().map(|(_, arrived)| *arrived).filter(|arrived| (from..until).contains(arrived));
    let times: Vec<Instant> = [from].into_iter().chain(within).chain([until]).collect();
    times.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs_f64()).fold(0.0, f64::max)
}

/// Waits until the kernel has seen that both interfaces can carry frames, which takes a second when
/// they are new: only then does a bridge use them.
fn wait_for_bridge(net: &Net) {
    let paths = ["/sys/class/net/gi/brport/state", "/sys/class/net/go/brport/state"];
    for _ in 0..100 {
        if net.output(Place::Gate, "cat", &paths).stdout == b"3\n3\n" {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the bridge does not forward");
}

fn run(net: &Net, args: &[&str]) -> Output {
    net.output(Place::Gate, BINARY, args)
}

fn error_of(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn links(net: &Net) -> String {
    String::from_utf8(net.output(Place::Gate, "ip", &["-br", "link"]).stdout).unwrap()
}

fn ping_once(net: &Net) -> bool {
    net.output(Place::Inside, "ping", &["-c", "1", "-W", "0.3", OUTSIDE]).status.success()
}
