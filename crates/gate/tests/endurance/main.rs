//! Endurance: malformed frames of every kind at both sides, clients that send garbage, hang and
//! flood, and reloads, all at once. The gate goes on forwarding, loses no packet of a flow that
//! keeps its reservation, and accounts for every frame. Five seconds; five minutes where
//! TIDEGATE_VERIFY is set, in which its memory does not grow.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

#[path = "../common/mod.rs"]
mod common;
mod malformed;

use common::{BINARY, Gate, INSIDE, Net, OUTSIDE, Place, TempFile, content};
use malformed::{Raw, frame, virtio_header};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tidegate_core::rng::Rng;

/// Maximum growth of a process between its warm-up and its end, in kB. The number of flows that are
/// kept at once and their lifetimes are random, and so are the pages that the allocator touches
/// late. In five minutes, some million frames come: a leak of four bytes for each, or of 6 kB for
/// each reload, would be more. In five seconds the gate still fills what it keeps for reuse, on a slow
/// machine longer than the warm-up.
const MARGIN: u64 = 4096;
/// Address of the metrics, in the gate's own namespace.
const METRICS: &str = "127.0.0.1:9";

fn is_long() -> bool {
    std::env::var_os("TIDEGATE_VERIFY").is_some()
}

fn lasting() -> Duration {
    Duration::from_secs(if is_long() { 300 } else { 5 })
}

/// Packets to this port outside keep their reservation in every file, and none of them is lost.
const KEPT_PORT: u16 = 7000;
/// One every four milliseconds: 60 bytes each, some 120 kbit/s.
const KEPT_GAP: Duration = Duration::from_millis(4);

/// The flow of the packets that must not be lost.
fn kept(reserve: &str) -> String {
    format!(
        "[[flow]]\nname = \"kept\"\nmatch = {{ protocol = \"udp\", outside_port = {KEPT_PORT} }}\n{reserve}"
    )
}

/// Files that the gate is reloaded with in turn: they have little in common but the rates, so that
/// the link stays busy. The last one has an error.
fn files_to_reload(file: &TempFile) -> [String; 4] {
    let first = std::fs::read_to_string(file.path()).unwrap();
    let head: String = first.lines().take(5).map(|line| format!("{line}\n")).collect();
    let classes = "port = { scheduler = \"strict-priority\" }\nswitch = { buffer = \"500p\" }\n\
        class = [{ name = \"c\", scheduler = \"fifo\", ceiling = \"1mbit\", priority = 1 }]\n";
    let udp = "[[flow]]\nname = \"each\"\nmatch = { protocol = \"udp\" }\neach = \"5-tuple\"\nidle = \"50ms\"\nclass = \"c\"\n";
    // All other traffic has to be less urgent, too.
    let rest = "[[flow]]\nname = \"rest\"\npriority = 1\n";
    let hosts = "[[flow]]\nname = \"hosts\"\neach = \"host\"\nwithin = \"5-tuple\"\nidle = \"50ms\"\n";
    let broken = "[[flow]]\nname = \"each\"\nmatch = { inside = \"10.7.0.1/8\" }\n";
    [
        first,
        format!("{head}{classes}{}{udp}{rest}", kept("")),
        format!("{head}{}{hosts}", kept("reserve = \"500kbit\"\n")),
        format!("{head}{broken}"),
    ]
}

/// The kernel's address of an interface.
fn mac(net: &Net, place: Place) -> String {
    let said = net.output(place, "cat", &[&format!("/sys/class/net/{}/address", place.interface())]);
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// Numbered packets from inside. The far host's address is permanent, since malformed frames could
/// forge an answer about it.
fn kept_packets(net: &Net, stop: &Arc<AtomicBool>) -> Repeated {
    let (address, interface) = (mac(net, Place::Outside), Place::Inside.interface());
    let known = ["neigh", "replace", OUTSIDE, "lladdr", &address, "dev", interface, "nud", "permanent"];
    assert!(net.output(Place::Inside, "ip", &known).status.success());
    repeat(net, Place::Inside, stop, || {
        let socket = UdpSocket::bind((INSIDE, 0)).unwrap();
        let mut next = 0_u64;
        Box::new(move || {
            // The kernel reports the far host's errors about earlier packets.
            while socket.send_to(&next.to_be_bytes(), (OUTSIDE, KEPT_PORT)).is_err() {}
            next += 1;
            std::thread::sleep(KEPT_GAP);
        })
    })
}

/// Number of packets that arrived until none did for two seconds, and number of those that were out
/// of sequence.
fn count_kept(net: &Net) -> JoinHandle<(u64, u64)> {
    net.receive(Place::Outside, (OUTSIDE, KEPT_PORT), Duration::from_secs(2), |socket| {
        let (mut bytes, mut count, mut next, mut jumps) = ([0; 100], 0, 0, 0);
        // Malformed frames may be for this port, too, but not in its turn.
        while let Ok(length) = socket.recv(&mut bytes) {
            if length == 8 {
                let number = u64::from_be_bytes(bytes[..8].try_into().unwrap());
                jumps += u64::from(number != next);
                next = number + 1;
                count += 1;
            }
        }
        (count, jumps)
    })
}

/// Work that a thread repeats until it is stopped, and the number of repetitions.
struct Repeated {
    thread: JoinHandle<()>,
    done: Arc<AtomicU64>,
}

/// Starts repeated work in a namespace.
fn repeat(
    net: &Net,
    place: Place,
    stop: &Arc<AtomicBool>,
    start: impl FnOnce() -> Box<dyn FnMut()> + Send + 'static,
) -> Repeated {
    let (stop, done) = (Arc::clone(stop), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&done);
    let thread = net.spawn(place, move || {
        let mut work = start();
        while !stop.load(Ordering::Relaxed) {
            work();
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    Repeated { thread, done }
}

/// Malformed frames from a host, some of them with virtio-net headers.
fn malformed_frames(net: &Net, place: Place, seed: u64, stop: &Arc<AtomicBool>) -> Repeated {
    repeat(net, place, stop, move || {
        let (plain, odd) = (Raw::open(place.interface(), false), Raw::open(place.interface(), true));
        let mut rng = Rng::named(seed, "malformed frames");
        Box::new(move || {
            for _ in 0..20 {
                let frame = frame(&mut rng);
                if rng.chance(0.5) {
                    plain.send(&frame);
                } else {
                    odd.send(&[&virtio_header(&mut rng)[..], &frame].concat());
                }
            }
            // Some ten thousand a second: the gate's core is shared with the processes that check
            // it.
            std::thread::sleep(Duration::from_millis(2));
        })
    })
}

/// A client that misbehaves in one way, at the control socket or at the metrics address.
fn misbehaving_client(net: &Net, socket: PathBuf, stop: &Arc<AtomicBool>) -> Repeated {
    repeat(net, Place::Gate, stop, move || {
        let mut rng = Rng::named(3, "hostile clients");
        let mut held = Vec::new();
        Box::new(move || {
            let Ok(mut client) = UnixStream::connect(&socket) else { return };
            client.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
            client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let noise = content(rng.below(u64::MAX - 1) + 1, rng.below(40_000) as usize);
            // The gate may take all, some or none of it.
            let _ = match rng.below(8) {
                0 => client.write_all(&noise),
                1 => client.write_all(b"{\"ask\": \"status\"}\n".repeat(1000).as_slice()),
                2 => client.write_all(b"{\"ask\": \"sta"),
                3 => client
                    .write_all(b"{\"ask\": \"reload\"}\n")
                    .and_then(|()| client.shutdown(Shutdown::Write)),
                4 => client.write_all(&b"[".repeat(10_000)),
                5 => client
                    .write_all(b"{\"ask\": \"status\"}\n")
                    .and_then(|()| client.read(&mut [0; 10]).map(drop)),
                6 => TcpStream::connect(METRICS).and_then(|mut scrape| scrape.write_all(&noise)),
                _ => TcpStream::connect(METRICS).and_then(|mut scrape| {
                    scrape.set_read_timeout(Some(Duration::from_secs(2)))?;
                    scrape.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
                    scrape.read_to_end(&mut Vec::new()).map(drop)
                }),
            };
            held.push(client);
            if held.len() > 50 {
                held.drain(..rng.below(50) as usize);
            }
            std::thread::sleep(Duration::from_millis(3));
        })
    })
}

/// Reloads the gate's file; returns whether that succeeded, and the output. When many clients
/// connect, the server may disconnect one that has not sent a request yet, so this may take another
/// attempt.
fn reload(path: &str) -> (bool, String) {
    for _ in 0..20 {
        let told = Command::new(BINARY).args(["reload", path]).output().unwrap();
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        if told.status.success() || !said.contains("the control socket") {
            return (told.status.success(), said);
        }
    }
    panic!("nobody gets through to the gate");
}

/// Resident memory of a process, in kB.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs root and network namespaces"]
fn hostile_input_does_not_wear_it_out() {
    let net = Net::new();
    let lasting = lasting();
    let socket = std::env::temp_dir().join(format!("tidegate-{}-endurance.sock", std::process::id()));
    let rest = format!(
        "control = {{ socket = \"{}\" }}\nmetrics = {{ listen = \"{METRICS}\" }}\n\
         port = {{ scheduler = \"virtual-clock\" }}\n\
         {}[[flow]]\nname = \"each\"\neach = \"5-tuple\"\nidle = \"100ms\"\nreserve = \"1kbit\"\n",
        socket.display(),
        kept("reserve = \"500kbit\"\n"),
    );
    net.output(Place::Gate, "ip", &["link", "set", "lo", "up"]);
    let file = TempFile::gate("5mbit", "5mbit", &rest);
    let (path, texts) = (file.path().to_owned(), files_to_reload(&file));
    let gate = Gate::start_for(&net, file, lasting + Duration::from_secs(60), &[]);
    let process = gate.id();
    let stop = Arc::new(AtomicBool::new(false));
    let counting = count_kept(&net);
    let kept = kept_packets(&net, &stop);
    let at_work = [
        ("frames from inside", malformed_frames(&net, Place::Inside, 1, &stop)),
        ("frames from outside", malformed_frames(&net, Place::Outside, 2, &stop)),
        ("hostile clients", misbehaving_client(&net, socket, &stop)),
    ];

    let (begun, mut warm, mut most, mut reloads) = (Instant::now(), None, 0, 0);
    while begun.elapsed() < lasting {
        std::fs::write(&path, &texts[reloads % texts.len()]).unwrap();
        let (done, said) = reload(&path);
        assert_eq!(done, reloads % texts.len() != texts.len() - 1, "{said}");
        reloads += 1;
        std::thread::sleep(Duration::from_millis(40));
        if begun.elapsed() > lasting / 4 {
            let now = resident(process);
            warm.get_or_insert(now);
            most = most.max(now);
        }
    }
    stop.store(true, Ordering::Relaxed);
    for (what, tireless) in at_work {
        tireless.thread.join().unwrap();
        let done = tireless.done.load(Ordering::Relaxed);
        assert!(done > 20, "{what}: only {done}");
        println!("{what}: {done} times");
    }
    kept.thread.join().unwrap();
    let (sent, (came, jumps)) = (kept.done.load(Ordering::Relaxed), counting.join().unwrap());
    println!("{came} of {sent} packets within their reservation came, {jumps} not in their turn");
    let (warm, end) = (warm.unwrap(), resident(process));
    println!("{reloads} reloads; {warm} kB after the warm-up, at most {most}, {end} at the end");
    // Hosts reach each other again once the queued frames have left.
    std::thread::sleep(Duration::from_secs(2));
    assert!(net.ping(3));
    // Every frame is accounted for: `stop` checks it.
    let report = gate.stop();
    for direction in ["up", "down"] {
        let one = &report["directions"][direction];
        assert!(one["received"].as_u64().unwrap() > 1000, "{report:#}");
        println!("{direction}: received {}, sent {}, {}", one["received"], one["sent"], one["drops"]);
    }
    // A machine that stands still for long enough loses frames before the gate has read them; the
    // gate counts them.
    let up = &report["directions"]["up"];
    let unread = up["missed"].as_u64().unwrap() + up["drops"]["late"].as_u64().unwrap();
    assert!(
        sent - came <= unread && jumps <= sent - came,
        "{came} of {sent}, {jumps} not in their turn: {up:#}"
    );
    assert!(!is_long() || end <= warm + MARGIN, "{warm} kB after the warm-up, {end} kB at the end");
}
