//! A dropper in front of a link that sends in order of arrival, and a record of all calls of the
//! dropper.

use crate::common::{pick, rate};
use std::collections::VecDeque;
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::dropper::{AnyDropper, BuiltInDropper, Dropper, DropperKind, Left, Occupancy};
use tidegate_core::packet::{BodyId, Colour, FlowIx, Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Rate, Span, Time};

/// A call of the dropper, with its verdict if it has one.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Rate(Option<Rate>),
    Arrive(Packet, Verdict),
    Head(Packet, Verdict),
    Left(Packet),
}

/// Returns true if the packet goes on.
pub fn passes(packet: &Packet, verdict: Verdict) -> bool {
    match verdict {
        Verdict::Accept => true,
        Verdict::Congested(_) => packet.mark.ecn() != 0,
        Verdict::Drop(_) => false,
    }
}

pub struct Line {
    dropper: AnyDropper,
    rng: Rng,
    pub now: Time,
    /// Rate of the link, which the dropper is given if it is told the rate.
    rate: Rate,
    queue: VecDeque<Packet>,
    /// Content of the queue.
    held: Count,
    /// Time at which the packet in service, the first of the queue, is out.
    done: Option<Time>,
    pub events: Vec<(Time, Event)>,
}

impl Line {
    pub fn new(start: Time, kind: &BuiltInDropper, rate: Rate, told: bool, rng: Rng) -> Line {
        let dropper = DropperKind::BuiltIn(kind.clone()).build().unwrap();
        let mut line = Line {
            dropper,
            rng,
            now: start,
            rate,
            queue: VecDeque::new(),
            held: Count::default(),
            done: None,
            events: Vec::new(),
        };
        line.set_rate(rate, told);
        line
    }

    pub fn set_rate(&mut self, rate: Rate, told: bool) {
        self.rate = rate;
        let told = told.then_some(rate);
        self.dropper.set_rate(self.now, told);
        self.events.push((self.now, Event::Rate(told)));
    }

    fn at(&self, queue: Count) -> Occupancy {
        Occupancy { queue, flow: queue, port: queue, pool: queue, limit: None }
    }

    pub fn gauge(&self, wanted: &str) -> f64 {
        let mut found = None;
        self.dropper.gauges(&mut |name, value| {
            if name == wanted {
                found = Some(value);
            }
        });
        found.unwrap()
    }

    /// Passes an arriving packet to the dropper. Returns true if it joins the queue.
    pub fn arrive(&mut self, mut packet: Packet) -> bool {
        packet.arrived = self.now;
        let queue = self.held;
        let at = self.at(queue);
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut Vec::new() };
        let verdict = self.dropper.arrive(&mut cx, &packet, &at);
        self.events.push((self.now, Event::Arrive(packet, verdict)));
        let joins = passes(&packet, verdict);
        if joins {
            self.queue.push_back(packet);
            self.held.add(packet.len);
            self.start();
        }
        joins
    }

    /// The link starts the next packet that the dropper lets go.
    fn start(&mut self) {
        while self.done.is_none()
            && let Some(first) = self.queue.pop_front()
        {
            self.held.take(first.len);
            let queue = self.held;
            let at = self.at(queue);
            let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut Vec::new() };
            let verdict = self.dropper.head(&mut cx, &first, &at);
            self.events.push((self.now, Event::Head(first, verdict)));
            if passes(&first, verdict) {
                self.queue.push_front(first);
                self.held.add(first.len);
                self.done = Some(self.now + self.rate.time_for(first.len));
            } else {
                self.left(&first, Left::DroppedAtHead);
            }
        }
    }

    fn left(&mut self, packet: &Packet, how: Left) {
        let queue = self.held;
        let at = self.at(queue);
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut Vec::new() };
        self.dropper.left(&mut cx, packet, &at, how);
        self.events.push((self.now, Event::Left(*packet)));
    }

    /// Finishes the packets that are out by then.
    pub fn run(&mut self, until: Time) {
        while let Some(done) = self.done.filter(|done| *done <= until) {
            (self.now, self.done) = (done, None);
            if let Some(sent) = self.queue.pop_front() {
                self.held.take(sent.len);
                self.left(&sent, Left::Sent);
            }
            self.start();
        }
        self.now = until;
    }

    pub fn wait(&mut self, span: Span) {
        self.run(self.now + span);
    }

    /// Every verdict, in order.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |(_, event): &(Time, Event)| match event {
            Event::Arrive(_, verdict) | Event::Head(_, verdict) => Some(*verdict),
            _ => None,
        };
        self.events.iter().filter_map(verdict).collect()
    }
}

/// Traffic drawn at random: bursts and pauses, loads from a half to three, packets of all sizes,
/// colours and ECN codepoints; rates from 1 bit/s to 10 Tbit/s that change in mid-air and are not
/// always known; idle for a year.
pub fn record(kind: &BuiltInDropper, seed: u64, packets: u32) -> Line {
    record_from(kind, seed, packets, Time::ORIGIN, &|flow| flow)
}

pub fn record_from(
    kind: &BuiltInDropper,
    seed: u64,
    packets: u32,
    start: Time,
    rename: &dyn Fn(u32) -> u32,
) -> Line {
    let mut rng = Rng::named(seed, "traffic");
    let bits = pick(&mut rng, &[1, 64_000, 1_000_000, 1_000_000, 10_000_000, 10_000_000_000_000]);
    let sizes: &[u32] = match (bits, rng.below(3)) {
        (1, _) => &[1, 40],
        (_, 0) => &[1000],
        (_, 1) => &[40, 576, 1500],
        _ => &[1, 40, 1500, 65_536],
    };
    let told = rng.chance(0.8);
    let mut line = Line::new(start, kind, rate(bits), told, Rng::named(seed, "dropper"));
    let last = start + Span::from_secs(3 * 366 * 86_400);
    let mut load = 1.0;
    for body in 0..packets {
        let len = pick(&mut rng, sizes);
        let mut packet = Packet::new(BodyId(body), len);
        packet.flow = FlowIx(rename(rng.below(5) as u32));
        let ecn = pick(&mut rng, &[0, 0, 1, 2, 3]);
        let colour = pick(&mut rng, &[Colour::Green, Colour::Green, Colour::Yellow, Colour::Red]);
        packet.mark = Mark::from_ip(0, ecn).coloured(colour);
        line.arrive(packet);
        if rng.chance(0.01) {
            load = pick(&mut rng, &[0.5, 0.9, 1.1, 1.5, 3.0]);
        }
        if rng.chance(0.003) && bits > 1 {
            let told = rng.chance(0.8);
            line.set_rate(
                rate(pick(&mut rng, &[bits, bits.div_ceil(2), (2 * bits).min(bits.max(10_000_000))])),
                told,
            );
        }
        let mean = Span::from_ticks((rate(bits).time_for(len).ticks() as f64 / load) as u64);
        let gap = match rng.below(1000) {
            0 => Span::from_secs(pick(&mut rng, &[1, 60, 86_400, 366 * 86_400])),
            1..=4 => Span::from_ticks(mean.ticks().saturating_mul(200)),
            5..=300 => Span::ZERO,
            _ => rng.exponential(Span::from_ticks((mean.ticks() as f64 / 0.7) as u64)),
        };
        if line.now + gap < last {
            line.wait(gap);
        }
    }
    line
}
