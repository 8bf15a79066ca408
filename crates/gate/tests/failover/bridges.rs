//! The bridge behind a gate: made, kept, adopted and removed.

use crate::common::{Gate, Net, Place, TempFile, ip};
use crate::{check_single, closed, error_of, flow, links, open, ping_once, run, wait_for_bridge};
use std::time::{Duration, Instant};

/// Start, stop, start again and stop under load, then `down`: every packet arrives at most once,
/// and the gate sees all that passes while it runs.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_bridge_is_made_kept_adopted_and_removed() {
    let net = Net::new();
    let file = open();
    let gate = Gate::start(&net, open());
    wait_for_bridge(&net);
    assert!(net.ping(2));
    gate.stop();
    assert!(ping_once(&net));

    let flow = flow(&net, true, 7000, Duration::from_millis(2500));
    std::thread::sleep(Duration::from_millis(300));
    let gate = Gate::start(&net, open());
    let busy = error_of(&run(&net, &["up", file.path()]));
    assert_eq!(busy, "another gate runs on interface `gi`\n  help: stop it first\n");
    std::thread::sleep(Duration::from_millis(500));
    let stopped = Instant::now();
    let report = gate.stop();
    let arrivals = flow.join().unwrap();
    check_single(&arrivals);
    let received = report["directions"]["up"]["received"].as_u64().unwrap();
    let after =
        arrivals.iter().filter(|(_, arrived)| *arrived > stopped + Duration::from_millis(100)).count();
    println!("{} arrived of 2501; the gate received {received}", arrivals.len());
    // A thousand packets a second went through the gate for half a second, and none after it had
    // stopped.
    assert!(received > 300 && received < 2400, "{report:#}");
    assert!(after > 100, "{after} arrived after it had stopped");
    // The bridge itself has sent nothing.
    let sent = net.output(Place::Gate, "cat", &["/sys/class/net/tg-gi/statistics/tx_packets"]);
    assert_eq!(sent.stdout, b"0\n");

    let down = run(&net, &["down", file.path()]);
    assert_eq!(
        (down.status.success(), String::from_utf8_lossy(&down.stdout).as_ref()),
        (true, "bridge tg-gi is removed: no frame passes between gi and go\n")
    );
    assert!(!links(&net).contains("tg-") && !ping_once(&net));
    let down = run(&net, &["down", file.path()]);
    assert_eq!(
        String::from_utf8_lossy(&down.stdout),
        "no gate runs, and none has made a bridge of gi and go here\n"
    );
}

/// `down` stops the gate first.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_running_gate_is_taken_down_with_its_bridge() {
    let net = Net::new();
    let file = open();
    let path = file.path().to_owned();
    let gate = Gate::start(&net, file);
    assert!(net.ping(1));
    let down = run(&net, &["down", &path]);
    assert_eq!(
        String::from_utf8_lossy(&down.stdout),
        "bridge tg-gi is removed: no frame passes between gi and go\n"
    );
    assert!(gate.wait().0.success() && !links(&net).contains("tg-"));

    let file = closed();
    let path = file.path().to_owned();
    let gate = Gate::start(&net, file);
    let down = run(&net, &["down", &path]);
    assert_eq!(
        String::from_utf8_lossy(&down.stdout),
        "the gate is stopped, and none has made a bridge of gi and go here\n"
    );
    assert!(gate.wait().0.success());
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_bridge_of_someone_elses_stays_as_it_is() {
    let net = Net::new();
    let (namespace, file) = (net.name(Place::Gate), open());
    ip(&format!("-n {namespace} link add name mine type bridge"));
    for name in ["gi", "go"] {
        ip(&format!("-n {namespace} link set {name} master mine"));
    }
    ip(&format!("-n {namespace} link set mine up"));
    // The bridge learns for the length of its forward delay.
    ip(&format!("-n {namespace} link set mine type bridge forward_delay 200"));
    let settings = || {
        let shown = net.output(Place::Gate, "ip", &["-d", "link", "show", "mine"]);
        let text = String::from_utf8(shown.stdout).unwrap();
        // Timers run.
        text.split_whitespace().filter(|word| !word.contains('.')).collect::<Vec<_>>().join(" ")
    };
    wait_for_bridge(&net);
    let before = settings();
    let gate = Gate::start(&net, open());
    assert!(net.ping(2));
    gate.stop();
    assert!(net.ping(1));
    let down = run(&net, &["down", file.path()]);
    assert_eq!(
        String::from_utf8_lossy(&down.stdout),
        "no gate runs, and none has made a bridge of gi and go here\n"
    );
    assert_eq!(settings(), before);
    assert!(net.ping(1));
}

#[test]
#[ignore = "needs root and network namespaces"]
fn interfaces_that_do_not_fit_are_refused() {
    let net = Net::new();
    let (namespace, open, closed) = (net.name(Place::Gate), open(), closed());
    let refused = |file: &TempFile| error_of(&run(&net, &["up", file.path(), "--for", "100ms"]));
    let do_ip = |args: &str| ip(&format!("-n {namespace} {args}"));

    do_ip("link add name tg-gi type bridge");
    assert!(refused(&open).starts_with("the gate needs the name `tg-gi` for its bridge"));
    do_ip("link del tg-gi");

    do_ip("link add name one type bridge");
    do_ip("link add name two type bridge");
    do_ip("link set go master one");
    let text = refused(&open);
    assert!(text.starts_with("interface `go` is a port of `one`, and `gi` is not\n"), "{text}");
    let text = refused(&closed);
    assert!(text.starts_with("interface `go` is a port of `one`, which would forward its frames too\n"));
    assert!(text.contains("ip link set go nomaster"), "{text}");
    do_ip("link set gi master two");
    assert!(refused(&open).starts_with("interface `gi` is a port of `two`, and `go` is not\n"));
    do_ip("link set gi master one");
    assert_eq!(
        refused(&open),
        "bridge `one` is down, so no frame would pass without the gate\n  help: ip link set one up\n"
    );
    do_ip("link set one up");
    do_ip("link add name third type veth peer name fourth");
    do_ip("link set third master one");
    assert!(
        refused(&open)
            .starts_with("bridge `one` has a port `third`, which is not an interface of this gate\n")
    );
    do_ip("link del third");
    do_ip("addr add 10.9.0.1/24 dev one");
    assert!(refused(&open).starts_with("bridge `one` has an address"));
    do_ip("link del one");

    // The bridge of a gate that failed open.
    let up = run(&net, &["up", open.path(), "--for", "100ms"]);
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    let text = refused(&closed);
    assert!(text.contains("`tg-gi`") && text.contains("`tidegate-gate down` with this file"), "{text}");
    // The file's interfaces are gone, but the bridge is not.
    do_ip("link del gi");
    do_ip("link del go");
    assert!(run(&net, &["down", open.path()]).status.success());
    assert!(!links(&net).contains("tg-gi"));
}

/// The bridge forwards the group addresses that bridges by default do not, as far as the kernel
/// permits.
#[test]
#[ignore = "needs root and network namespaces"]
fn group_addresses_pass_the_bridge() {
    const SEND: &str = "
import socket, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(('a0', 0))
for n in range(20):
    for last in (0, 2, 3, 14):
        out.send(bytes.fromhex('0180c20000%02x' % last + '020000000001' '88b5') + bytes(50))
    time.sleep(0.05)
";
    const RECEIVE: &str = "
import socket
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5))
end.bind(('b0', 0x88b5))
end.settimeout(3)
for _ in range(8):
    print(end.recv(2000)[:6].hex(':'))
";
    let net = Net::new();
    Gate::start(&net, open()).stop();
    wait_for_bridge(&net);
    let mut sender = net.command(Place::Inside, "python3", &["-c", SEND]).spawn().unwrap();
    let received = net.output(Place::Outside, "python3", &["-c", RECEIVE]);
    assert!(sender.wait().unwrap().success() && received.status.success(), "{received:?}");
    let text = String::from_utf8_lossy(&received.stdout);
    for last in ["00", "02", "03", "0e"] {
        assert!(text.contains(&format!("01:80:c2:00:00:{last}")), "{last}: {text}");
    }
}
