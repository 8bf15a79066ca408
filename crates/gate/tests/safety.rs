//! Protection of a host on which a gate runs as root from an operator's mistakes and from other
//! users.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{BINARY, Gate, Net, Place, SharedBinary, TempFile, ip};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn error_of(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A path of this test's own, where nothing is.
fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()))
}

fn with_socket(path: &Path) -> TempFile {
    TempFile::gate("1mbit", "1mbit", &format!("control = {{ socket = \"{}\" }}\n", path.display()))
}

/// A control socket path that names another kind of file is refused, and the file stays.
#[test]
fn nothing_but_a_socket_is_removed() {
    let (file, link, fifo) = (place("file"), place("link"), place("fifo"));
    std::fs::write(&file, "kept").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [&file, &link, &fifo] {
        let gate = with_socket(path);
        let refused = error_of(&Command::new(BINARY).args(["up", gate.path()]).output().unwrap());
        assert!(
            refused.starts_with(&format!("{} is there, and is no socket\n", path.display())),
            "{refused}"
        );
    }
    assert_eq!(std::fs::read_to_string(&link).unwrap(), "kept");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    for path in [&file, &link, &fifo] {
        std::fs::remove_file(path).unwrap();
    }
}

/// A socket that another process has put in the place of a gate's socket outlives the gate.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_gate_that_ends_removes_no_socket_but_its_own() {
    let (net, socket) = (Net::new(), place("own"));
    let gate = Gate::start(&net, with_socket(&socket));
    std::fs::remove_file(&socket).unwrap();
    std::fs::write(&socket, "another's").unwrap();
    gate.stop();
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "another's");
    std::fs::remove_file(&socket).unwrap();
}

/// A user who is logged in through an interface is not cut off, unless the file names the
/// interface.
#[test]
#[ignore = "needs root and network namespaces"]
fn an_interface_with_an_address_is_refused() {
    let net = Net::new();
    let file = TempFile::gate("1mbit", "1mbit", "");
    ip(&format!("-n {} addr add 192.0.2.7/24 dev go", net.name(Place::Gate)));
    let refused = error_of(&net.output(Place::Gate, BINARY, &["up", file.path()]));
    assert!(refused.starts_with("interface `go` has an IP address"), "{refused}");
    // Nothing was created for the interface.
    assert_eq!(net.packet_sockets(), 0);
    let links = net.output(Place::Gate, "ip", &["-brief", "link"]);
    assert!(!String::from_utf8_lossy(&links.stdout).contains("tg-gi"), "{links:?}");
    let other = net.output(Place::Gate, BINARY, &["up", file.path(), "--set", "gate.addressed=gi"]);
    assert!(error_of(&other).starts_with("interface `go` has an IP address"), "{other:?}");
    Gate::start_with(&net, file, &["--set", "gate.addressed=go"]).stop();
}

/// No other user can keep a gate from its interfaces by taking a name.
#[test]
#[ignore = "needs root and network namespaces"]
fn no_other_user_blocks_a_start() {
    let net = Net::new();
    // Any user can take abstract names; the locks used to have these.
    let taken = net.spawn(Place::Gate, || {
        let name = |index| SocketAddr::from_abstract_name(format!("tidegate-gate/{index}")).unwrap();
        (0..64).map(|index| UnixDatagram::bind_addr(&name(index)).unwrap()).collect::<Vec<_>>()
    });
    let taken = taken.join().unwrap();
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", ""));
    assert!(net.ping(2));
    // Nor can another user make or open a lock, without write access to the folder.
    let binary = SharedBinary::copy();
    let entries = std::fs::read_dir("/run/tidegate").unwrap().map(|entry| entry.unwrap().path());
    let locks: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "lock")).collect();
    assert!(locks.len() >= 2);
    for lock in locks {
        let opened = Command::new("setpriv")
            .args(["--reuid=65534", "--clear-groups", "flock", "--nonblock"])
            .arg(&lock)
            .arg(binary.path())
            .output()
            .unwrap();
        assert!(!opened.status.success(), "{}", lock.display());
    }
    gate.stop();
    drop(taken);
}

/// While a gate's file has errors of any kind, the gate can be asked and stopped, and its bridge
/// removed.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_gate_whose_file_was_edited_badly_is_still_in_reach() {
    let (net, socket) = (Net::new(), place("edited"));
    let mistakes: [fn(&str) -> String; 4] = [
        |text| text.replace("1mbit", "1mbitt"),
        |text| format!("{text}\n[[flow\n"),
        |text| format!("{text}\nflow = [{{ name = \"a\n"),
        |text| text.replace("gi", "gx"),
    ];
    for mistake in mistakes {
        let file = with_socket(&socket);
        let path = file.path().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let gate = Gate::start(&net, file);
        std::fs::write(&path, mistake(&text)).unwrap();
        let run = |args: &[&str]| net.output(Place::Gate, BINARY, args);
        for args in [&["status", &path, "--json"][..], &["top", &path, "--times", "1"]] {
            assert!(run(args).status.success(), "{args:?}: {}", mistake(&text));
        }
        let down = run(&["down", &path]);
        assert!(down.status.success(), "{}: {down:?}", mistake(&text));
        assert!(gate.wait().0.success());
        let links = net.output(Place::Gate, "ip", &["-brief", "link"]);
        assert!(!String::from_utf8_lossy(&links.stdout).contains("tg-gi"), "{}", mistake(&text));
    }
}

/// A gate without a file is asked, stopped and taken down by the name of its interface inside.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_gate_without_a_file_goes_by_its_interface() {
    let net = Net::new();
    let args = ["up", "--inside", "gi", "--outside", "go", "--rate", "10mbit", "--for", "30s"];
    let mut gate =
        net.command(Place::Gate, BINARY, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = || net.output(Place::Gate, BINARY, &["status", "gi"]);
    let started = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        status().status.success()
    });
    assert!(started && net.ping(2));
    let told = String::from_utf8(status().stdout).unwrap();
    assert!(told.contains("gi -> go at 10mbit") && told.contains("hosts "), "{told}");
    let down = net.output(Place::Gate, BINARY, &["down", "gi"]);
    assert_eq!(
        String::from_utf8_lossy(&down.stdout),
        "bridge tg-gi is removed: no frame passes between gi and go\n"
    );
    assert!(gate.wait().unwrap().success());
    let wrong = Command::new(BINARY).args(["up", "--inside", "gi", "--rate", "1mbit"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

/// The kernel does not report that an MTU was raised, and the frames that come then are too long.
#[test]
#[ignore = "needs root and network namespaces"]
fn an_mtu_that_is_raised_is_noticed() {
    let net = Net::new();
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", ""));
    ip(&format!("-n {} link set gi mtu 4000", net.name(Place::Gate)));
    std::thread::sleep(Duration::from_millis(3_200));
    gate.signal(rustix::process::Signal::TERM);
    let (status, _, log) = gate.wait();
    assert!(status.success(), "{log}");
    let warning = "warning: up: the MTU of gi is 4000 now, and frames beyond 1500 are dropped: restart the \
                   gate, or set it back";
    assert_eq!(log.matches(warning).count(), 1, "{log}");
    assert!(!log.contains("MTU of go"), "{log}");
}

/// The unit keeps trying while an interface is down, and confines the gate.
#[test]
fn the_unit_is_tight_and_keeps_trying() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates/tidegate-gate@.service");
    let unit = std::fs::read_to_string(&path).unwrap();
    for line in [
        "StartLimitIntervalSec=0",
        "Restart=on-failure",
        "SystemCallFilter=@system-service bpf",
        "NoNewPrivileges=yes",
    ] {
        assert!(unit.lines().any(|stated| stated == line), "{line}");
    }
    let Ok(judged) = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=30"])
        .arg(&path)
        .output()
    else {
        eprintln!("not judged: there is no systemd-analyze here");
        return;
    };
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
}
