//! Files that change while a gate runs.

use crate::common::{BINARY, Gate, Net, Place, TempFile};
use crate::{FLOWS, file, gate, numbers, refused, send, text};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

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

/// LibreQoS's files change under load, one and the other: every packet arrives, in order, and circuits
/// have what they say then.
#[test]
#[ignore = "needs root and network namespaces"]
fn the_files_of_libreqos_change_under_load() {
    let net = Net::new();
    let folder = std::env::temp_dir().join(format!("tidegate-libreqos-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (list, tree) = (folder.join("ShapedDevices.csv"), folder.join("network.json"));
    let devices = |node: &str, most: &str| {
        let head = "Circuit ID,Parent Node,IPv4,IPv6,Upload Min Mbps,Download Min Mbps,Upload Max Mbps,Download Max Mbps\n";
        std::fs::write(&list, format!("{head}ann,{node},10.7.0.1,,0.5,0.5,{most},5\n")).unwrap();
    };
    let carries = "\"downloadBandwidthMbps\": 4, \"uploadBandwidthMbps\": 4";
    let network = |nodes: &[&str]| {
        let nodes: Vec<String> = nodes.iter().map(|node| format!("\"{node}\": {{{carries}}}")).collect();
        std::fs::write(&tree, format!("{{{}}}", nodes.join(", "))).unwrap();
    };
    let rules = format!(
        "switch = {{ buffer = \"4000p\" }}\n[[flow]]\nname = \"all\"\ncircuits = \"{}\"\nnetwork = \"{}\"\n",
        list.display(),
        tree.display()
    );
    devices("a", "2");
    network(&["a"]);
    let (file, _) = file(["10mbit", "10mbit"], &rules);
    let path = file.path().to_owned();
    let running = Gate::start(&net, file);
    assert!(net.ping(1));
    let count = 240;
    let came = numbers(&net, 9);
    let sender = send(&net, 9, 300, count, Duration::from_micros(2500));
    let reload = || text(&gate(&["reload", &path]));
    for _ in 0..10 {
        network(&["b", "a"]);
        let told = reload();
        assert_eq!(told, "flow.all.network: 1 classes -> 2 classes: 1 new, 0 gone, 0 with changed terms\n");
        devices("b", "3");
        let told = reload();
        assert!(
            told.starts_with("flow.all.circuits: 1 circuits") && told.contains("1 with changed"),
            "{told}"
        );
        // A broken file changes nothing.
        network(&["c"]);
        let refused = refused(&gate(&["reload", &path]));
        assert!(refused.contains("ShapedDevices.csv:2:5: the network has no node `b`"), "{refused}");
        network(&["b"]);
        let told = reload();
        assert!(told.contains("2 classes -> 1 classes: 0 new, 1 gone"), "{told}");
        devices("a", "2");
        network(&["a"]);
        assert_eq!(reload().lines().count(), 2);
    }
    sender.join().unwrap();
    let came = came.join().unwrap();
    assert!(came.iter().copied().eq(0..count), "{} of {count}", came.len());
    let report = running.stop();
    assert_eq!(report["directions"]["up"]["dropped"], 0, "{report:#}");
    std::fs::remove_dir_all(&folder).unwrap();
}
