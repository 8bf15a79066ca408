//! Requests, reports and misuse.

use crate::common::{BINARY, Gate, Net, Place, TempFile};
use crate::{FLOWS, file, gate, numbers, refused, send, text};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[test]
#[ignore = "needs root and network namespaces"]
fn a_running_gate_answers() {
    let net = Net::new();
    let (file, socket) = file(["10mbit", "10mbit"], FLOWS);
    let path = file.path().to_owned();
    let missing = refused(&gate(&["status", &path]));
    assert!(missing.contains("no gate runs: no process listens at"), "{missing}");

    let running = Gate::start(&net, file);
    assert!(net.ping(3));
    let status: Value = serde_json::from_str(&text(&gate(&["status", &path, "--json"]))).unwrap();
    let rest = &status["directions"]["up"]["flows"][2];
    assert_eq!(rest["name"], "(no match)");
    assert!(rest["sent_packets"].as_u64().unwrap() >= 3, "{status:#}");
    assert_eq!(status["directions"]["up"]["flows"][0]["reserve"], 80_000);
    let top = text(&gate(&["top", &path, "--times", "2"]));
    assert_eq!(top.matches("up gi -> go at 10mbit").count(), 2, "{top}");

    // The file has the same name: its gate cannot run twice.
    let again = net.output(Place::Gate, BINARY, &["up", &path]);
    assert!(refused(&again).contains("runs already"), "{again:?}");

    text(&gate(&["down", &path]));
    let (status, printed, said) = running.wait();
    assert!(status.success() && printed.contains("\"received\""), "{said}");
    assert!(!socket.exists());
}

/// A log that nobody reads does not block the control socket: lines that do not fit into its pipe
/// are lost and counted.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_log_that_nobody_reads_stops_nothing() {
    let net = Net::new();
    let (file, _) = file(["2mbit", "2mbit"], FLOWS);
    let path = file.path().to_owned();
    let first = std::fs::read_to_string(&path).unwrap();
    let running = Gate::start(&net, file);
    // Some 700 bytes a reload, and a pipe holds 64 KB.
    let name = "n".repeat(60);
    for ix in 0..300 {
        let flow = format!("[[flow]]\nname = \"{name}-{ix}\"\nmatch = {{ port = {} }}\n", ix + 11);
        std::fs::write(&path, format!("{first}{flow}")).unwrap();
        text(&gate(&["reload", &path]));
    }
    running.signal(Signal::TERM);
    let (status, _, said) = running.wait();
    let lines = said.matches(": reloaded: ").count();
    assert!(status.success() && (40..300).contains(&lines), "{lines} lines, {} bytes", said.len());
}

/// The log, `top` and a metric report a flow that sends more than its reservation.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_starved_flow_is_reported() {
    let net = Net::new();
    let flows = FLOWS.replace("100kbit", "900kbit");
    let metrics = format!("metrics = {{ listen = \"127.0.0.1:9\" }}\n{flows}");
    let (file, _) = file(["1mbit", "1mbit"], &metrics);
    let path = file.path().to_owned();
    net.output(Place::Gate, "ip", &["link", "set", "lo", "up"]);
    let running = Gate::start(&net, file);
    assert!(net.ping(1));
    // Voice sends 100 frames of 142 bytes a second, 114 kbit/s; bulk fills the link twice over.
    let voice = send(&net, 9, 100, 500, Duration::from_millis(10));
    let bulk = send(&net, 10, 1000, 1200, Duration::from_millis(4));
    std::thread::sleep(Duration::from_secs(4));
    let top = text(&gate(&["top", &path, "--times", "1"]));
    let scrape = net.spawn(Place::Gate, || {
        let mut stream = std::net::TcpStream::connect("127.0.0.1:9").unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    let scrape = scrape.join().unwrap();
    voice.join().unwrap();
    bulk.join().unwrap();
    running.signal(Signal::TERM);
    let (_, _, said) = running.wait();
    assert!(said.contains("warning: up: voice sends ") && said.contains("reserved 80kbit"), "{said}");
    assert!(top.contains("reserved 80kbit: it is starved"), "{top}");
    let line = |start: &str| {
        let found = scrape.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("{start} in {scrape}")).to_owned()
    };
    assert!(scrape.starts_with("HTTP/1.1 200 OK") && scrape.ends_with("# EOF\n"), "{scrape}");
    assert!(line("tidegate_flow_starved{direction=\"up\",flow=\"voice\"}").ends_with(" 1.0"));
    let value = |start: &str| line(start).rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    let lead = value("tidegate_flow_lead_seconds{direction=\"up\",flow=\"voice\"}");
    assert!(lead > 0.1, "{lead}");
    let count = value("tidegate_flow_delay_seconds_count{direction=\"up\",flow=\"bulk\"}");
    let last = value("tidegate_flow_delay_seconds_bucket{le=\"+Inf\",direction=\"up\",flow=\"bulk\"}");
    assert!(count > 100.0 && last == count, "{count} {last}");
    let arrived = value("tidegate_flow_arrived_packets_total{direction=\"up\",flow=\"voice\"}");
    assert!((100.0..=500.0).contains(&arrived), "{arrived}");
}

/// Clients that hang, send garbage, flood or disconnect delay neither the answers to others nor
/// frames.
#[test]
#[ignore = "needs root and network namespaces"]
fn hostile_clients_are_survived() {
    let net = Net::new();
    let (file, socket) = file(["10mbit", "10mbit"], FLOWS);
    let path = file.path().to_owned();
    let running = Gate::start(&net, file);
    let connect = || UnixStream::connect(&socket).unwrap();
    let hanging: Vec<UnixStream> = (0..100).map(|_| connect()).collect();
    let mut half = connect();
    half.write_all(b"{\"ask\": \"sta").unwrap();
    let mut endless = connect();
    endless.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    let flood = endless.write_all(&vec![b'x'; 4 << 20]);
    assert!(flood.is_err(), "a request without end was taken");
    let mut deaf = connect();
    deaf.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let _ = deaf.write_all("{\"ask\": \"status\"}\n".repeat(100_000).as_bytes());
    let mut liar = BufReader::new(connect());
    for (said, answer) in [
        ("nonsense", "this is not JSON"),
        ("{\"ask\": 7}", "`ask` is one of"),
        ("[]", "`ask` is one of"),
        ("{\"ask\": \"explode\"}", "`ask` is one of"),
    ] {
        writeln!(liar.get_mut(), "{said}").unwrap();
        let mut line = String::new();
        liar.read_line(&mut line).unwrap();
        assert!(line.contains(answer), "{said}: {line}");
    }
    liar.get_mut().write_all(&[0xff, 0xfe, b'\n']).unwrap();
    let mut line = String::new();
    liar.read_line(&mut line).unwrap();
    assert!(line.contains("this is not JSON"), "{line}");
    assert!(net.ping(3));
    text(&gate(&["status", &path]));
    drop(hanging);
    running.stop();
}

#[test]
#[ignore = "needs root and network namespaces"]
fn what_cannot_be_opened_is_named() {
    let net = Net::new();
    let run = |rest: &str| {
        refused(&net.output(Place::Gate, BINARY, &["up", TempFile::gate("1mbit", "1mbit", rest).path()]))
    };
    net.output(Place::Gate, "ip", &["link", "set", "lo", "up"]);
    let held =
        net.spawn(Place::Gate, || std::net::TcpListener::bind("127.0.0.1:7000").unwrap()).join().unwrap();
    let taken = run("metrics = { listen = \"127.0.0.1:7000\" }");
    assert!(taken.contains("metrics at 127.0.0.1:7000") && taken.contains("in use"), "{taken}");
    drop(held);
    let nowhere = run("control = { socket = \"/nowhere/gate.sock\" }");
    assert!(nowhere.contains("the control socket /nowhere/gate.sock"), "{nowhere}");
    let nobody = run("control = { owner = \"nobody-here\" }");
    assert!(nobody.contains("control.owner: there is no user `nobody-here`"), "{nobody}");
}

/// Frames pass a kernel bridge; the gate observes them, counts the drops that it would have made,
/// and writes a file with the suggested reservations.
#[test]
#[ignore = "needs root and network namespaces"]
fn observing_touches_nothing_and_suggests() {
    let net = Net::new();
    let bridge = net.name(Place::Gate);
    for args in
        ["link add name kb type bridge", "link set gi master kb", "link set go master kb", "link set kb up"]
    {
        crate::common::ip(&format!("-n {bridge} {args}"));
    }
    assert!(net.ping(1));
    // The reservations and the link's rate are below the rate that is sent.
    let (file, _) = file(["100kbit", "10mbit"], "[[flow]]\nname = \"voice\"\nmatch = { outside_port = 9 }\n");
    let path = file.path().to_owned();
    let mut command = net.command(Place::Gate, BINARY, &["observe", &path, "--for", "4s"]);
    let mut observing =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(observing.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("observing gi and go"), "{line}");
    let came = [9, 10].map(|port| numbers(&net, port));
    // 142 and 1042 bytes, 100 and 50 times a second: 114 and 417 kbit/s, for three seconds.
    let senders = [(9, 100, 300, 10), (10, 1000, 150, 20)]
        .map(|(port, size, count, gap)| send(&net, port, size, count, Duration::from_millis(gap)));
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    for (came, count) in came.into_iter().zip([300, 150]) {
        assert!(came.join().unwrap().into_iter().eq(0..count), "the bridge or the gate lost a packet");
    }
    let (mut suggested, mut table) = (String::new(), String::new());
    observing.stdout.take().unwrap().read_to_string(&mut suggested).unwrap();
    said.read_to_string(&mut table).unwrap();
    assert!(observing.wait().unwrap().success(), "{table}");
    assert!(table.contains("up at 100kbit:") && table.contains("would have been dropped"), "{table}");
    // A second holds 114 kbit/s, or a little more when the machine was late; five per cent are
    // added.
    assert!(suggested.contains("# flow.voice.reserve = \"1") && suggested.contains("0kbit\""), "{suggested}");
    assert!(suggested.contains("# match = { inside = \"10.7.0.1\", protocol = \"udp\""), "{suggested}");
    let written = TempFile::new(&suggested);
    text(&gate(&["check", written.path()]));
}

/// A flow that sends more than its ceiling waits for it, by the answer of the running gate.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_running_gate_explains_why_packets_wait() {
    let net = Net::new();
    let rules = "[[flow]]\nname = \"bulk\"\nmatch = { outside_port = 10 }\nceiling = \"1mbit\"\n";
    let (file, _) = file(["10mbit", "10mbit"], rules);
    let path = file.path().to_owned();
    let running = Gate::start(&net, file);
    let explain = |more: &[&str]| gate(&[&["explain", &path], more].concat());
    assert_eq!(text(&explain(&["bulk"])), "no packet of bulk has passed in the last minute\n");
    let unknown = refused(&explain(&["bluk"]));
    assert!(unknown.contains("is called `bluk`") && unknown.contains("did you mean `bulk`?"), "{unknown}");

    send(&net, 10, 1000, 500, Duration::from_millis(4)).join().unwrap();
    let told = text(&explain(&["bulk"]));
    assert!(told.starts_with("up bulk: ") && told.lines().count() <= 5, "{told}");
    assert!(told.contains("=>  it uses all of its own ceiling of 1mbit: mostly 10.7.0.1:10>"), "{told}");
    // The host that sent is found by its address, among those that waited most as well.
    for more in [&["10.7.0.1"][..], &[]] {
        assert!(text(&explain(more)).contains("up bulk: "));
    }
    let json: Value = serde_json::from_str(&text(&explain(&["bulk", "--json"]))).unwrap();
    assert_eq!(json[0]["causes"][0]["cause"], "own-ceiling", "{json:#}");
    assert!(json[0]["wait_mean"].as_f64().unwrap() > 0.01, "{json:#}");
    running.stop();
}
