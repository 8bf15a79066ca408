//! Forwarding beside the kernel: the same frames, over the same pairs of veth, in one run.
//!
//! `cargo bench --package tidegate-gate --bench forwarding [-- WAY…]`, as root, on two processors:
//! the first sends, the second is the gate's. The kernel forwards as a bridge, once where the
//! sender runs (as veth does by itself: one processor for both) and once steered to the second.
//! Arrivals are counted at the far end's interface. The processor time for a packet is the gate's
//! own, and that of the whole machine without idling, the sender's included. Latency is taken at
//! 1000 packets/s from before a frame is sent until the far end's kernel has it. Machines are
//! noisy: each number is the median of runs that take turns, and the ratio to the kernel is the one
//! to compare.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(unsafe_code)]

mod generator;
mod latency;
mod net;

use generator::Generator;
use net::Net;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
const SETTLE: Duration = Duration::from_millis(500);
const MEASURE: Duration = Duration::from_secs(2);
const SIZES: [usize; 2] = [60, 1514];

/// Forwarders.
#[derive(Clone, Copy)]
enum Way {
    Kernel { steered: bool },
    Gate { io: &'static str, busy: bool },
}

const WAYS: [(&str, Way); 9] = [
    ("kernel, where the sender is", Way::Kernel { steered: false }),
    ("kernel, steered", Way::Kernel { steered: true }),
    ("packet", Way::Gate { io: "packet", busy: false }),
    ("ring", Way::Gate { io: "ring", busy: false }),
    ("ring --busy", Way::Gate { io: "ring", busy: true }),
    ("ring-batch", Way::Gate { io: "ring-batch", busy: false }),
    ("tap", Way::Gate { io: "tap", busy: false }),
    ("xdp", Way::Gate { io: "xdp", busy: false }),
    ("xdp --busy", Way::Gate { io: "xdp", busy: true }),
];

/// Returns an IPv4 frame of UDP for nobody: the far end's kernel drops it as soon as it has it.
fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let total = (length - 14) as u16;
    frame[14..34].copy_from_slice(&[69, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 7, 0, 1, 10, 7, 0, 2]);
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    frame[24..26].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    frame[34..40].copy_from_slice(&[0, 9, 0, 9, ((total - 20) >> 8) as u8, (total - 20) as u8]);
    frame
}

/// A gate that runs until it is dropped.
struct Gate(Child);

impl Gate {
    fn start(net: &Net, io: &str, busy: bool) -> Gate {
        let file = std::env::temp_dir().join(format!("tidegate-forwarding-{}.toml", std::process::id()));
        let text = format!(
            "version = 1\ngate = {{ inside = \"gi\", outside = \"go\", up = \"10gbit\", down = \"10gbit\", io = \"{io}\", fail = \"closed\" }}\n"
        );
        std::fs::write(&file, text).expect("a gate file");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &net.name("g"), "taskset", "-c", "1"]);
        command.args([env!("CARGO_BIN_EXE_tidegate-gate"), "up"]).arg(&file);
        command.args(busy.then_some("--busy"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("ip");
        let mut line = String::new();
        let said = BufReader::new(child.stderr.as_mut().expect("its messages")).read_line(&mut line);
        assert!(said.is_ok() && line.contains(" -> "), "{line}");
        Gate(child)
    }

    /// Returns user and system time so far.
    fn cpu(&self) -> Duration {
        let read = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id())).expect("its time");
        Duration::from_nanos(read.split(' ').next().and_then(|text| text.parse().ok()).expect("a time"))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the time that the machine's processors were not idle.
fn busy_time() -> Duration {
    let table = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let columns: Vec<u64> = table
        .lines()
        .next()
        .into_iter()
        .flat_map(str::split_whitespace)
        .skip(1)
        .map(|text| text.parse().unwrap_or(0))
        .collect();
    // user, nice, system, idle, waiting, hardware and software interrupts, in hundredths of a
    // second.
    Duration::from_millis([0, 1, 2, 5, 6].iter().map(|ix| columns[*ix] * 10).sum())
}

/// Returns the number of packets that this thread's namespace has received at an interface.
fn received(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").expect("/proc/net/dev");
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(1)?.parse().ok()).expect("an interface's counters")
}

/// Results of one run.
#[derive(Clone, Copy, Default)]
struct Run {
    offered: f64,
    rate: f64,
    own: f64,
    machine: f64,
    latency: [f64; 2],
}

fn run(way: Way, size: usize) -> Option<Run> {
    let tap = matches!(way, Way::Gate { io: "tap", .. });
    let net = Net::new(!tap)?;
    let gate = match way {
        Way::Kernel { steered } => {
            net.bridge(steered);
            None
        }
        Way::Gate { io, busy } => {
            if io == "xdp" {
                net.plain();
            }
            Some(Gate::start(&net, io, busy))
        }
    };
    if tap {
        net.hand_over();
    }
    let bytes = frame(size);
    let watcher = latency::watch(&net);
    let (few, sent) = mpsc::channel();
    let sender = net.spawn("a", 0, move || {
        let mut generator = Generator::new("a0").expect("AF_XDP");
        few.send(latency::send(&mut generator, &bytes)).expect("someone who waits");
        // Wait until the watcher has given up.
        std::thread::sleep(latency::PATIENCE + SETTLE);
        let (start, mut sent) = (Instant::now(), 0_u64);
        while start.elapsed() < SETTLE + MEASURE + SETTLE {
            sent += u64::from(generator.send(&bytes, u32::MAX));
        }
        sent as f64 / start.elapsed().as_secs_f64()
    });
    let sent = sent.recv().expect("a sender");
    let latency = latency::quantiles(&sent, &watcher.join().expect("a watcher"));
    std::thread::sleep(SETTLE + SETTLE);
    let look = || {
        let count = net.spawn("b", 1, || (Instant::now(), received("b0"))).join().expect("a counter");
        (count, gate.as_ref().map_or(Duration::ZERO, Gate::cpu), busy_time())
    };
    let before = look();
    std::thread::sleep(MEASURE);
    let after = look();
    let packets = (after.0.1 - before.0.1) as f64;
    Some(Run {
        offered: sender.join().expect("a sender"),
        rate: packets / (after.0.0 - before.0.0).as_secs_f64(),
        own: (after.1 - before.1).as_secs_f64() / packets,
        machine: (after.2 - before.2).as_secs_f64() / packets,
        latency,
    })
}

fn median(runs: &[Run], what: impl Fn(&Run) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(what).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let ways: Vec<_> = WAYS
        .into_iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| name.starts_with(word.as_str())))
        .filter(|(name, _)| cfg!(feature = "xdp") || !name.starts_with("xdp"))
        .collect();
    println!(
        "| way | bytes | offered, packets/s | forwarded, packets/s | gate's CPU, ns | machine's CPU, ns | latency p50, us | p99, us |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in SIZES {
        let mut runs = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for ((_, way), runs) in ways.iter().zip(&mut runs) {
                let Some(run) = run(*way, size) else {
                    println!("skipped: network namespaces take root and iproute2");
                    return;
                };
                runs.push(run);
            }
        }
        for ((name, _), runs) in ways.iter().zip(&runs) {
            let of = |what: fn(&Run) -> f64| median(runs, what);
            println!(
                "| {name} | {size} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} |",
                of(|run| run.offered),
                of(|run| run.rate),
                of(|run| run.own * 1e9),
                of(|run| run.machine * 1e9),
                of(|run| run.latency[0] * 1e6),
                of(|run| run.latency[1] * 1e6),
            );
        }
    }
}
