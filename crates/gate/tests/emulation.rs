//! Links that a gate emulates between two hosts of the kernel's, and codepoints that it sets.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{Gate, INSIDE, Net, OUTSIDE, OUTSIDE6, Place, TempFile};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket, sockopt};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// A run is inconclusive about delays when the 99 % quantile of the lateness is above this, in
/// seconds.
const SLACK: f64 = 5e-3;

fn on_time(report: &Value) -> bool {
    ["up", "down"].iter().all(|direction| {
        let one = &report["directions"][direction];
        one["stalls"] == 0 && one["lateness"]["p99"].as_f64().unwrap() <= SLACK
    })
}

/// Shortest and longest round-trip time of a ping, in milliseconds.
fn round_trips(net: &Net) -> (f64, f64) {
    let done = net.output(Place::Inside, "ping", &["-q", "-c", "20", "-i", "0.05", "-W", "2", OUTSIDE]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let times = said.lines().find_map(|line| line.split_once(" = ")).unwrap_or_else(|| panic!("{said}")).1;
    let mut times = times.split('/').map(|time| time.parse::<f64>().unwrap_or(f64::NAN));
    (times.next().unwrap(), times.nth(1).unwrap())
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_ping_takes_the_delay_of_both_directions_longer() {
    let net = Net::new();
    let rules = "emulate = { up = { delay = \"30ms\" }, down = { delay = \"20ms\" } }\n";
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", rules));
    assert!(net.ping(1));
    let (least, most) = round_trips(&net);
    let report = gate.stop();
    // A frame of 98 bytes takes 78 µs each way besides.
    println!("{least} to {most} ms");
    assert!(least >= 50.1, "{least} ms");
    if on_time(&report) {
        assert!(least < 60.0, "{least} ms");
    } else {
        println!("inconclusive: the gate itself was late");
    }
}

/// Sends packets of this size from the inside to a port outside, one each `gap`. Returns the
/// arrived packets with their times.
fn stream(net: &Net, port: u16, payload: usize, packets: u32, gap: Duration) -> Vec<(u32, f64)> {
    let receiver = net.receive(Place::Outside, (OUTSIDE, port), Duration::from_millis(800), move |socket| {
        let (start, mut bytes, mut arrived) = (Instant::now(), [0; 2048], Vec::new());
        while socket.recv(&mut bytes).is_ok() {
            let number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            arrived.push((number, start.elapsed().as_secs_f64()));
        }
        arrived
    });
    let sender = net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((INSIDE, port)).unwrap();
        let (start, mut bytes) = (Instant::now(), vec![0; payload]);
        for number in 0..packets {
            std::thread::sleep((start + gap * number).saturating_duration_since(Instant::now()));
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            let _ = socket.send_to(&bytes, (OUTSIDE, port));
        }
    });
    sender.join().unwrap();
    receiver.join().unwrap()
}

/// The losses are within the 99.99 % interval of the binomial around a quarter, and the other
/// packets are in order.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_quarter_of_the_packets_is_lost() {
    const PACKETS: u32 = 4000;
    let net = Net::new();
    let rules = "emulate = { up = { loss = 0.25, delay = \"3ms\" } }\n";
    let gate = Gate::start(&net, TempFile::gate("100mbit", "100mbit", rules));
    assert!(net.ping(10));
    let arrived = stream(&net, 9, 200, PACKETS, Duration::from_micros(300));
    let report = gate.stop();
    let up = &report["directions"]["up"];
    let [sent, dropped, missed] = ["sent", "dropped", "missed"].map(|key| up[key].as_f64().unwrap());
    let (missing, by_link) =
        (f64::from(PACKETS) - arrived.len() as f64, up["drops"]["emulated-loss"].as_f64().unwrap());
    println!(
        "{missing} of {PACKETS} missing; {by_link} lost by the link, {dropped} dropped, {missed} missed"
    );
    // The link lost or sent everything that reached it. A gate that gets no processor drops more,
    // but counts it.
    let reached = sent + by_link;
    assert!((by_link / reached - 0.25).abs() < 3.9 * (0.25 * 0.75 / reached).sqrt(), "{report:#}");
    assert!(missing <= dropped + missed, "{report:#}");
    assert!(sent + dropped + missed >= f64::from(PACKETS), "{report:#}");
    assert!(arrived.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(report["directions"]["down"]["dropped"], 0, "{report:#}");
}

/// One full packet every 5 ms, as the trace says, however many wait.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_trace_sets_the_pace() {
    let net = Net::new();
    let trace = TempFile::new("5\n");
    let file = TempFile::new(&format!(
        "version = 1\nname = \"test-trace-{}\"\n\
         gate = {{ inside = \"gi\", outside = \"go\", down = \"50mbit\", overhead = -14 }}\n\
         emulate = {{ up = {{ trace = \"{}\" }} }}\nswitch = {{ buffer = \"100p\" }}\n",
        std::process::id(),
        trace.path()
    ));
    let gate = Gate::start(&net, file);
    assert!(net.ping(1));
    let arrived = stream(&net, 9, 1500 - 28, 1200, Duration::from_micros(2500));
    let report = gate.stop();
    assert!(report["directions"]["up"]["drops"]["pushed-out"].as_u64().unwrap() > 100, "{report:#}");
    // A packet can be seen late and never early: the earliest of the first hundred and of the last.
    let earliest = |from: usize| {
        let late = |ix: usize| arrived[ix].1 - ix as f64 * 5e-3;
        (from..from + 100).map(late).fold(f64::INFINITY, f64::min)
    };
    let opportunities = (earliest(arrived.len() - 100) - earliest(0)) / 5e-3;
    // The kernel's own packets (ARP, IPv6) take a part of one each.
    let others = report["directions"]["up"]["received"].as_f64().unwrap() - 1200.0;
    println!("{} packets, {opportunities:+.3} opportunities late; {others} others", arrived.len());
    if on_time(&report) {
        assert!((-0.2..others + 0.2).contains(&opportunities), "{opportunities}");
    } else {
        println!("inconclusive: the gate itself was late");
    }
}

/// The bytes, from the IP header on, of `count` packets that arrive at a port outside.
fn watch(net: &Net, port: u16, count: usize) -> std::thread::JoinHandle<Vec<Vec<u8>>> {
    let (ready, listening) = std::sync::mpsc::channel();
    let watching = net.spawn(Place::Outside, move || {
        // Every protocol (ETH_P_ALL), in network order.
        let protocol = Protocol::from_raw(std::num::NonZeroU32::new(u32::from(3_u16.to_be())).unwrap());
        let socket = socket(AddressFamily::PACKET, SocketType::DGRAM, Some(protocol)).unwrap();
        let patience = Some(Duration::from_secs(3));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, patience).unwrap();
        ready.send(()).unwrap();
        let (mut bytes, mut seen) = ([0; 2048], Vec::new());
        while seen.len() < count {
            let Ok((length, _)) = recv(&socket, &mut bytes[..], RecvFlags::empty()) else { break };
            let packet = &bytes[..length];
            let header = if packet[0] >> 4 == 6 { 40 } else { 20 };
            if packet.get(header + 2..header + 4) == Some(&port.to_be_bytes()[..]) {
                seen.push(packet.to_vec());
            }
        }
        seen
    });
    listening.recv().unwrap();
    watching
}

fn sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    (sum & 0xffff) as u16 + (sum >> 16) as u16
}

/// A rule's codepoint is in its packets, whose checksums the kernel still accepts, and in no
/// others.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_codepoint_is_set_and_the_kernel_takes_the_packets() {
    let net = Net::new();
    let rules = "[[flow]]\nname = \"mine\"\nmatch = { outside_port = 7000 }\nset_dscp = 46\n";
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", rules));
    assert!(net.ping(1));
    for far in [OUTSIDE, OUTSIDE6] {
        let destination: IpAddr = far.parse().unwrap();
        for (port, expected) in [(7000_u16, 46), (7001, 0)] {
            let watching = watch(&net, port, 3);
            let receiver = net.receive(Place::Outside, (far, port), Duration::from_secs(3), |socket| {
                let mut bytes = [0; 64];
                (0..3).filter(|_| socket.recv(&mut bytes).is_ok_and(|length| length == 7)).count()
            });
            let sender = net.spawn(Place::Inside, move || {
                let any: IpAddr =
                    if destination.is_ipv6() { "::".parse() } else { "0.0.0.0".parse() }.unwrap();
                let socket = UdpSocket::bind((any, 0)).unwrap();
                for _ in 0..3 {
                    std::thread::sleep(Duration::from_millis(100));
                    socket.send_to(b"tidegat", (destination, port)).unwrap();
                }
            });
            sender.join().unwrap();
            let seen = watching.join().unwrap();
            assert_eq!((seen.len(), receiver.join().unwrap()), (3, 3), "{destination} {port}");
            for packet in seen {
                let field = u16::from_be_bytes([packet[0], packet[1]]) >> 4 & 0xff;
                let field = if destination.is_ipv6() { field } else { u16::from(packet[1]) };
                assert_eq!(field, expected << 2, "{destination} {port}");
                assert!(destination.is_ipv6() || sum(&packet[..20]) == 0xffff);
            }
        }
    }
    gate.stop();
}

/// TCP over super-packets and unfinished checksums, whose every frame is rewritten and delayed.
#[test]
#[ignore = "needs root and network namespaces"]
fn tcp_passes_whole_when_it_is_rewritten_and_delayed() {
    const LENGTH: usize = 4_000_000;
    let net = Net::new();
    let rules = "emulate = { up = { delay = \"5ms\", loss = 0.005 }, down = { delay = \"5ms\" } }\n\
                 [[flow]]\nname = \"all\"\nset_dscp = 10\n";
    let gate = Gate::start(&net, TempFile::gate("100mbit", "100mbit", rules));
    assert!(net.ping(3));
    let content = |byte: usize| (byte.wrapping_mul(2_654_435_761) >> 13) as u8;
    let (ready, listening) = std::sync::mpsc::channel();
    let reader = net.spawn(Place::Outside, move || {
        let listener = TcpListener::bind((OUTSIDE, 8000)).unwrap();
        ready.send(()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    listening.recv().unwrap();
    let writer = net.spawn(Place::Inside, move || {
        let mut stream = TcpStream::connect((OUTSIDE, 8000)).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(&(0..LENGTH).map(content).collect::<Vec<_>>()).unwrap();
    });
    writer.join().unwrap();
    let bytes = reader.join().unwrap();
    assert!(bytes.len() == LENGTH && (0..LENGTH).all(|byte| bytes[byte] == content(byte)));
    for place in [Place::Inside, Place::Outside] {
        assert_eq!(net.checksum_errors(place), 0);
    }
    let report = gate.stop();
    println!("{} of the frames were lost", report["directions"]["up"]["drops"]["emulated-loss"]);
}
