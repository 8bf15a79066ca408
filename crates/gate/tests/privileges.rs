//! Privileges of a running gate, and the few that are needed to run one.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{BINARY, Net, Place, TempFile};
use std::time::{Duration, Instant};

/// The privileges that a running gate still has.
#[test]
#[ignore = "needs root and network namespaces"]
fn privileges_are_given_up() {
    let net = Net::new();
    for (arg, allowed) in [("--no-real-time", 0), ("--json", 1 << 23)] {
        let file = TempFile::gate("50mbit", "50mbit", "");
        let mut gate = net.command(Place::Gate, BINARY, &["up", file.path(), "--for", "20s", arg]);
        let mut gate = gate.stdout(std::process::Stdio::null()).spawn().unwrap();
        let threads = || -> Vec<String> {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", gate.id())).unwrap();
            // While the gate starts, short threads end between the listing and the reading.
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok()).collect()
        };
        // One thread answers requests; with a second processor, another one may send, and two with a
        // third. They are the last to start.
        let expected = 1 + std::thread::available_parallelism().unwrap().get().min(3);
        let start = Instant::now();
        while threads().len() < expected && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The gate forwards without its privileges.
        let (pings, threads) = (net.ping(3), threads());
        gate.kill().unwrap();
        gate.wait().unwrap();
        assert!(pings && threads.len() == expected, "{arg}: {threads:?}");
        for status in threads {
            let field = |name: &str| {
                let line = status.lines().find(|line| line.starts_with(name)).unwrap();
                u64::from_str_radix(line.split('\t').nth(1).unwrap(), 16).unwrap()
            };
            assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), (1, 2));
            for set in ["CapPrm:", "CapEff:"] {
                assert_eq!(field(set) & !allowed, 0, "{arg}: {status}");
            }
            assert_eq!(["CapInh:", "CapBnd:", "CapAmb:"].map(field), [0; 3], "{arg}: {status}");
        }
    }
}

/// In a user namespace the kernel lets no process load a duplicate filter; without one, a gate
/// works.
#[test]
#[ignore = "needs user namespaces"]
fn in_a_user_namespace_it_can_only_fail_closed() {
    const SCRIPT: &str = "
ip link add gi type veth peer name a0 && ip link add go type veth peer name b0 || exit 99
for name in gi go b0; do ip link set $name up; done
$0 up $1 --for 100ms && exit 98
ip -br link | grep tg- && exit 97
$0 up $1 --set gate.fail=closed --json --for 2s &
sleep 0.5
# Its first words, for IPv6, go through the gate.
ip link set a0 up
wait $!
";
    let file = TempFile::gate("50mbit", "50mbit", "");
    let args = ["-Urn", "sh", "-c", SCRIPT, BINARY, file.path()];
    let output = std::process::Command::new("unshare").args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert!(
        text.starts_with("not permitted to guard against duplicates, as `fail = \"open\"` does\n"),
        "{text}"
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["directions"]["up"]["sent"].as_u64().unwrap() > 0, "{report:#}");
}
