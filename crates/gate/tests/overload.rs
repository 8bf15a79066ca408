//! More frames than the gate can forward: the scheduler decides which are sent, and a host that
//! floods the gate delays no other.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]
#![allow(unsafe_code)]

mod common;

use common::{Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A second host, in the namespace of the first and in another part of the hosts.
const SECOND: &str = "10.7.0.3";
const PROBES: u64 = 1000;

/// Sends datagrams of 18 bytes from the first host, 40 in a call, until it is stopped: the kernel
/// cuts them.
fn flood(stop: &AtomicBool) {
    let socket = UdpSocket::bind((INSIDE, 0)).unwrap();
    socket.connect((OUTSIDE, 7)).unwrap();
    let segment: libc::c_int = 18;
    // SAFETY: the kernel reads the four bytes of `segment`.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const segment).cast(), 4)
    };
    assert_eq!(done, 0);
    while !stop.load(Ordering::Relaxed) {
        // Refused when the far end has reported that there is no receiver.
        let _ = socket.send(&[0; 18 * 40]);
    }
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_host_that_floods_the_gate_delays_no_other() {
    let net = Net::new();
    let to_second = format!("{SECOND}/24");
    net.output(Place::Inside, "ip", &["addr", "add", &to_second, "dev", Place::Inside.interface()]);
    let offload = ["-K", Place::Inside.interface(), "tx-udp-segmentation", "off"];
    let cut = net.output(Place::Inside, "ethtool", &offload);
    assert!(cut.status.success(), "{}", String::from_utf8_lossy(&cut.stderr));
    let rules = "[[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"5-tuple\"\nreserve = \"100mbit\"\n";
    let gate = Gate::start_with(&net, TempFile::gate("10gbit", "10gbit", rules), &[]);
    assert!(net.ping(1));
    let stop = Arc::new(AtomicBool::new(false));
    let floods = [(); 2].map(|()| {
        let stop = Arc::clone(&stop);
        net.spawn(Place::Inside, move || flood(&stop))
    });
    let origin = Instant::now();
    let receiver = net.receive(Place::Outside, (OUTSIDE, 7000), Duration::from_secs(1), move |socket| {
        let (mut bytes, mut delays) = ([0; 8], Vec::new());
        while let Ok(8) = socket.recv(&mut bytes) {
            let sent = Duration::from_nanos(u64::from_be_bytes(bytes));
            delays.push((origin.elapsed() - sent).as_secs_f64());
        }
        delays
    });
    std::thread::sleep(Duration::from_millis(300));
    let sender = net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((SECOND, 0)).unwrap();
        for _ in 0..PROBES {
            let now = origin.elapsed().as_nanos() as u64;
            socket.send_to(&now.to_be_bytes(), (OUTSIDE, 7000)).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    sender.join().unwrap();
    let mut delays = receiver.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    for thread in floods {
        thread.join().unwrap();
    }
    let report = gate.stop();
    let up = &report["directions"]["up"];
    let [received, sent, missed] = ["received", "sent", "missed"].map(|key| up[key].as_u64().unwrap());
    // The gate was overloaded: it sent less than half of the arrivals.
    assert!(missed + received > 2 * sent, "{up:#}");
    let passed = delays.len() as f64 / PROBES as f64;
    assert!(passed > 0.99, "{passed} of the probes; {up:#}");
    delays.sort_by(f64::total_cmp);
    // There are three more threads than processors, so no thread is on time; in one queue with the
    // flood the median was 0.2 s.
    let median = delays[delays.len() / 2];
    assert!(median < 0.02, "{median} s");
}
