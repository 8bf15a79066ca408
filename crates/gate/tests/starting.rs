//! A gate that cannot start, or cannot go on, exits with one clear message and a non-zero code.

mod common;

use common::{BINARY, Gate, Net, Place, SharedBinary, TempFile, ip};
use std::process::{Command, Output};

fn error_of(output: &Output) -> String {
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_file_with_mistakes_starts_nothing() {
    let run =
        |file: &TempFile, command: &str| Command::new(BINARY).args([command, file.path()]).output().unwrap();
    let file = TempFile::gate("0mbit", "1mbit", "");
    for command in ["up", "check"] {
        let text = error_of(&run(&file, command));
        assert!(
            text.contains("`0mbit` is not a rate: a rate is at least 1bit") && text.contains(":3:"),
            "{text}"
        );
    }
    let checked = run(&TempFile::gate("2mbit", "1mbit", ""), "check");
    let text = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.status.success() && text.contains("gi -> go at 2mbit, go -> gi at 1mbit"), "{text}");
    let missing = Command::new(BINARY).args(["check", "/nowhere.toml"]).output().unwrap();
    assert!(error_of(&missing).starts_with("/nowhere.toml: cannot be read"));
    let set = Command::new(BINARY).args(["check", file.path(), "--set", "gate.up=1mbit"]).output().unwrap();
    assert!(set.status.success());
    let wrong = Command::new(BINARY).args(["up", file.path(), "--for", "5"]).output().unwrap();
    assert!(wrong.status.code() == Some(2) && error_of(&wrong).contains("a time needs a unit"));
    let long = Command::new(BINARY).args(["up", file.path(), "--coalesce", "11ms"]).output().unwrap();
    assert!(long.status.code() == Some(2) && error_of(&long).contains("at most 10ms"));
}

#[test]
#[ignore = "needs root and network namespaces"]
fn interfaces_that_cannot_be_used_are_named() {
    let net = Net::new();
    let file = TempFile::gate("1mbit", "1mbit", "");
    let run = |set: &str| error_of(&net.output(Place::Gate, BINARY, &["up", file.path(), "--set", set]));
    let text = run("gate.outside=nope0");
    assert!(text.starts_with("there is no interface `nope0` here\n"), "{text}");
    ip(&format!("-n {} link set lo up", net.name(Place::Gate)));
    let text = run("gate.outside=lo");
    assert!(text.starts_with("interface `lo` does not carry Ethernet frames"), "{text}");
    ip(&format!("-n {} link set go down", net.name(Place::Gate)));
    let text = run("gate.up=2mbit");
    assert_eq!(text, "interface `go` is down\n  help: ip link set go up\n");
}

#[test]
#[ignore = "needs root and network namespaces"]
fn without_privilege_it_says_which() {
    let net = Net::new();
    let file = TempFile::gate("1mbit", "1mbit", "");
    let binary = SharedBinary::copy();
    let args = ["--reuid=65534", "--clear-groups", binary.path(), "up", file.path()];
    let text = error_of(&net.output(Place::Gate, "setpriv", &args));
    assert!(text.starts_with("not permitted to open a packet socket on `gi`\n"), "{text}");
    assert!(text.contains("CAP_NET_RAW"), "{text}");
}

#[test]
#[ignore = "needs root and network namespaces"]
fn an_interface_that_goes_ends_it_and_one_that_is_down_does_not() {
    let net = Net::new();
    let gate = Gate::start(&net, TempFile::gate("1mbit", "1mbit", ""));
    let namespace = net.name(Place::Gate);
    ip(&format!("-n {namespace} link set go down"));
    ip(&format!("-n {namespace} link set go up"));
    assert!(net.ping(2));
    // First down for a while, so that the kernel does not report its removal.
    ip(&format!("-n {namespace} link set go down"));
    std::thread::sleep(std::time::Duration::from_millis(250));
    ip(&format!("-n {namespace} link del go"));
    let (status, printed, text) = gate.wait();
    assert!(!status.success() && printed.contains("\"received\""), "{printed}");
    assert_eq!(text, "interface `go` is gone\n");
}
