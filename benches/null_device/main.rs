//! The gate with a null device: the cost of a frame without the kernel's, and what a second
//! processor brings.
//!
//! `cargo bench --package tidegate-gate --features bench --bench null_device -- count WAY FILE FRAMES`
//! passes frames from memory to nowhere in virtual time, under an instruction counter; subtract two
//! runs of different length to take out the set-up. WAY is `copies` (frames are copied, and
//! messages are made of them), `switch` (the core's switch alone) or `gate`; FILE is `fifo` (one
//! queue for all), `hosts` (the default scheduler, a queue for each host) or `households` (the gate
//! without a file).
//!
//! `… -- processors SECONDS [TRAFFIC]`, as root, on two processors: a gate that receives from memory and
//! sends over veth, on one processor and on two, in turns. Frames come in one direction or in
//! both, as fast as the gate reads them.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(unsafe_code)]

#[allow(dead_code, reason = "this benchmark uses a part of it")]
#[path = "../forwarding/net.rs"]
mod net;
mod processors;

use std::process::ExitCode;
use tidegate_core::units::{Span, Time};
use tidegate_formats::GateFile;
use tidegate_gate::null_gate::NullGate;
use tidegate_gate::virtual_gate::GatePlan;

/// Frames that come at once.
const BATCH: u64 = 32;
/// Hosts that send in turn.
const HOSTS: u8 = 200;
/// Share of the line that the frames take.
const LOAD: f64 = 0.95;
/// Bits a second of the line.
const LINE: f64 = 1e9;
/// Bytes of a frame, and with what it takes on the line.
const LENGTH: usize = 60;
const CHARGED: usize = LENGTH + 24;

/// Frames of UDP, in turn from each host, with identifications that count on.
fn frames(rounds: u16, checksums: bool) -> Vec<Vec<u8>> {
    let hosts = (0..rounds).flat_map(|round| (0..HOSTS).map(move |host| (round, host)));
    hosts.map(|(round, host)| frame([10, 0, 0, host], [192, 0, 2, 1], round, checksums)).collect()
}

/// A frame of UDP between two addresses.
fn frame(from: [u8; 4], to: [u8; 4], identification: u16, checksum: bool) -> Vec<u8> {
    let mut frame = vec![0; LENGTH];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    frame[14..26].copy_from_slice(&[69, 0, 0, (LENGTH - 14) as u8, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame[18..20].copy_from_slice(&identification.to_be_bytes());
    frame[26..30].copy_from_slice(&from);
    frame[30..34].copy_from_slice(&to);
    frame[34..40].copy_from_slice(&[0x13, 0x88, 0x13, 0x88, 0, (LENGTH - 34) as u8]);
    let sum = sum(&frame[14..34], 0);
    frame[24..26].copy_from_slice(&(!sum).to_be_bytes());
    if checksum {
        let sum = sum_of_datagram(&frame);
        frame[40..42].copy_from_slice(&(!sum).to_be_bytes());
    }
    frame
}

/// The Internet checksum's sum (RFC 1071).
fn sum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.fold(start, |sum, word| sum + word);
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded + (folded >> 16)) as u16
}

fn sum_of_datagram(frame: &[u8]) -> u16 {
    sum(&frame[26..], 17 + (LENGTH - 34) as u32)
}

/// A gate file between interfaces `gi` and `go`, of this rate in each direction.
fn file(name: &str, rate: &str) -> Result<GateFile, String> {
    let hosts =
        "[[flow]]\nname = \"hosts\"\nmatch = { inside = [\"0.0.0.0/0\", \"::/0\"] }\neach = \"host\"\n";
    let rest = match name {
        "fifo" => "[port]\nscheduler = \"fifo\"\n".to_owned(),
        "hosts" => hosts.to_owned(),
        "households" => format!("{hosts}within = \"5-tuple\"\n"),
        _ => return Err(format!("{name} is none of fifo, hosts, households")),
    };
    let gate =
        format!("inside = \"gi\", outside = \"go\", up = \"{rate}\", down = \"{rate}\", fail = \"closed\"");
    let text = format!("version = 1\ngate = {{ {gate} }}\n{rest}");
    GateFile::parse(&text, "gate.toml", &[]).map_err(|errors| errors.to_string())
}

fn count(way: &str, name: &str, most: u64) -> Result<u64, String> {
    let plan = GatePlan::of(&file(name, "1gbit")?);
    let frames = frames(16, false);
    let gate = match way {
        "copies" => NullGate::copies(&frames),
        "switch" => NullGate::switch(&plan, &frames),
        "gate" => NullGate::gate(&plan, &frames),
        _ => return Err(format!("{way} is none of copies, switch, gate")),
    };
    let mut gate = gate.map_err(|error| error.to_string())?;
    let gap = Span::from_secs_f64((BATCH as usize * CHARGED * 8) as f64 / (LOAD * LINE));
    let line = Span::from_secs_f64((CHARGED * 8) as f64 / LINE);
    let (mut now, mut sent) = (Time::ORIGIN, 0);
    for _ in 0..most / BATCH {
        now += gap;
        sent += gate.forward(now, line) as u64;
    }
    Ok(sent)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["count", way, file, frames] => match frames.parse() {
            Ok(frames) => count(way, file, frames).map(|sent| println!("{sent}")),
            Err(_) => Err("FRAMES is a number".to_owned()),
        },
        ["processors", seconds, ref only @ ..] => match (seconds.parse(), only) {
            (Ok(seconds), []) => processors::compare(seconds, ""),
            (Ok(seconds), [only]) => processors::compare(seconds, only),
            _ => Err("processors SECONDS [TRAFFIC]".to_owned()),
        },
        _ => Err("count WAY FILE FRAMES, or processors SECONDS [TRAFFIC]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("null_device: {message}");
            ExitCode::FAILURE
        }
    }
}
