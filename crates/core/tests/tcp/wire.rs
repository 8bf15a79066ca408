//! A sender and a receiver with a script of losses, delays and marks between them, and the table of
//! segments that leave.

use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::endpoint::tcp::congestion::CongestionControlKind;
use tidegate_core::endpoint::tcp::{LossRecovery, Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, EndpointSetup, HostCx, Payload, Transport};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

/// Bytes of data in a segment, and of a packet.
pub const DATA: u64 = 1000;
pub const SIZE: u32 = 1040;

/// The congestion control of this name.
pub fn congestion(name: &str) -> CongestionControlKind {
    CongestionControlKind::named(name).unwrap()
}

/// The two settings: congestion control and loss recovery.
pub type Setting = (&'static str, LossRecovery);

pub const RENO_1990: Setting = ("reno", LossRecovery::Reno1990);
pub const NEW_RENO: Setting = ("reno", LossRecovery::NewReno);
pub const SACK: Setting = ("reno", LossRecovery::Sack);
pub const RACK: Setting = ("reno", LossRecovery::Rack);
pub const CUBIC: Setting = ("cubic", LossRecovery::Sack);

/// Tables begin with a window of 8 segments, every segment is acknowledged at once, and the
/// receiver has room for 64.
pub fn params((control, recovery): Setting) -> TcpParams {
    TcpParams {
        congestion: congestion(control),
        recovery,
        ecn: tidegate_core::endpoint::tcp::Ecn::Off,
        delayed_acks: Span::ZERO,
        initial_window: 8,
        receiver_window: 64 * DATA as u32,
        ..TcpParams::example()
    }
}

pub fn setup() -> EndpointSetup {
    EndpointSetup {
        flow: 1,
        peer: Some(0),
        rng: Rng::named(1, "tcp"),
        start: Time::ORIGIN,
        stop: Time::NEVER,
        rate: Rate::from_bits_per_second(1_000_000).unwrap(),
        data: None,
    }
}

/// Treatment of packets by the network. A segment is named by its number and an `r` for each time
/// that it is sent again: `4`, `4r`, `4rr`. Acknowledgements are counted from 1 as the receiver
/// sends them.
#[derive(Default)]
pub struct Script {
    pub lost: &'static [&'static str],
    /// Late segments, with their delays in milliseconds.
    pub late: &'static [(&'static str, u64)],
    /// Segments on which congestion is marked, if they are ECN-capable.
    pub marked: &'static [&'static str],
    pub lost_acks: &'static [u64],
}

/// A connection with 50 ms of delay in each direction.
pub struct Wire {
    pub sender: Sender,
    receiver: Box<dyn Endpoint>,
    script: Script,
    /// Wake-up times of the two ends.
    next: [Time; 2],
    flying: BTreeMap<(Time, u64), (usize, Segment, Mark)>,
    order: u64,
    /// Number of transmissions of each segment.
    sent: BTreeMap<u64, usize>,
    acks: u64,
    used: BTreeSet<String>,
    now: Time,
    /// A line for each acknowledgement and each timeout.
    table: Vec<String>,
}

impl Wire {
    /// A transfer of `segments` segments under a script.
    pub fn new(params: &TcpParams, segments: u64, script: Script) -> Wire {
        let made = params.make().unwrap();
        let mut sender = Sender::new(&made, Time::NEVER, SIZE);
        sender.offer(segments * DATA);
        Wire {
            sender,
            receiver: made.receiver(setup(), SIZE),
            script,
            next: [Time::ORIGIN, Time::NEVER],
            flying: BTreeMap::new(),
            order: 0,
            sent: BTreeMap::new(),
            acks: 0,
            used: BTreeSet::new(),
            now: Time::ORIGIN,
            table: Vec::new(),
        }
    }

    /// Runs until nothing more happens, or for `milliseconds` in all.
    pub fn run(&mut self, milliseconds: u64) {
        let until = Time::ORIGIN + Span::from_millis(milliseconds);
        loop {
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let woken = usize::from(self.next[1] < self.next[0]);
            let at = arrival.min(self.next[woken]);
            if at == Time::NEVER || at > until {
                return;
            }
            self.now = self.now.max(at);
            if arrival <= self.next[woken] {
                let ((_, _), (end, segment, mark)) = self.flying.pop_first().unwrap();
                let mut packet = Packet::new(BodyId(0), 1);
                packet.mark = mark;
                let row = (end == 0).then(|| acknowledgement(&segment));
                self.call(end, row, |one, cx| one.receive(cx, &packet, &Payload::Tcp(segment)));
            } else {
                let row = match self.now == Time::ORIGIN {
                    true => "start".to_owned(),
                    false => format!("timer {}", self.milliseconds()),
                };
                self.call(woken, (woken == 0).then_some(row), |one, cx| one.wake(cx));
            }
        }
    }

    /// Hands over more data of the application at this time, and calls the sender.
    pub fn offer(&mut self, milliseconds: u64, segments: u64) {
        self.now = Time::ORIGIN + Span::from_millis(milliseconds);
        self.sender.offer(segments * DATA);
        self.call(0, Some(format!("offer {milliseconds}")), |one, cx| one.wake(cx));
    }

    fn milliseconds(&self) -> u64 {
        self.now.since(Time::ORIGIN).ticks() / Span::from_millis(1).ticks()
    }

    fn call(
        &mut self,
        end: usize,
        row: Option<String>,
        call: impl FnOnce(&mut dyn Endpoint, &mut HostCx<'_>) -> Time,
    ) {
        let mut out = Vec::new();
        let mut cx = HostCx { now: self.now, out: &mut out };
        let one: &mut dyn Endpoint = if end == 0 { &mut self.sender } else { self.receiver.as_mut() };
        self.next[end] = call(one, &mut cx);
        let mut left = Vec::new();
        for action in out {
            let Action::Send { payload: Payload::Tcp(segment), mark, .. } = action else {
                panic!("{action:?}")
            };
            match end {
                0 => left.push(self.data(segment, mark)),
                _ => self.ack(segment, mark),
            }
        }
        if let Some(row) = row {
            let (cwnd, ssthresh) = (self.gauge("cwnd"), self.gauge("ssthresh"));
            self.table.push(format!("{row} | {} | {cwnd} {ssthresh}", left.join(" ")));
        }
    }

    /// Records a segment that leaves the sender. Returns its name, with `*` for one that carries
    /// CWR.
    fn data(&mut self, segment: Segment, mark: Mark) -> String {
        assert_eq!((segment.sequence % DATA, u64::from(segment.length)), (0, DATA));
        let number = segment.sequence / DATA;
        let times = self.sent.entry(number).or_insert(0);
        let name = format!("{number}{}", "r".repeat(*times));
        // RFC 3168, section 6.1.5: retransmissions are not ECN-capable.
        assert!(*times == 0 || !mark.is_ecn_capable(), "{name}");
        *times += 1;
        let is = |list: &[&str]| list.contains(&name.as_str());
        let late = self.script.late.iter().find(|(late, _)| *late == name);
        let mark = if is(self.script.marked) { mark.congested() } else { mark };
        if is(self.script.lost) || is(self.script.marked) || late.is_some() {
            self.used.insert(name.clone());
        }
        if !is(self.script.lost) {
            self.fly(1, segment, mark, late.map_or(0, |(_, late)| *late));
        }
        if segment.reduced { format!("{name}*") } else { name }
    }

    fn ack(&mut self, segment: Segment, mark: Mark) {
        assert!(!mark.is_ecn_capable());
        self.acks += 1;
        if !self.script.lost_acks.contains(&self.acks) {
            self.fly(0, segment, mark, 0);
        }
    }

    fn fly(&mut self, to: usize, segment: Segment, mark: Mark, late: u64) {
        self.order += 1;
        let at = self.now + Span::from_millis(50 + late);
        self.flying.insert((at, self.order), (to, segment, mark));
    }

    pub fn gauge(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.sender.gauges(&mut |gauge, value| {
            if gauge == name {
                found = (value * 1000.0).round() / 1000.0;
            }
        });
        found
    }

    /// Segments that the receiver has in order.
    pub fn delivered(&self) -> u64 {
        let mut delivered = 0.0;
        self.receiver.gauges(&mut |_, value| delivered = value);
        delivered as u64 / DATA
    }
}

/// An acknowledgement by segments: the next one that is expected, then the SACK blocks, first to
/// last.
fn acknowledgement(segment: &Segment) -> String {
    let blocks: Vec<String> = segment
        .blocks()
        .map(|block| match (block.start / DATA, block.end / DATA - 1) {
            (start, end) if start == end => format!(" {start}"),
            (start, end) => format!(" {start}-{end}"),
        })
        .collect();
    let sack = if blocks.is_empty() { String::new() } else { format!(" sack{}", blocks.concat()) };
    let echo = if segment.echo { " echo" } else { "" };
    format!("ack {}{sack}{echo}", segment.acknowledgement / DATA)
}

/// Runs a transfer to its end, and compares the segments that leave at each acknowledgement: a row
/// has the packet that came, the segments that leave, and cwnd and ssthresh in segments after that.
#[track_caller]
pub fn check(params: &TcpParams, segments: u64, script: Script, table: &str) -> Wire {
    let scripted =
        script.lost.iter().chain(script.marked).copied().chain(script.late.iter().map(|(name, _)| *name));
    let scripted: BTreeSet<String> = scripted.map(str::to_owned).collect();
    let mut wire = Wire::new(params, segments, script);
    wire.run(600_000);
    expect(&wire, table);
    assert_eq!(wire.used, scripted, "the script names what is not sent");
    assert_eq!(wire.delivered(), segments);
    wire
}

/// Compares the table of segments that have left.
#[track_caller]
pub fn expect(wire: &Wire, table: &str) {
    let tidy = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected: Vec<String> = table.lines().map(tidy).filter(|line| !line.is_empty()).collect();
    let seen: Vec<String> = wire.table.iter().map(|line| tidy(line)).collect();
    if let Some(at) = (0..expected.len().max(seen.len())).find(|at| expected.get(*at) != seen.get(*at)) {
        panic!(
            "row {at}: expected {:?}, seen {:?}\nthe whole table:\n{}",
            expected.get(at),
            seen.get(at),
            seen.join("\n")
        );
    }
}
