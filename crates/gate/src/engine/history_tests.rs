//! No host is cut off for its use of an idle line: the shares of a line after one host has used it
//! alone.

use super::simulator_tests::{Whose, frame};
use super::tests::{Bench, cases, file};
use super::*;
use crate::config::default_gate;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate_formats::GateFile;

/// Frames of 1514 bytes.
const FULL: usize = 1472;

/// The key that gives each conversation of a host a queue of its own.
const WITHIN: &str = "within = \"5-tuple\"\n";

/// A gate whose upward direction is measured.
struct Line {
    bench: Bench,
    /// The rate of the line, in bit/s.
    rate: f64,
    /// Bytes that have left, by host and port inside.
    by_port: BTreeMap<(u8, u16), u64>,
}

/// A sender: frames of `payload` bytes from a host, one every `every` microseconds.
#[derive(Clone, Copy)]
struct Sender {
    host: u8,
    port: u16,
    payload: usize,
    every: u64,
    dscp: u8,
}

fn whose(host: u8) -> Whose {
    (true, host, 7, 0)
}

impl Line {
    fn of(gate: &GateFile) -> Line {
        let (bench, rate) = (Bench::of(&Plan::of(gate)), gate.rates[0].bits_per_second());
        Line { bench, rate, by_port: BTreeMap::new() }
    }

    /// A host that sends as much as the line carries.
    fn greedy(&self, host: u8) -> Sender {
        Sender { host, port: 7, payload: FULL, every: (1538.0 * 8e6 / self.rate) as u64, dscp: 0 }
    }

    /// Runs all these senders for `millis` milliseconds. Returns the frames that leave: host, time
    /// waited, and bytes on the line.
    fn run(&mut self, millis: u64, senders: &[Sender]) -> Vec<(u8, Span, u64)> {
        let (start, mut sent) = (self.bench.now, Vec::new());
        let mut next: Vec<u64> = vec![0; senders.len()];
        loop {
            let first = (0..senders.len()).min_by_key(|ix| next[*ix]).unwrap();
            let at = next[first].min(millis * 1000);
            self.serve(start + Span::from_micros(at), &mut sent);
            if at == millis * 1000 {
                return sent;
            }
            let Sender { host, port, payload, every, dscp } = senders[first];
            let number = self.bench.now.since(Time::ORIGIN).ticks();
            self.bench.receive(Direction::Up, &frame((true, host, port, dscp), payload, number));
            next[first] += every;
        }
    }

    /// Bytes that each conversation of a host has sent so far, by its port inside.
    fn sent_by_port(&self, host: u8) -> BTreeMap<u16, u64> {
        self.by_port.range((host, 0)..=(host, u16::MAX)).map(|((_, port), bytes)| (*port, *bytes)).collect()
    }

    fn serve(&mut self, until: Time, sent: &mut Vec<(u8, Span, u64)>) {
        self.bench.now = until;
        self.bench.engine.advance(until, usize::MAX);
        let leaving = self.bench.engine.departures(Direction::Up).to_vec();
        for one in &leaving {
            let bytes = self.bench.engine.frame(Direction::Up, *one);
            // The frame's number is its arrival time.
            let came = u64::from_be_bytes(bytes[42..50].try_into().unwrap());
            let waited = one.due.since(Time::ORIGIN + Span::from_ticks(came));
            let charged = bytes.len() as u64 + 24;
            let port = u16::from_be_bytes([bytes[34], bytes[35]]);
            *self.by_port.entry((bytes[29], port)).or_default() += charged;
            sent.push((bytes[29], waited, charged));
        }
        self.bench.engine.complete(Direction::Up, leaving.len(), 0);
    }
}

/// Rate of a host in bit/s, from the frames that left within `millis` milliseconds.
fn rate_of(sent: &[(u8, Span, u64)], host: u8, millis: u64) -> f64 {
    let bytes: u64 = sent.iter().filter(|(whose, ..)| *whose == host).map(|(_, _, bytes)| bytes).sum();
    bytes as f64 * 8e3 / millis as f64
}

fn longest(sent: &[(u8, Span, u64)], host: u8) -> Span {
    sent.iter().filter(|(whose, ..)| *whose == host).map(|(_, waited, _)| *waited).max().unwrap()
}

fn office(port: &str) -> GateFile {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates/office.toml");
    let text = std::fs::read_to_string(path).unwrap().replacen("[switch]", &format!("{port}[switch]"), 1);
    GateFile::parse(&text, "office.toml", &[]).unwrap()
}

/// A host that has uploaded alone for 30 s and one that starts then share the line equally from the
/// first 200 ms on.
#[test]
fn a_second_host_shares_at_once() {
    let mut line = Line::of(&office(""));
    let [one, two] = [1, 2].map(|host| line.greedy(host));
    line.run(30_000, &[one]);
    for _ in 0..10 {
        let sent = line.run(200, &[one, two]);
        for host in [1, 2] {
            let share = rate_of(&sent, host, 200) / line.rate;
            assert!((0.45..0.55).contains(&share), "{host}: {share}");
        }
    }
}

/// A host that has uploaded for 30 s stops. Its pings pass while another host fills the line.
#[test]
fn who_has_stopped_is_answered() {
    let mut line = Line::of(&office(""));
    let [one, two] = [1, 2].map(|host| line.greedy(host));
    line.run(30_000, &[one]);
    // Its queued frames go first.
    line.run(2_000, &[two]);
    let ping = Sender { host: 1, port: 7, payload: 56, every: 100_000, dscp: 0 };
    let sent = line.run(1_000, &[two, ping]);
    assert_eq!(sent.iter().filter(|(host, ..)| *host == 1).count(), 10);
    assert!(longest(&sent, 1) < Span::from_millis(5), "{:?}", longest(&sent, 1));
}

/// A subscriber that has used the whole line for 30 s gets its reservation at once when all others
/// send as much as they can.
#[test]
fn a_subscriber_gets_what_he_reserves_at_once() {
    let flows = "[[flow]]\nname = \"subscribers\"\neach = \"subscriber\"\nreserve = \"2mbit\"\n";
    let mut line = Line::of(&file(flows));
    let greedy: Vec<Sender> = (1..=4).map(|host| line.greedy(host)).collect();
    line.run(30_000, &greedy[..1]);
    let half = Sender { every: 1538 * 8 / 2, ..greedy[0] };
    let sent = line.run(200, &[half, greedy[1], greedy[2], greedy[3]]);
    // The reservations fill the line, of which a hundredth is set aside for packets that match
    // nothing.
    assert!(rate_of(&sent, 1, 200) > 0.95 * 2e6 * 0.99, "{}", rate_of(&sent, 1, 200));
}

/// A line of which only the interfaces and the rate are stated: a host that sends three times as
/// much gets no more than the other, and its call waits for neither. In a FIFO the call waits.
#[test]
fn a_line_without_a_file_is_fair_by_host_and_quick_for_calls() {
    let text = default_gate::text("a", "b", 10_000_000);
    let fifo = text.replacen("gate = ", "port = { scheduler = \"fifo\" }\ngate = ", 1);
    let fifo = fifo.replace(WITHIN, "");
    let [(fair, share), (fifo, _)] = [(text, true), (fifo, false)].map(|(text, fair)| {
        let mut line = Line::of(&GateFile::parse(&text, "(command line)", &[]).unwrap());
        let (one, two) = (line.greedy(1), line.greedy(2));
        let call = Sender { host: 1, port: 7, payload: 172, every: 20_000, dscp: 46 };
        line.run(1_000, &[one, one, one]);
        line.run(500, &[one, one, one, two, call]);
        let sent = line.run(2_000, &[one, one, one, two, call]);
        let calls: Vec<_> = sent.iter().copied().filter(|(.., bytes)| *bytes < 1_000).collect();
        // A FIFO loses some of them.
        assert!(calls.len() >= if fair { 95 } else { 10 }, "{}", calls.len());
        (longest(&calls, 1), rate_of(&sent, 2, 2_000) / line.rate)
    });
    assert!((0.45..0.55).contains(&share), "{share}");
    assert!(fair < Span::from_millis(4) && fifo > Span::from_millis(100), "{fair:?}, {fifo:?}");
}

/// One host has eight uploads and an unmarked call, another host has one upload. Each host gets
/// half of the line, the uploads of the first share its half equally, and its call waits only for
/// the packets on their way.
#[test]
fn a_line_without_a_file_is_fair_by_host_and_then_by_conversation() {
    let text = default_gate::text("a", "b", 10_000_000);
    let single = text.replace(WITHIN, "");
    let [(waited, shares), (waited_in_one_queue, _)] = [(text, 195), (single, 10)].map(|(text, least)| {
        let mut line = Line::of(&GateFile::parse(&text, "(command line)", &[]).unwrap());
        let mut senders = vec![line.greedy(2)];
        senders.extend((1..=8).map(|port| Sender { port, ..line.greedy(1) }));
        senders.push(Sender { host: 1, port: 9, payload: 172, every: 20_000, dscp: 0 });
        line.run(1_000, &senders);
        let before = line.sent_by_port(1);
        let sent = line.run(4_000, &senders);
        let calls: Vec<_> = sent.iter().copied().filter(|(.., bytes)| *bytes < 1_000).collect();
        assert!(calls.len() >= least, "{}", calls.len());
        let of_port = line.sent_by_port(1);
        let uploads: Vec<u64> =
            (1..=8).map(|port| of_port[&port] - before.get(&port).unwrap_or(&0)).collect();
        let host = rate_of(&sent, 2, 4_000) / line.rate;
        (longest(&calls, 1), (host, uploads))
    });
    let (host, uploads) = shares;
    assert!((0.45..0.55).contains(&host), "{host}");
    let (least, most) = (uploads.iter().min().unwrap(), uploads.iter().max().unwrap());
    assert!(most - least <= 4 * 1538, "{uploads:?}");
    // The packet on the line, one of the other host, and one that was announced for its own.
    assert!(waited < Span::from_millis(5), "{waited:?}");
    assert!(waited_in_one_queue > Span::from_millis(15), "{waited_in_one_queue:?}");
}

/// A phase: its duration in ms, and its senders by host, conversation, divisor of the line's rate,
/// and payload.
type Phase = (u64, Vec<(u8, u16, u64, usize)>);

fn history() -> impl Strategy<Value = Vec<Phase>> {
    let sender = (1u8..6, 1u16..6, 1u64..6, prop::sample::select(vec![64, 500, FULL]));
    prop::collection::vec((20u64..1_000, prop::collection::vec(sender, 1..8)), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    /// Whatever hosts have sent before, each gets its reservation in the first 100 ms in which all
    /// send as much as the line carries, in any number of conversations.
    #[test]
    fn after_any_history_a_host_gets_what_it_reserves(
        history in history(),
        conversations in prop::collection::vec(1u16..6, 2..6),
        within: bool,
    ) {
        let mut text = default_gate::text("a", "b", 20_000_000);
        if !within {
            text = text.replace(WITHIN, "");
        }
        let mut line = Line::of(&GateFile::parse(&text, "(command line)", &[]).unwrap());
        for (millis, senders) in &history {
            let senders: Vec<Sender> = senders
                .iter()
                .map(|(host, port, slower, payload)| {
                    let every = line.greedy(*host).every * slower * (*payload as u64 + 66) / 1538;
                    Sender { host: *host, port: *port, payload: *payload, every: every.max(1), dscp: 0 }
                })
                .collect();
            line.run(*millis, &senders);
        }
        let senders: Vec<Sender> = (1..)
            .zip(&conversations)
            .flat_map(|(host, count)| (1..=*count).map(move |port| (host, port)))
            .map(|(host, port)| Sender { port, ..line.greedy(host) })
            .collect();
        for _ in 0..5 {
            let sent = line.run(100, &senders);
            for host in 1..=conversations.len() as u8 {
                // Up to one packet at each end of the 100 ms may count in the next.
                let got = rate_of(&sent, host, 100) + 2.0 * 1538.0 * 80.0;
                prop_assert!(got >= 2e6, "host {} got {:.0}", host, got);
            }
        }
    }
}

/// The line is full of matched traffic, and of IPv6 that no flow matches. ARP and neighbour
/// discovery pass.
#[test]
fn what_keeps_the_link_working_never_waits_for_long() {
    for port in ["", "[port]\nscheduler = \"virtual-clock\"\n"] {
        let text =
            office(port).to_toml().replace(r#"inside = ["0.0.0.0/0", "::/0"]"#, r#"inside = "0.0.0.0/0""#);
        assert!(!text.contains("::/0"));
        let mut bench = Bench::of(&Plan::of(&GateFile::parse(&text, "office.toml", &[]).unwrap()));
        let ipv6 = |protocol: u8, length: u16| {
            let mut frame = [vec![2; 12], vec![0x86, 0xdd, 0x60, 0, 0, 0]].concat();
            frame.extend(length.to_be_bytes());
            frame.extend([protocol, 255]);
            frame.resize(54 + usize::from(length), 0x20);
            frame
        };
        let arp = [vec![255; 12], vec![8, 6], vec![0; 46]].concat();
        let (flood, discovery) = (ipv6(17, 1400), ipv6(58, 32));
        let mut waited = Vec::new();
        for step in 0..20_000 {
            let at = Time::ORIGIN + Span::from_millis(step);
            bench.now = at;
            bench.engine.advance(at, usize::MAX);
            let leaving = bench.engine.departures(Direction::Up).to_vec();
            for one in leaving {
                let frame = bench.engine.frame(Direction::Up, one);
                if frame[12..14] == [8, 6] || frame[12..14] == [0x86, 0xdd] && frame[20] == 58 {
                    let number = frame.last_chunk::<8>().unwrap();
                    waited.push(one.due.since(Time::ORIGIN + Span::from_millis(u64::from_be_bytes(*number))));
                }
                bench.engine.complete(Direction::Up, 1, 0);
            }
            bench.receive(Direction::Up, &frame(whose(1 + (step % 8) as u8), FULL, step));
            bench.receive(Direction::Up, &flood);
            for mut control in [arp.clone(), discovery.clone()] {
                let number = control.len() - 8;
                control[number..].copy_from_slice(&step.to_be_bytes());
                if step % 100 == 0 {
                    bench.receive(Direction::Up, &control);
                }
            }
        }
        assert!(waited.len() >= 398, "{}", waited.len());
        let longest = waited.iter().max().unwrap();
        assert!(*longest < Span::from_millis(50), "{port}: {longest:?}");
    }
}

/// VirtualClock in a gate's file forgets, too: a clock is ahead by no more than `lead` and a
/// packet's own time at its reservation.
#[test]
fn a_clock_is_ahead_no_longer_than_its_bound() {
    let pause = |lead: &str| {
        let port = format!("[port]\nscheduler = {{ kind = \"virtual-clock\"{lead} }}\n");
        let mut line = Line::of(&office(&port));
        let [one, two] = [1, 2].map(|host| line.greedy(host));
        line.run(30_000, &[one]);
        // The other one keeps to its reservation, and leaves most of the line to a third.
        let voice = Sender { every: 2 * 1538 * 8, ..two };
        let mut pause = 0;
        while !line.run(10, &[one, voice, line.greedy(3)]).iter().any(|(host, ..)| *host == 1) {
            pause += 10;
        }
        pause
    };
    // 250 ms, and 1538 bytes at 500 kbit/s take 25 ms.
    let (bounded, unbounded) = (pause(""), pause(", lead = \"1000s\""));
    assert!(bounded <= 280, "{bounded} ms");
    assert!(unbounded > 10_000, "{unbounded} ms");
}
