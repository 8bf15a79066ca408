//! Schedulers with lists of flows beside models of these lists: both get the same packets, at the
//! same times.

use super::lines::Lines;
use super::pick;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

/// Lists of flows, with the queues.
pub trait Model {
    /// Takes a packet of a flow, by its number and length.
    fn enqueue(&mut self, flow: usize, body: u32, len: u32);

    /// The packet that is sent next; `None` where there is none.
    fn dequeue(&mut self) -> Option<(u32, u32)>;
}

/// The link of a model.
struct Link {
    rate: Rate,
    /// End of service of the packet that is being sent.
    until: Option<Time>,
    sent: Vec<u32>,
}

impl Link {
    /// Sends all packets whose service begins by a time.
    fn run(&mut self, model: &mut impl Model, now: Time) {
        while self.until.is_none_or(|until| until <= now) {
            let at = self.until.unwrap_or(now);
            self.until = model.dequeue().map(|(body, len)| {
                self.sent.push(body);
                at + self.rate.time_for(len)
            });
            if self.until.is_none() {
                return;
            }
        }
    }
}

/// Sends 800 packets of flows at random, with one of these loads, through a port and a model, and
/// returns the numbers of those that each has sent, in order. `see` gets the model and the flow once
/// a packet has come.
pub fn beside<M: Model>(
    lines: &mut Lines,
    legs: &[Leg],
    model: &mut M,
    rng: &mut Rng,
    loads: &[f64],
    mut see: impl FnMut(&M, usize),
) -> (Vec<u32>, Vec<u32>) {
    let rate = lines.rates[0];
    let mut link = Link { rate, until: None, sent: Vec::new() };
    let load = pick(rng, loads);
    for _ in 0..800 {
        let (flow, len) = (rng.below(legs.len() as u64) as usize, pick(rng, &[40, 576, 1500, 9000]));
        let body = lines.arrive(&[legs[flow]], len);
        link.run(model, lines.world.now);
        model.enqueue(flow, body, len);
        see(model, flow);
        link.run(model, lines.world.now);
        let gap = rng.exponential(Span::from_ticks((rate.time_for(len).ticks() as f64 / load) as u64));
        let now = lines.world.now + gap;
        lines.run(now);
        link.run(model, now);
    }
    lines.drain();
    link.run(model, Time::NEVER);
    let real: Vec<u32> = lines.sent.iter().map(|sent| sent.packet.body.0).collect();
    assert_eq!(real.len(), 800);
    (real, link.sent)
}

/// Lets 1500 packets of flows at random through a port, with a load below the link's rate or above.
pub fn at_random(lines: &mut Lines, legs: &[Leg], rng: &mut Rng) {
    let mean = lines.rates[0].time_for(700).ticks() as f64 / pick(rng, &[0.8, 1.2, 3.0]);
    for _ in 0..1500 {
        let leg = pick(rng, legs);
        lines.arrive(&[leg], pick(rng, &[64, 576, 1500]));
        let now = lines.world.now + rng.exponential(Span::from_ticks(mean as u64));
        lines.run(now);
    }
    lines.drain();
}

/// Sends 60 packets of these flows in turn, with `gap` between them, beside what others have queued:
/// each waits for one packet of `longest` bytes in service at most.
pub fn assert_sparse(lines: &mut Lines, legs: &[Leg], gap: Span, len: u32, longest: u32) {
    let mut came = Vec::new();
    for leg in legs.iter().cycle().take(60) {
        let now = lines.world.now + gap;
        lines.run(now);
        came.push((lines.arrive(&[*leg], len), now));
    }
    lines.drain();
    for (body, at) in came {
        let waited = lines.sent.iter().find(|sent| sent.packet.body.0 == body).unwrap().at.since(at);
        assert!(waited <= lines.rates[0].time_for(longest), "{body} waited {waited:?}");
    }
}
