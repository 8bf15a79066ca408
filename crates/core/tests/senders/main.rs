//! Senders of TCP beside those of a Linux kernel, segment by segment.
//!
//! The records are facts: the acknowledgements that a sender of Linux 6.1 got, and the segments that it
//! sent. The sender here gets the same acknowledgements at the same times, and has to send the same
//! segments, in order. With TIDEGATE_KERNEL_SENDERS, a folder, the records are read from there.
//!
//! ```console
//! $ tidegate lab segments crates/core/tests/senders
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use tidegate_core::endpoint::tcp::{Block, Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::{PolicyParams, PolicyValue, Value};
use tidegate_core::units::{Span, Time};

/// Bytes of a packet: 1,448 of data.
const SIZE: u32 = 1514;
const HEADER: u32 = 66;
/// Time within which both send after an acknowledgement: forty packets take 0.5 ms at 1 Gbit/s.
const AT_ONCE: Span = Span::from_micros(500);
/// Time within which both send at a timer that runs for less than [`LONG`]: three steps of its clock.
const SHORT_STEPS: Span = Span::from_millis(25);
/// Timers of this length and more have steps of 64 ms in the kernel, those below 8 ms.
const LONG: Span = Span::from_millis(504);
/// Time within which both send at such a timer: one step.
const LONG_STEP: Span = Span::from_millis(65);

/// A line of a record.
enum Line {
    Sent(Sent),
    Came { at: Time, segment: Segment },
}

/// A segment that was sent, at a timer or at an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    start: i64,
    length: u32,
    by_timer: bool,
}

fn time(word: &str) -> Time {
    Time::ORIGIN + Span::from_ticks(100 * word.parse::<u64>().unwrap())
}

fn line(text: &str) -> Line {
    let words: Vec<&str> = text.split(' ').collect();
    let at = time(words[1]);
    let mut segment = Segment::default();
    match words[0] {
        "S" => {
            let (start, length) = (words[2].parse().unwrap(), words[3].parse().unwrap());
            return Line::Sent(Sent { at, start, length, by_timer: false });
        }
        "O" => {
            segment.opens = true;
            segment.stamp = words[2].parse().unwrap();
        }
        _ => {
            segment.acknowledgement = words[2].parse().unwrap();
            segment.window = words[3].parse().unwrap();
            segment.stamp = words[4].parse().unwrap();
            segment.echo = words[5] == "e";
            for (block, word) in segment.sack.iter_mut().zip(&words[6..]) {
                let (start, end) = word.split_once(',').unwrap();
                *block = Block { start: start.parse().unwrap(), end: end.parse().unwrap() };
            }
        }
    }
    Line::Came { at, segment }
}

/// The sender of a record: Linux's by default, but for another key.
fn sender(about: &str, other: Option<(&'static str, &str)>) -> Sender {
    let word = |key: &str| {
        let (_, rest) = about.split_once(&format!("{key} = ")).unwrap();
        rest.split([',', '\n']).next().unwrap().to_owned()
    };
    let text = |key, word: String| (key, Value::Text(word));
    let congestion = PolicyValue { name: word("congestion"), values: Vec::new() };
    let mut given = vec![
        ("congestion", Value::Policy(congestion)),
        text("ecn", word("ecn")),
        ("header", Value::Size(HEADER.into())),
    ];
    given.extend(other.map(|(key, word)| text(key, word.to_owned())));
    Sender::new(&TcpParams::of_values(&given).unwrap().make().unwrap(), Time::NEVER, SIZE)
}

/// The segments that the sender sends with the acknowledgements of a record.
fn replayed(mut sender: Sender, lines: &[Line]) -> Vec<Sent> {
    sender.offer(u64::MAX);
    let (mut next, mut sent) = (Time::NEVER, Vec::new());
    let mut call = |now: Time, segment: Option<Segment>| {
        let mut out = Vec::new();
        let mut cx = HostCx { now, out: &mut out };
        let by_timer = segment.is_none();
        let next = match segment {
            None => sender.wake(&mut cx),
            Some(segment) => sender.receive(&mut cx, &Packet::new(BodyId(0), 1), &Payload::Tcp(segment)),
        };
        sent.extend(out.into_iter().map(|action| {
            let Action::Send { payload: Payload::Tcp(segment), .. } = action else { panic!("{action:?}") };
            let start = if segment.opens { -1 } else { segment.sequence as i64 };
            Sent { at: now, start, length: segment.length, by_timer }
        }));
        next
    };
    for line in lines {
        match line {
            Line::Sent(first) if next == Time::NEVER => next = call(first.at, None),
            Line::Sent(_) => {}
            Line::Came { at, segment } => {
                while next < *at {
                    next = call(next, None);
                }
                next = call(*at, Some(*segment));
                while next <= *at {
                    next = call(*at, None);
                }
            }
        }
    }
    sent
}

/// Compares the segments with those of the kernel. Returns their number.
///
/// # Errors
/// The place of the first one that is another, or leaves at another time.
fn compare(ours: &[Sent], kernel: &[Sent]) -> Result<usize, String> {
    let mut before = Time::ORIGIN;
    for (place, (mine, theirs)) in ours.iter().zip(kernel).enumerate() {
        let (earlier, later) = (mine.at.min(theirs.at), mine.at.max(theirs.at));
        let apart = later.since(earlier);
        let allowed = match mine.by_timer {
            true if theirs.at.since(before) < LONG => SHORT_STEPS,
            true => LONG_STEP,
            false => AT_ONCE,
        };
        before = theirs.at;
        if (mine.start, mine.length) != (theirs.start, theirs.length) || apart > allowed {
            return Err(format!("segment {place}: {mine:?}, and in the kernel {theirs:?}"));
        }
    }
    Ok(ours.len().min(kernel.len()))
}

/// The number of segments that are the kernel's, or the first one that is not, and the number of those in
/// the record.
fn follow(file: &Path, other: Option<(&'static str, &str)>) -> (Result<usize, String>, usize) {
    let text = fs::read_to_string(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    let lines: Vec<Line> = text.lines().skip(1).map(line).collect();
    let has_data = |sent: &Sent| sent.start < 0 || sent.length > 0;
    let kernel = lines.iter().filter_map(|line| match line {
        Line::Sent(sent) => Some(*sent),
        Line::Came { .. } => None,
    });
    // The acknowledgement of the answer to the opening segment has no data.
    let kernel: Vec<Sent> = kernel.filter(has_data).collect();
    let ours = replayed(sender(&text, other), &lines);
    let ours: Vec<Sent> = ours.into_iter().filter(has_data).collect();
    (compare(&ours, &kernel), kernel.len())
}

fn files() -> Vec<PathBuf> {
    let here = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/senders");
    let place = std::env::var_os("TIDEGATE_KERNEL_SENDERS").map_or_else(here, PathBuf::from);
    let found = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        found.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    found.sort();
    found
}

/// One in ten records that were made anew may have a timer that races an acknowledgement.
#[test]
fn senders_send_what_the_kernels_do() {
    let is_committed = std::env::var_os("TIDEGATE_KERNEL_SENDERS").is_none();
    let (mut followed, mut differing) = (0, Vec::new());
    for file in files() {
        let (found, expected) = follow(&file, None);
        println!("{}: {found:?} of {expected}", file.file_name().unwrap().display());
        followed += 1;
        // The last segments may leave after the record's end.
        if found.as_ref().map_or(true, |equal| equal + 5 < expected) {
            differing.push((file, found));
        }
    }
    let allowed = if is_committed { 0 } else { followed / 10 };
    assert!(followed > 0 && differing.len() <= allowed, "{differing:#?}");
}

/// Each setting of Linux is needed for that.
#[test]
fn a_sender_of_the_rfcs_sends_something_else() {
    for other in [("rack_form", "rfc"), ("frto", "off"), ("reduction", "at-once")] {
        let found: Vec<_> = files().iter().map(|file| follow(file, Some(other)).0).collect();
        println!("{other:?}: {found:?}");
        assert!(found.iter().any(Result::is_err), "{other:?}");
    }
}
