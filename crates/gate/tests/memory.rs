//! A gate with too little memory says so: it does not start, it refuses a reload and goes on, or it ends
//! and leaves the traffic to the bridge.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{BINARY, Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

/// Rings are opened by threads, of which each reserves addresses that count as memory here.
const SOCKETS: [&str; 2] = ["--set", "gate.io=packet"];

/// A buffer of as many frames as a gate has buffers for.
const MOST: &str = "switch = { buffer = \"1000000p\" }\n";

/// Lets a running gate have `more` bytes than it has now.
fn limit(gate: &Gate, more: u64) {
    let id = gate.id();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let kilobytes: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
    let all = Some(kilobytes * 1024 + more);
    prlimit(Pid::from_raw(id as i32), Resource::As, Rlimit { current: all, maximum: all }).unwrap();
}

fn reload(path: &str) -> (bool, String) {
    let done = Command::new(BINARY).args(["reload", path]).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// Nothing is taken by a gate that does not start, and the bridge of an earlier one forwards.
#[test]
#[ignore = "needs root and network namespaces"]
fn too_little_memory_at_a_start_is_a_message() {
    let net = Net::new();
    let start = |bytes: u64, rest: &str| {
        let file = TempFile::gate("10mbit", "10mbit", rest);
        let limit = format!("--as={bytes}");
        let up = [&limit, BINARY, "up", file.path(), "--for", "100ms"];
        let done = net.output(Place::Gate, "prlimit", &[&up[..], &SOCKETS].concat());
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let (code, told) = start(200_000_000, MOST);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.starts_with("not enough memory: ") && told.contains("MB are for frames of up to 131072"),
        "{told}"
    );
    assert!(told.ends_with("more memory for the process\n"), "{told}");
    let links = net.output(Place::Gate, "ip", &["-brief", "link"]);
    assert!(!String::from_utf8_lossy(&links.stdout).contains("tg-gi"), "{links:?}");
    assert_eq!(net.packet_sockets(), 0);
    // A list that is too long is refused before it is read.
    let lines: String = (0..100_000)
        .map(|ix: u32| format!("c{ix},10.{}.{}.{}\n", ix >> 16, ix >> 8 & 255, ix & 255))
        .collect();
    let list = TempFile::new(&format!("name,addresses\n{lines}"));
    let rest = format!("[[flow]]\nname = \"all\"\ncircuits = \"{}\"\n", list.path());
    let (code, told) = start(60_000_000, &rest);
    assert!(code == Some(1) && told.starts_with("not enough memory: reading "), "{told}");

    let killed = Gate::start_with(&net, TempFile::gate("10mbit", "10mbit", ""), &SOCKETS);
    killed.signal(Signal::KILL);
    killed.wait();
    assert_eq!(start(200_000_000, MOST).0, Some(1));
    assert!(net.ping(2));
    assert_eq!(start(2_000_000_000, MOST).0, Some(0));
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_reload_that_needs_too_much_is_refused_and_the_gate_goes_on() {
    let net = Net::new();
    let file = TempFile::gate("10mbit", "10mbit", "");
    let path = file.path().to_owned();
    let before = std::fs::read_to_string(&path).unwrap();
    let list = TempFile::new("name,addresses\na,10.7.0.1\n");
    let with_list = format!("{before}[[flow]]\nname = \"all\"\ncircuits = \"{}\"\n", list.path());
    let gate = Gate::start_with(&net, file, &SOCKETS);
    // Threads have their stacks, and heaps theirs, once they were used.
    std::fs::write(&path, &with_list).unwrap();
    assert!(reload(&path).0);
    limit(&gate, 100_000_000);
    std::fs::write(&path, format!("{before}{MOST}")).unwrap();
    let (done, told) = reload(&path);
    assert!(!done && told.starts_with("not enough memory: "), "{told}");
    assert!(net.ping(1));
    // From some 10,000 circuits on the list takes more than there is, at one place or another.
    std::fs::write(&path, &with_list).unwrap();
    let mut refused = 0;
    for count in (0..19).map(|power| 1_u32 << power) {
        let line = |ix: u32| format!("c{ix},10.{}.{}.{}\n", 8 + (ix >> 16), ix >> 8 & 255, ix & 255);
        std::fs::write(
            list.path(),
            (0..count).fold("name,addresses\n".to_owned(), |all, ix| all + &line(ix)),
        )
        .unwrap();
        let (done, told) = reload(&path);
        assert!(done || told.starts_with("not enough memory: "), "{count}: {told}");
        refused += u32::from(!done);
        assert!(net.ping(1), "{count}");
    }
    assert!((1..12).contains(&refused), "{refused}");
    std::fs::write(&path, before.replace("up = \"10mbit\"", "up = \"20mbit\"")).unwrap();
    let (done, told) = reload(&path);
    assert!(done && told.contains("gate.up: 10mbit -> 20mbit"), "{told}");
    gate.stop();
}

/// Flows that packets open take memory while the gate runs.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_gate_that_runs_out_of_memory_hands_over_with_a_message() {
    let net = Net::new();
    let rest = "[[flow]]\nname = \"each\"\neach = \"5-tuple\"\n";
    let gate = Gate::start_with(&net, TempFile::gate("100mbit", "100mbit", rest), &SOCKETS);
    assert!(net.ping(2));
    limit(&gate, 0);
    let sent = net.spawn(Place::Inside, || {
        let socket = UdpSocket::bind((INSIDE, 0)).unwrap();
        for port in 1..60_000 {
            let _ = socket.send_to(&[0; 20], (OUTSIDE, port));
            if port % 100 == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
    sent.join().unwrap();
    let (status, _, log) = gate.wait();
    assert_eq!(status.code(), Some(1), "{log}");
    let last = log.lines().last().unwrap();
    assert!(last.starts_with("test-") && last.contains(": not enough memory for "), "{log}");
    assert!(last.ends_with("the gate ends, and the bridge forwards if there is one"), "{log}");
    assert!(net.ping(2));
}
