//! TAP devices.

use crate::common::{BINARY, Gate, Net, Place, SharedBinary, TempFile, ip};
use crate::{TAGGED, tcp_passes_whole};
use std::process::Command;

const TAP: [&str; 4] = ["--set", "gate.io=tap", "--set", "gate.fail=closed"];

/// Hosts whose interfaces are the gate's TAP devices, moved to them while it runs.
fn start(rate: &str, rest: &str) -> (Net, Gate) {
    let net = Net::bare();
    let gate = Gate::start_with(&net, TempFile::gate(rate, rate, rest), &TAP);
    let namespace = net.name(Place::Gate);
    for (own, place) in [("gi", Place::Inside), ("go", Place::Outside)] {
        let far = place.interface();
        ip(&format!("-n {namespace} link set {own} netns {} name {far}", net.name(place)));
        net.address(place);
    }
    (net, gate)
}

#[test]
#[ignore = "needs root, network namespaces and TAP devices"]
fn tcp_passes_whole_over_default_offloads() {
    let (net, gate) = start("400mbit", "");
    let report = tcp_passes_whole(&net, gate);
    assert!(report["directions"]["up"]["super_packets"].as_u64().unwrap() > 100, "{report:#}");
}

#[test]
#[ignore = "needs root, network namespaces and TAP devices"]
fn frames_pass_unchanged() {
    let (net, gate) = start("100mbit", TAGGED);
    crate::frames_pass_unchanged(&net, gate);
}

#[test]
#[ignore = "needs root, network namespaces and TAP devices"]
fn devices_of_others_are_named_and_removed_ones_end_it() {
    let net = Net::new();
    let file = TempFile::gate("1mbit", "1mbit", "");
    let refused = |set: &str| {
        let args = [&["up", file.path(), "--set", set][..], &TAP].concat();
        let output = net.output(Place::Gate, BINARY, &args);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let text = refused("gate.up=2mbit");
    assert!(text.starts_with("interface `gi`: this interface exists, and is not a TAP device"), "{text}");

    let more = [&TAP[..], &["--set", "gate.inside=g1", "--set", "gate.outside=g2"]].concat();
    let gate = Gate::start_with(&net, TempFile::gate("1mbit", "1mbit", ""), &more);
    let text = refused("gate.inside=g2");
    assert!(text.starts_with("interface `g2`: this TAP device is in use by another process"), "{text}");
    ip(&format!("-n {} link del g2", net.name(Place::Gate)));
    let (status, _, text) = gate.wait();
    assert!(!status.success());
    assert_eq!(text, "interface `g2` is gone\n");
}

#[test]
#[ignore = "needs root, user namespaces and TAP devices"]
fn a_user_namespace_is_enough() {
    let alone = |args: &[&str]| {
        let mut words = vec!["--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-Urn"];
        words.extend(args);
        Command::new("setpriv").args(words).output()
    };
    let file = TempFile::gate("1mbit", "1mbit", "");
    let socket = format!("control.socket={}.sock", file.path());
    let binary = SharedBinary::copy();
    let up = [binary.path(), "up", file.path(), "--for", "200ms", "--set", &socket];
    let gate = alone(&[&up[..], &TAP].concat()).unwrap();
    assert!(gate.status.success(), "{}", String::from_utf8_lossy(&gate.stderr));
}
