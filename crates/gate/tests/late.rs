//! A gate that gets no processor accounts for it: it counts a frame's delay from when the kernel
//! received the frame, and drops frames that are too old.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use rustix::process::Signal;
use serde_json::Value;
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

/// Age in seconds above which a frame is dropped.
const MAX_AGE: f64 = 0.2;

/// Evidence of a gate that was stopped for a second: packets, the gate's report and its log.
struct Stopped {
    /// The delays, in seconds, of packets that were sent before the gate was stopped.
    before: Vec<f64>,
    /// The delays, in seconds, of packets that were sent later.
    since: Vec<f64>,
    report: Value,
    /// The gate's answer to `status` while it runs on.
    status: Value,
    log: String,
}

/// Sends a packet every two milliseconds for two seconds, stops the gate meanwhile, and lets it go
/// on a second later.
fn stopped_for_a_second(io: &str) -> Stopped {
    let net = Net::new();
    if io == "xdp" {
        net.switch_off_offloads(&common::NONE_LEFT);
    }
    let file = TempFile::gate("10mbit", "10mbit", "");
    let text =
        std::fs::read_to_string(file.path()).unwrap().replacen("up = ", &format!("io = \"{io}\", up = "), 1);
    std::fs::write(file.path(), text).unwrap();
    let path = file.path().to_owned();
    let gate = Gate::start(&net, file);
    assert!(net.ping(2));
    let origin = Instant::now();
    let receiver = net.receive(Place::Outside, (OUTSIDE, 7000), Duration::from_millis(1500), move |socket| {
        let (mut bytes, mut delays) = ([0; 8], Vec::new());
        while let Ok(8) = socket.recv(&mut bytes) {
            let sent = Duration::from_nanos(u64::from_be_bytes(bytes));
            delays.push((sent, (origin.elapsed() - sent).as_secs_f64()));
        }
        delays
    });
    let sender = net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((INSIDE, 0)).unwrap();
        for _ in 0..1000 {
            let now = origin.elapsed().as_nanos() as u64;
            let _ = socket.send_to(&now.to_be_bytes(), (OUTSIDE, 7000));
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    gate.signal(Signal::STOP);
    let stopped = origin.elapsed();
    std::thread::sleep(Duration::from_secs(1));
    gate.signal(Signal::CONT);
    sender.join().unwrap();
    let delays = receiver.join().unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    let asked = net.output(Place::Gate, common::BINARY, &["status", &path, "--json"]);
    gate.signal(Signal::TERM);
    let (status, printed, log) = gate.wait();
    assert!(status.success(), "{log}");
    let (before, since): (Vec<_>, Vec<_>) = delays.into_iter().partition(|&(sent, _)| sent <= stopped);
    let delays = |packets: Vec<(Duration, f64)>| packets.into_iter().map(|(_, delay)| delay).collect();
    Stopped {
        before: delays(before),
        since: delays(since),
        report: serde_json::from_str(&printed).unwrap(),
        status: serde_json::from_slice(&asked.stdout).unwrap(),
        log,
    }
}

/// A gate that forwards notifies the service manager, and one that stands still does not.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_gate_that_stands_still_is_not_taken_for_alive() {
    let net = Net::new();
    let path = std::env::temp_dir().join(format!("tidegate-notify-{}", std::process::id()));
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_millis(800))).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    };
    let file = TempFile::gate("10mbit", "10mbit", "");
    let mut command = net.command(Place::Gate, common::BINARY, &["up", file.path(), "--for", "30s"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "500000");
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut gate = command.spawn().unwrap();
    let stop =
        |signal| rustix::process::kill_process(rustix::process::Pid::from_child(&gate), signal).unwrap();
    let first = (0..10).find_map(|_| heard());
    assert_eq!(first.as_deref(), Some("READY=1"));
    (0..4).for_each(|_| assert_eq!(heard().as_deref(), Some("WATCHDOG=1")));
    stop(Signal::STOP);
    while heard().is_some() {}
    stop(Signal::CONT);
    assert_eq!(heard().as_deref(), Some("WATCHDOG=1"));
    stop(Signal::TERM);
    assert!(gate.wait().unwrap().success());
    std::fs::remove_file(&path).unwrap();
}

#[test]
#[ignore = "needs root and network namespaces"]
fn what_has_waited_for_too_long_is_dropped_and_counted() {
    // A ring of blocks holds less than a fifth of a second of so few packets.
    for io in ["packet", "ring", "xdp"] {
        if io == "xdp" && cfg!(not(feature = "xdp")) {
            continue;
        }
        let Stopped { before, since, report, status, log } = stopped_for_a_second(io);
        let maximum = |delays: &[f64]| delays.iter().copied().fold(0.0, f64::max);
        let late = maximum(&since);
        assert!((0.1..MAX_AGE + 0.1).contains(&late), "{io}: {late} s");
        // A packet that the gate has read when it is stopped is not dropped. It counts as delayed
        // when it is still in the queue, and otherwise as sent late.
        let read = before.iter().filter(|&&delay| delay > MAX_AGE + 0.1).count();
        assert!(read < 10, "{io}: {read}");
        let longest = late.max(maximum(&before));
        let up = &report["directions"]["up"];
        // Some 500 packets came while it was stopped, of which a fifth is not too old.
        let dropped = up["drops"]["late"].as_u64().unwrap();
        assert!((200..500).contains(&dropped), "{io}: {dropped}");
        // They are among the late ones: a gate that drops is not on time.
        for report in [&report, &status] {
            let up = &report["directions"]["up"];
            assert_eq!(up["drops"]["late"].as_u64(), Some(dropped), "{io}: {up:#}");
            assert!(up["lateness"]["p99"].as_f64().unwrap() > MAX_AGE, "{io}: {up:#}");
        }
        assert_eq!(
            up["received"].as_u64().unwrap(),
            up["sent"].as_u64().unwrap() + up["dropped"].as_u64().unwrap()
        );
        // The reported delay is the measured one, within the error of the histogram and of a
        // machine that is out of processors.
        let reported = up["flows"][0]["delay"]["max"].as_f64().unwrap();
        let is_reported = |measured: f64| (reported - measured).abs() < 0.15 * measured + 0.01;
        assert!(is_reported(late) || is_reported(longest), "{io}: {reported} s for {late} s and {longest} s");
        assert!(
            log.contains("warning: up: ") && log.contains("because they had waited too long to be read"),
            "{log}"
        );
    }
}
