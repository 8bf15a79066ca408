//! AF_XDP, with every offload off.

use crate::TAGGED;
use crate::common::{BINARY, Gate, NONE_LEFT, Net, OUTSIDE, Place, TempFile};
use rustix::process::Signal;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

fn start(far: &[&str], rate: &str, rest: &str) -> (Net, Gate) {
    let net = Net::new();
    net.switch_off_offloads(far);
    let gate = Gate::start_with(&net, TempFile::gate(rate, rate, rest), &["--set", "gate.io=xdp"]);
    (net, gate)
}

#[test]
#[ignore = "needs root, network namespaces and ethtool"]
fn tcp_passes_whole() {
    let (net, gate) = start(&NONE_LEFT, "400mbit", "");
    crate::tcp_passes_whole(&net, gate);
}

#[test]
#[ignore = "needs root, network namespaces and ethtool"]
fn frames_pass_unchanged() {
    let (net, gate) = start(&NONE_LEFT, "100mbit", TAGGED);
    crate::frames_pass_unchanged(&net, gate);
}

/// The kernel removes the program with the process, and a bridge is behind it.
#[test]
#[ignore = "needs root, network namespaces and ethtool"]
fn after_a_kill_traffic_passes() {
    let (net, gate) = start(&NONE_LEFT, "100mbit", "");
    assert!(net.ping(2));
    gate.signal(Signal::KILL);
    assert!(!gate.wait().0.success());
    assert!((0..3).any(|_| net.ping(1)));
}

/// The other end leaves checksums to a card that does not exist, and nothing reports it: no
/// such frame passes.
#[test]
#[ignore = "needs root, network namespaces and ethtool"]
fn what_is_not_whole_is_lost() {
    let (net, gate) = start(&["tx", "on"], "100mbit", "");
    assert!(net.ping(2));
    let listener = net.spawn(Place::Outside, || TcpListener::bind((OUTSIDE, 80)).unwrap());
    let listener = listener.join().unwrap();
    let client = net.spawn(Place::Inside, || {
        let address = (OUTSIDE.parse::<std::net::IpAddr>().unwrap(), 80).into();
        TcpStream::connect_timeout(&address, Duration::from_secs(2))
    });
    assert!(client.join().unwrap().is_err());
    drop(listener);
    let report = gate.stop();
    assert!(report["directions"]["up"]["drops"]["offload"].as_u64().unwrap() > 0, "{report:#}");
    assert_eq!([net.checksum_errors(Place::Inside), net.checksum_errors(Place::Outside)], [0, 0]);
}

#[test]
#[ignore = "needs root, network namespaces and ethtool"]
fn offloads_are_refused_with_the_line_that_switches_them_off() {
    let net = Net::new();
    let file = TempFile::gate("1mbit", "1mbit", "");
    let args = ["up", file.path(), "--set", "gate.io=xdp"];
    assert!(net.output(Place::Gate, "ethtool", &["-K", "gi", "gro", "on"]).status.success());
    let output = net.output(Place::Gate, BINARY, &args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("help: ethtool -K gi gro off"), "{text}");
}
