//! A sender and its receiver with a path of random faults between them, observed at every call of
//! the sender.

use crate::wire::{DATA, SIZE, setup};
use std::collections::BTreeMap;
use tidegate_core::endpoint::tcp::{Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload, Transport};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// A link with a queue in the data's direction, and the faults of packets.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// One way, in milliseconds.
    pub delay: u64,
    /// Time that the link needs for a segment, in microseconds.
    pub service: u64,
    /// Segments that the queue holds.
    pub queue: u64,
    /// Share of segments that are lost by chance, and that are dropped, or marked, from a quarter
    /// of the queue on.
    pub loss: f64,
    pub early: f64,
    /// Share of ECN-capable segments that are marked by chance.
    pub marked: f64,
    /// Share of acknowledgements that are lost.
    pub lost_acks: f64,
    /// Share of segments that come later than those behind them, and the greatest delay in
    /// milliseconds.
    pub late: f64,
    pub lateness: u64,
}

/// Values that the sender shows: windows and the data in flight in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauges {
    pub cwnd: f64,
    pub ssthresh: f64,
    pub flight: f64,
    pub srtt: f64,
    pub timeouts: f64,
    pub retransmissions: f64,
}

impl Gauges {
    pub fn of(sender: &Sender) -> Gauges {
        let mut seen = Gauges::default();
        sender.gauges(&mut |name, value| match name {
            "cwnd" => seen.cwnd = value,
            "ssthresh" => seen.ssthresh = value,
            "flight" => seen.flight = value,
            "srtt" => seen.srtt = value,
            "timeouts" => seen.timeouts = value,
            "retransmissions" => seen.retransmissions = value,
            _ => {}
        });
        seen
    }
}

/// A call of the sender: its values before and after, and the packet that had come.
pub struct Call<'c> {
    pub now: Time,
    pub before: Gauges,
    pub after: Gauges,
    /// The acknowledgement; `None` when the sender was woken.
    pub came: Option<&'c Segment>,
    /// The first byte that was not acknowledged before the call, and the end of the data sent
    /// before it.
    pub una: u64,
    pub max: u64,
    pub sent: &'c [Segment],
}

pub struct World {
    pub sender: Sender,
    receiver: Box<dyn Endpoint>,
    path: Path,
    rng: Rng,
    next: [Time; 2],
    flying: BTreeMap<(Time, u64), (usize, Segment, Mark)>,
    order: u64,
    pub now: Time,
    free: Time,
    una: u64,
    max: u64,
    /// Bytes that arrived, repeats included.
    pub arrived: u64,
}

impl World {
    pub fn new(params: &TcpParams, path: Path, segments: u64, seed: u64) -> World {
        let made = params.make().unwrap();
        let mut sender = Sender::new(&made, Time::NEVER, SIZE);
        sender.offer(segments.saturating_mul(DATA));
        World {
            sender,
            receiver: made.receiver(setup(), SIZE),
            path,
            rng: Rng::named(seed, "path"),
            next: [Time::ORIGIN, Time::NEVER],
            flying: BTreeMap::new(),
            order: 0,
            now: Time::ORIGIN,
            free: Time::ORIGIN,
            una: 0,
            max: 0,
            arrived: 0,
        }
    }

    /// Adds segments to the data at this many milliseconds.
    pub fn offer_at(&mut self, milliseconds: u64, segments: u64) {
        self.now = self.now.max(Time::ORIGIN + Span::from_millis(milliseconds));
        self.sender.offer(segments * DATA);
        self.next[0] = self.now;
    }

    /// Runs for this many milliseconds, or until no event is left.
    pub fn run(&mut self, milliseconds: u64, mut observe: impl FnMut(&Call<'_>)) {
        let until = Time::ORIGIN + Span::from_millis(milliseconds);
        loop {
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let woken = usize::from(self.next[1] < self.next[0]);
            let at = arrival.min(self.next[woken]);
            if at == Time::NEVER || at > until {
                return;
            }
            self.now = self.now.max(at);
            let (end, came) = match arrival <= self.next[woken] {
                true => {
                    let (end, segment, mark) = self.flying.pop_first().unwrap().1;
                    (end, Some((segment, mark)))
                }
                false => (woken, None),
            };
            let before = Gauges::of(&self.sender);
            let (una, max) = (self.una, self.max);
            let sent = self.call(end, came);
            if end == 0 {
                let came = came.as_ref().map(|(segment, _)| segment);
                let after = Gauges::of(&self.sender);
                observe(&Call { now: self.now, before, after, came, una, max, sent: &sent });
            }
        }
    }

    fn call(&mut self, end: usize, came: Option<(Segment, Mark)>) -> Vec<Segment> {
        let mut out = Vec::new();
        let mut cx = HostCx { now: self.now, out: &mut out };
        let one: &mut dyn Endpoint = if end == 0 { &mut self.sender } else { self.receiver.as_mut() };
        self.next[end] = match came {
            None => one.wake(&mut cx),
            Some((segment, mark)) => {
                let mut packet = Packet::new(BodyId(0), 1);
                packet.mark = mark;
                one.receive(&mut cx, &packet, &Payload::Tcp(segment))
            }
        };
        match (end, came) {
            (0, Some((segment, _))) => self.una = self.una.max(segment.acknowledgement),
            (1, Some((segment, _))) => self.arrived += u64::from(segment.length),
            _ => {}
        }
        let mut sent = Vec::new();
        for action in out {
            let Action::Send { payload: Payload::Tcp(segment), mark, .. } = action else {
                panic!("{action:?}")
            };
            self.max = self.max.max(segment.end());
            self.pass(1 - end, segment, mark);
            sent.push(segment);
        }
        sent
    }

    fn pass(&mut self, to: usize, segment: Segment, mut mark: Mark) {
        let Path { delay, service, queue, loss, early, marked, lost_acks, late, lateness } = self.path;
        let mut at = self.now + Span::from_millis(delay);
        if to == 0 {
            if self.rng.chance(lost_acks) {
                return;
            }
        } else {
            let service = Span::from_micros(service);
            let waits = if self.free > self.now { self.free.since(self.now) } else { Span::ZERO };
            let waiting = waits.ticks() / service.ticks();
            let is_early = waiting > queue / 4 && self.rng.chance(early);
            if mark.is_ecn_capable() && (is_early || self.rng.chance(marked)) {
                mark = mark.congested();
            } else if is_early || waiting >= queue || self.rng.chance(loss) {
                return;
            }
            self.free = self.free.max(self.now) + service;
            at = self.free + Span::from_millis(delay);
            if self.rng.chance(late) {
                at += Span::from_micros(self.rng.below(1000 * lateness));
            }
        }
        self.order += 1;
        self.flying.insert((at, self.order), (to, segment, mark));
    }
}
