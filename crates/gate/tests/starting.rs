//! A gate that cannot start, or cannot go on, exits with one clear message and a non-zero code.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{BINARY, Gate, Net, Place, SharedBinary, TempFile, ip};
use rustix::process::Signal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

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
    std::thread::sleep(Duration::from_millis(250));
    ip(&format!("-n {namespace} link del go"));
    let (status, printed, text) = gate.wait();
    assert!(!status.success() && printed.contains("\"received\""), "{printed}");
    // On a busy machine frames may be late, too.
    let others = text.lines().filter(|line| !line.ends_with(" late"));
    assert_eq!(others.collect::<Vec<_>>(), ["interface `go` is gone"]);
}

/// An interface is the same one under another name, however it got that: while it is up, or down. The
/// log says so, and only its removal ends the gate.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_renamed_interface_is_followed() {
    let net = Net::new();
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", ""));
    let namespace = net.name(Place::Gate);
    // Not every kernel renames an interface that is up.
    let live = net.output(Place::Gate, "ip", &["link", "set", "gi", "name", "live0"]).status.success();
    ip(&format!("-n {namespace} link set go down"));
    // Long enough for the gate to look for it.
    std::thread::sleep(Duration::from_millis(300));
    ip(&format!("-n {namespace} link set go name new0"));
    std::thread::sleep(Duration::from_millis(300));
    // Another interface under the old name is not the gate's.
    ip(&format!("-n {namespace} link add go type veth peer name other0"));
    ip(&format!("-n {namespace} link set new0 up"));
    assert!(net.ping(3));
    std::thread::sleep(Duration::from_millis(2500));
    ip(&format!("-n {namespace} link set new0 down"));
    ip(&format!("-n {namespace} link del new0"));
    let (status, _, log) = gate.wait();
    assert!(!status.success() && log.ends_with("interface `go` is gone\n"), "{log}");
    for (old, new, renamed) in [("gi", "live0", live), ("go", "new0", true)] {
        let told = format!("interface {old} is called {new} now: the gate goes on with it");
        assert_eq!(log.contains(&told), renamed, "{log}");
    }
}

/// The folder of sockets and locks is one for all network namespaces: a name is taken once, and the
/// same interfaces in two namespaces are two.
#[test]
#[ignore = "needs root and network namespaces"]
fn two_namespaces_share_names_and_no_interfaces() {
    let (one, other) = (Net::new(), Net::new());
    let file = TempFile::gate("10mbit", "10mbit", "");
    let again = TempFile::new(&std::fs::read_to_string(file.path()).unwrap());
    let first = Gate::start(&one, file);
    let refused = error_of(&other.output(Place::Gate, BINARY, &["up", again.path()]));
    assert!(refused.starts_with("a gate named `test-") && refused.contains("runs already"), "{refused}");
    assert!(refused.contains("give one of them another `name`"), "{refused}");
    assert_eq!(other.packet_sockets(), 0);
    let second = Gate::start(&other, TempFile::gate("10mbit", "10mbit", ""));
    assert!(one.ping(1) && other.ping(1));
    first.stop();
    second.stop();
}

/// The locks of a namespace's gate.
fn locks(net: &Net) -> Vec<PathBuf> {
    let namespace = std::fs::metadata(format!("/run/netns/{}", net.name(Place::Gate))).unwrap().ino();
    let all = std::fs::read_dir("/run/tidegate").unwrap().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| path.to_string_lossy().contains(&format!("/{namespace}-"));
    all.filter(own).collect()
}

/// The default socket of a file's gate.
fn socket(file: &TempFile) -> PathBuf {
    let text = std::fs::read_to_string(file.path()).unwrap();
    let name = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().replace('"', "");
    Path::new("/run/tidegate").join(format!("{name}.sock"))
}

/// A gate that ends removes its socket and its locks. Those of a gate that was killed go when another
/// one starts; those of gates that run, and what is something else, stay.
#[test]
#[ignore = "needs root and network namespaces"]
fn files_of_dead_gates_are_cleared_by_the_next_start() {
    let (dead, alive, next) = (Net::new(), Net::new(), Net::new());
    let files = [(); 3].map(|()| TempFile::gate("10mbit", "10mbit", ""));
    let sockets = files.each_ref().map(socket);
    let [first, second, third] = files;
    let killed = Gate::start(&dead, first);
    let running = Gate::start(&alive, second);
    assert!(sockets[0].exists() && locks(&dead).len() == 2);
    killed.signal(Signal::KILL);
    assert!(!killed.wait().0.success());
    let own = format!("/run/tidegate/test-{}", std::process::id());
    let others = ["sock", "lock", "toml"].map(|ending| PathBuf::from(format!("{own}.{ending}")));
    std::fs::create_dir(&others[1]).unwrap();
    [0, 2].into_iter().for_each(|at| std::fs::write(&others[at], "another's").unwrap());
    let started = Gate::start(&next, third);
    assert!(!sockets[0].exists() && locks(&dead).is_empty());
    assert!(sockets[1].exists() && locks(&alive).len() == 2);
    assert!(others.iter().all(|other| other.exists()));
    std::fs::remove_dir(&others[1]).unwrap();
    [0, 2].into_iter().for_each(|at| std::fs::remove_file(&others[at]).unwrap());
    // The bridge of the dead one still forwards, and its interfaces are free.
    assert!(dead.ping(1) && alive.ping(1) && next.ping(1));
    Gate::start(&dead, TempFile::gate("10mbit", "10mbit", "")).stop();
    running.stop();
    started.stop();
    assert!(sockets.iter().all(|socket| !socket.exists()));
    assert!([&dead, &alive, &next].iter().all(|net| locks(net).is_empty()));
}
