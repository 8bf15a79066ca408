//! Operation of a running gate: requests, reloads, monitoring and misuse.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{BINARY, Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A gate file whose control socket is beside it.
fn file(rates: [&str; 2], rest: &str) -> (TempFile, PathBuf) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tidegate-{}-{}.sock", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let socket = std::env::temp_dir().join(name);
    let control = format!("control = {{ socket = \"{}\" }}\n{rest}", socket.display());
    (TempFile::gate(rates[0], rates[1], &control), socket)
}

fn gate(args: &[&str]) -> Output {
    Command::new(BINARY).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).unwrap()
}

const FLOWS: &str = "port = { scheduler = \"virtual-clock\" }\n\
                     [[flow]]\nname = \"voice\"\nmatch = { outside_port = 9 }\nreserve = \"80kbit\"\n\
                     [[flow]]\nname = \"bulk\"\nmatch = { outside_port = 10 }\nreserve = \"100kbit\"\n";

/// Numbered packets to a port outside: `count` of them, `gap` apart.
fn send(net: &Net, port: u16, payload: usize, count: u32, gap: Duration) -> std::thread::JoinHandle<()> {
    net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((INSIDE, port)).unwrap();
        let mut bytes = vec![0; payload];
        for number in 0..count {
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            let _ = socket.send_to(&bytes, (OUTSIDE, port));
            std::thread::sleep(gap);
        }
    })
}

/// The numbers that arrived at a port outside, until none arrived for two seconds.
fn numbers(net: &Net, port: u16) -> std::thread::JoinHandle<Vec<u32>> {
    net.receive(Place::Outside, (OUTSIDE, port), Duration::from_secs(2), |socket| {
        let (mut bytes, mut numbers) = ([0; 2048], Vec::new());
        while let Ok(length) = socket.recv(&mut bytes) {
            assert!(length >= 4);
            numbers.push(u32::from_be_bytes(bytes[..4].try_into().unwrap()));
        }
        numbers
    })
}

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

#[test]
#[ignore = "needs root and network namespaces"]
fn a_reload_is_all_or_nothing() {
    let net = Net::new();
    let (file, _) = file(["10mbit", "10mbit"], FLOWS);
    let path = file.path().to_owned();
    let running = Gate::start(&net, file);
    let before = std::fs::read_to_string(&path).unwrap();
    let reload = |text: &str| {
        std::fs::write(&path, text).unwrap();
        gate(&["reload", &path])
    };
    assert_eq!(text(&reload(&before)), "nothing has changed\n");
    let told =
        text(&reload(&before.replace("up = \"10mbit\"", "up = \"20mbit\"").replace("80kbit", "128kbit")));
    assert_eq!(told, "flow.voice.reserve: 80kbit -> 128kbit\ngate.up: 10mbit -> 20mbit\n");
    let status: Value = serde_json::from_str(&text(&gate(&["status", &path, "--json"]))).unwrap();
    assert_eq!(status["directions"]["up"]["rate"], 20e6);
    assert_eq!(status["directions"]["up"]["flows"][0]["reserve"], 128_000);

    let fixed = refused(&reload(&before.replace("inside = \"gi\"", "inside = \"gx\"")));
    assert!(fixed.contains("gate.inside: gi -> gx") && fixed.contains("a restart"), "{fixed}");
    std::fs::write(&path, before.replace("reserve = \"80kbit\"", "reserve = \"80kbits\"")).unwrap();
    let mistaken = refused(&gate(&["reload", &path]));
    assert!(mistaken.contains("80kbits"), "{mistaken}");
    // A signal does the same, and the gate's log reports it.
    running.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    std::fs::write(&path, &before).unwrap();
    running.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::TERM);
    let (status, _, said) = running.wait();
    assert!(status.success() && said.contains("not reloaded, nothing has changed"), "{said}");
    // Reloads both by the socket and by the signal.
    for change in ["gate.up: 10mbit -> 20mbit", "gate.up: 20mbit -> 10mbit"] {
        assert!(said.lines().any(|line| line.contains(": reloaded: ") && line.contains(change)), "{said}");
    }
    assert!(said.contains(": reloaded, nothing has changed\n"), "{said}");
}

/// Reloads under load, between files that have nothing in common but the interfaces: every packet
/// arrives, in order.
#[test]
#[ignore = "needs root and network namespaces"]
fn reloads_lose_and_reorder_nothing() {
    let reloads = if std::env::var_os("TIDEGATE_VERIFY").is_some() { 1000 } else { 60 };
    let net = Net::new();
    let other = "port = { scheduler = \"strict-priority\" }\nswitch = { buffer = \"4000p\" }\n\
                 class = [{ name = \"c\", scheduler = \"fifo\", ceiling = \"5mbit\" }]\n\
                 [[flow]]\nname = \"each\"\nmatch = { protocol = \"udp\" }\neach = \"5-tuple\"\nclass = \"c\"\n";
    let (file, _) = file(["2mbit", "2mbit"], &format!("switch = {{ buffer = \"4000p\" }}\n{FLOWS}"));
    let path = file.path().to_owned();
    let first = std::fs::read_to_string(&path).unwrap();
    let head: String = first.lines().take(4).map(|line| format!("{line}\n")).collect();
    let second = format!("{head}{other}").replace("up = \"2mbit\"", "up = \"3mbit\"");
    let running = Gate::start(&net, file);
    assert!(net.ping(1));
    // Ten milliseconds a reload; at 2 to 3 Mbit/s some packets always wait.
    let count = reloads * 4;
    let came = [9, 10].map(|port| numbers(&net, port));
    let senders = [9, 10].map(|port| send(&net, port, 300, count, Duration::from_micros(2500)));
    for ix in 0..reloads {
        std::fs::write(&path, if ix % 2 == 0 { &second } else { &first }).unwrap();
        let told = text(&gate(&["reload", &path]));
        assert!(told.contains("gate.up"), "{told}");
    }
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    for came in came {
        let came = came.join().unwrap();
        assert!(came.iter().copied().eq(0..count), "{} of {count}", came.len());
    }
    let report = running.stop();
    assert_eq!(report["directions"]["up"]["dropped"], 0, "{report:#}");
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

/// A file with errors at a start, and the last good file that was kept with its list.
#[test]
#[ignore = "needs root and network namespaces"]
fn the_last_good_file_is_kept() {
    let net = Net::new();
    let folder = std::env::temp_dir().join(format!("tidegate-keep-{}", std::process::id()));
    let (kept, etc) = (folder.join("kept"), folder.join("etc"));
    std::fs::create_dir_all(&etc).unwrap();
    let (file, _) = file(["10mbit", "10mbit"], "[[flow]]\nname = \"all\"\ncircuits = \"list.csv\"\n");
    let good = std::fs::read_to_string(file.path()).unwrap();
    let path = etc.join("gate.toml");
    std::fs::write(&path, &good).unwrap();
    std::fs::write(etc.join("list.csv"), "name,addresses\nann,10.7.0.1\n").unwrap();
    let path = path.to_str().unwrap();
    let up = |keep: &std::path::Path| {
        net.output(Place::Gate, BINARY, &["up", path, "--for", "200ms", "--keep", keep.to_str().unwrap()])
    };
    assert!(!up(&kept).stdout.is_empty());
    assert_eq!(std::fs::read_to_string(kept.join("gate.toml")).unwrap(), good);
    std::fs::write(path, good.replace("10mbit", "10mbits")).unwrap();
    std::fs::remove_file(etc.join("list.csv")).unwrap();
    let started = up(&kept);
    let said = String::from_utf8_lossy(&started.stderr).into_owned();
    assert!(started.status.success(), "{said}");
    assert!(said.contains("10mbits") && said.contains("starting with the last good file"), "{said}");
    assert!(refused(&up(&folder.join("nowhere"))).contains("10mbits"));
    // Where nothing can be kept, the link is still served.
    std::fs::write(path, good.replace("circuits = \"list.csv\"", "")).unwrap();
    let served = up(std::path::Path::new("/proc/nowhere"));
    assert!(served.status.success());
    assert!(String::from_utf8_lossy(&served.stderr).contains("is not kept in /proc/nowhere"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Circuits are counted one by one, and a reload changes one line of their list.
#[test]
#[ignore = "needs root and network namespaces"]
fn circuits_are_counted_and_changed_one_by_one() {
    let net = Net::new();
    let head = "name,addresses,up_ceiling,down_ceiling\n";
    let list = TempFile::new(&format!("{head}ann,10.7.0.1,5mbit,5mbit\nben,10.7.0.9,5mbit,5mbit\n"));
    let rules = format!("[[flow]]\nname = \"all\"\ncircuits = \"{}\"\n", list.path());
    let (file, _) = file(["10mbit", "10mbit"], &rules);
    let path = file.path().to_owned();
    let running = Gate::start(&net, file);
    assert!(net.ping(3));
    let told: Value = serde_json::from_str(&text(&gate(&["status", &path, "--circuits", "--json"]))).unwrap();
    assert_eq!((told.as_array().unwrap().len(), &told[0]["circuit"]), (1, &"ann".into()), "{told:#}");
    let sent = |told: &Value| ["up", "down"].map(|way| told[0][way]["sent_packets"].as_u64().unwrap());
    let before = sent(&told);
    assert!(before.iter().all(|sent| *sent >= 3), "{told:#}");
    assert!(text(&gate(&["status", &path, "--circuits"])).contains("\nann "));
    std::fs::write(list.path(), format!("{head}ben,10.7.0.9,5mbit,5mbit\nann,10.7.0.1,7mbit,5mbit\n"))
        .unwrap();
    let changes = text(&gate(&["reload", &path]));
    assert!(changes.contains("flow.all.circuits") && changes.contains("1 with changed terms"), "{changes}");
    assert!(net.ping(1));
    let told: Value = serde_json::from_str(&text(&gate(&["status", &path, "--circuits", "--json"]))).unwrap();
    assert!(told[0]["circuit"] == "ann" && sent(&told)[0] > before[0], "{told:#}");
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
        common::ip(&format!("-n {bridge} {args}"));
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
