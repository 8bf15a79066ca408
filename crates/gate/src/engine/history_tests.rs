//! Nobody is cut off for what he used when the line was idle: who gets what after a line was used by one alone.

use super::simulator_tests::{Whose, frame};
use super::tests::{Bench, file};
use super::*;
use crate::config::default_gate;
use tidegate_spec::GateFile;

/// Frames of 1514 bytes.
const FULL: usize = 1472;

/// A gate, and who sends upwards when.
struct Line {
    bench: Bench,
    /// The rate of the line, in bit/s.
    rate: f64,
}

/// What a host sends: frames of so many payload bytes, one each so many microseconds.
#[derive(Clone, Copy)]
struct Sender {
    host: u8,
    payload: usize,
    every: u64,
    dscp: u8,
}

fn whose(host: u8) -> Whose {
    (true, host, 7, 0)
}

impl Line {
    fn of(gate: &GateFile) -> Line {
        Line { bench: Bench::of(&Plan::of(gate)), rate: gate.rates[0].bits_per_second() }
    }

    /// A host that sends as much as the line carries.
    fn greedy(&self, host: u8) -> Sender {
        Sender { host, payload: FULL, every: (1538.0 * 8e6 / self.rate) as u64, dscp: 0 }
    }

    /// So many milliseconds of all these senders; the frames that leave: whose, how late, and how long on the line.
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
            let Sender { host, payload, every, dscp } = senders[first];
            let number = self.bench.now.since(Time::ORIGIN).ticks();
            self.bench.receive(Direction::Up, &frame((true, host, 7, dscp), payload, number));
            next[first] += every;
        }
    }

    fn serve(&mut self, until: Time, sent: &mut Vec<(u8, Span, u64)>) {
        self.bench.now = until;
        self.bench.engine.advance(until);
        let leaving = self.bench.engine.departures(Direction::Up).to_vec();
        for one in &leaving {
            let bytes = self.bench.engine.frame(Direction::Up, *one);
            // Its number is when it came.
            let came = u64::from_be_bytes(bytes[42..50].try_into().unwrap());
            let waited = one.due.since(Time::ORIGIN + Span::from_ticks(came));
            sent.push((bytes[29], waited, bytes.len() as u64 + 24));
        }
        self.bench.engine.complete(Direction::Up, leaving.len(), 0);
    }
}

/// What a host got, in bit/s, of frames that left within so many milliseconds.
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

/// A host that has uploaded alone for 30 s and one that starts then share the line equally from the first 200 ms on.
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

/// A host that has uploaded for 30 s stops. Its pings pass while another one fills the line.
#[test]
fn who_has_stopped_is_answered() {
    let mut line = Line::of(&office(""));
    let [one, two] = [1, 2].map(|host| line.greedy(host));
    line.run(30_000, &[one]);
    // What it had queued goes first.
    line.run(2_000, &[two]);
    let ping = Sender { host: 1, payload: 56, every: 100_000, dscp: 0 };
    let sent = line.run(1_000, &[two, ping]);
    assert_eq!(sent.iter().filter(|(host, ..)| *host == 1).count(), 10);
    assert!(longest(&sent, 1) < Span::from_millis(5), "{:?}", longest(&sent, 1));
}

/// A subscriber has used the whole line for 30 s. What he reserves he gets at once when all others send as much as they can.
#[test]
fn a_subscriber_gets_what_he_reserves_at_once() {
    let flows = "[[flow]]\nname = \"subscribers\"\neach = \"subscriber\"\nreserve = \"2mbit\"\n";
    let mut line = Line::of(&file(flows));
    let greedy: Vec<Sender> = (1..=4).map(|host| line.greedy(host)).collect();
    line.run(30_000, &greedy[..1]);
    let half = Sender { every: 1538 * 8 / 2, ..greedy[0] };
    let sent = line.run(200, &[half, greedy[1], greedy[2], greedy[3]]);
    // The reservations fill the line, of which a hundredth is set aside for what matches nothing.
    assert!(rate_of(&sent, 1, 200) > 0.95 * 2e6 * 0.99, "{}", rate_of(&sent, 1, 200));
}

/// A line of which only its interfaces and its rate are stated: a host that sends three times as much has no more than the other,
/// and its call waits for neither. In a FIFO it does.
#[test]
fn a_line_without_a_file_is_fair_by_host_and_quick_for_calls() {
    let text = default_gate::text("a", "b", 10_000_000);
    let fifo = text.replacen("gate = ", "port = { scheduler = \"fifo\" }\ngate = ", 1);
    let [(fair, share), (fifo, _)] = [(text, true), (fifo, false)].map(|(text, fair)| {
        let mut line = Line::of(&GateFile::parse(&text, "(command line)", &[]).unwrap());
        let (one, two) = (line.greedy(1), line.greedy(2));
        let call = Sender { host: 1, payload: 172, every: 20_000, dscp: 46 };
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

/// The line is full of what matches, and of IPv6 that no flow matches. ARP and neighbour discovery pass.
#[test]
fn what_keeps_the_link_working_never_waits_for_long() {
    for port in ["", "[port]\nscheduler = \"virtual-clock\"\n"] {
        let text = office(port).to_toml().split("# A computer has one claim").next().unwrap().to_owned();
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
            bench.engine.advance(at);
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

/// VirtualClock in a gate's file forgets, too: no longer than `lead` and a packet's own time at its reservation.
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
