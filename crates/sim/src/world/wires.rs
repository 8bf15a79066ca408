//! Links that lose packets, and links whose rate was recorded. All of this is out of the way of a world
//! that has none.

use super::{Event, Link, World};
use crate::event_queue::EventQueue;
use crate::fingerprint::Outcome;
use crate::network::{LinkPlan, Network};
use std::collections::BTreeMap;
use tidegate_core::link::{Loss, Trace, TracedLink};
use tidegate_core::packet::Packet;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// What links do besides carrying packets at their rates.
pub(super) struct Wires {
    /// One a link; `None` for a link that carries all it is given, at its rate.
    pub(super) of: Vec<Option<Wire>>,
    /// Packets that were lost, by flow.
    losses: BTreeMap<u32, u64>,
}

impl Wires {
    pub(super) fn new(network: &Network, seed: u64) -> Box<Wires> {
        let of = network.links.iter().map(|plan| Wire::new(plan, seed)).collect();
        Box::new(Wires { of, losses: BTreeMap::new() })
    }
}

/// What a link does besides carrying packets at its rate.
pub(super) struct Wire {
    loss: Loss,
    rng: Rng,
    traced: Option<TracedLink>,
    /// Packets that it has lost, since the warm-up.
    lost: u64,
    /// For how long it was sending until the sample before, and what its port had sent by then.
    sampled: (Span, u64),
}

impl Wire {
    fn new(plan: &LinkPlan, seed: u64) -> Option<Wire> {
        if !plan.loss.happens() && plan.trace.is_none() {
            return None;
        }
        Some(Wire {
            loss: plan.loss,
            rng: Rng::named(seed, &format!("link/{}", plan.name)),
            traced: plan.trace.as_ref().map(|trace| TracedLink::new(trace.clone(), Time::ORIGIN)),
            lost: 0,
            sampled: (Span::ZERO, 0),
        })
    }

    pub(super) fn loses(&self) -> bool {
        self.loss.happens()
    }

    /// For how long a link with a trace is said to have been sending, by
    /// [`sample_wires`](World::sample_wires).
    pub(super) fn sampled(&self) -> Option<Span> {
        self.traced.as_ref().map(|_| self.sampled.0)
    }
}

impl<Q> World<Q> {
    fn traced(&self, ix: usize) -> Option<&TracedLink> {
        self.wires.of[ix].as_ref()?.traced.as_ref()
    }

    /// Packets of a flow that links on its way have lost, of those sent since the warm-up.
    pub fn lost(&self, flow: usize) -> u64 {
        self.wires.losses.get(&(flow as u32)).copied().unwrap_or(0)
    }

    /// Packets that a link has lost since the warm-up.
    pub(super) fn lost_on(&self, ix: usize) -> u64 {
        self.wires.of[ix].as_ref().map_or(0, |wire| wire.lost)
    }

    pub(super) fn lost_anew(&mut self) {
        self.wires.of.iter_mut().flatten().for_each(|wire| wire.lost = 0);
    }

    /// Bytes that a link with a trace could have sent between two moments; `None` without one.
    pub(super) fn offered(&self, ix: usize, from: Time, until: Time) -> Option<u64> {
        let trace = self.traced(ix)?.trace();
        let before = |at: Time| trace.opportunities_within(at.since(Time::ORIGIN));
        Some((before(until) - before(from)).saturating_mul(u64::from(Trace::BYTES)))
    }

    /// For how long links were sending until `at`, where a sample is taken. A link with a trace is said to
    /// be sending for the share of an interval that it used of what it was offered.
    pub(super) fn sample_wires(&mut self, at: Time, spacing: Span) {
        for ix in 0..self.wires.of.len() {
            let Some(offered) = self.offered(ix, at.before(spacing), at) else { continue };
            let Link { node, port, .. } = self.links[ix];
            let bytes = self.nodes[node as usize].switch.sent(port).bytes;
            let Some(wire) = &mut self.wires.of[ix] else { continue };
            let (busy, before) = wire.sampled;
            let share = if offered > 0 { (bytes - before) as f64 / offered as f64 } else { 0.0 };
            wire.sampled = (busy + Span::from_ticks((spacing.ticks() as f64 * share) as u64), bytes);
        }
    }
}

impl<Q: EventQueue> World<Q> {
    /// Whether a packet may start now on a link that is free. If not, and something waits for it, the next
    /// opportunity is noted.
    #[inline(never)]
    pub(super) fn opens(&mut self, ix: u32) -> bool {
        let Some(traced) = self.wires.of[ix as usize].as_mut().and_then(|wire| wire.traced.as_mut()) else {
            return true;
        };
        let Link { node, port, .. } = self.links[ix as usize];
        let switch = &self.nodes[node as usize].switch;
        if !switch.is_idle(port) || switch.backlog(port).packets == 0 {
            // Nothing will start.
            return true;
        }
        let at = traced.opens(self.now);
        if at > self.now {
            self.events.set(Event::Departed(ix), at);
        }
        at == self.now
    }

    /// When a packet that starts now has left a link; `at` if that goes by its rate.
    #[inline(never)]
    pub(super) fn through(&mut self, ix: u32, at: Time, len: u32) -> Time {
        let traced = self.wires.of[ix as usize].as_mut().and_then(|wire| wire.traced.as_mut());
        traced.map_or(at, |traced| traced.departure(self.now, len))
    }

    /// Whether a link loses the packet that has left it.
    #[inline(never)]
    pub(super) fn is_lost(&mut self, ix: u32) -> bool {
        self.wires.of[ix as usize].as_mut().is_some_and(|wire| wire.loss.takes(&mut wire.rng))
    }

    #[inline(never)]
    pub(super) fn lose(&mut self, ix: u32, packet: &Packet) {
        let body = self.bodies[packet.body.0 as usize];
        self.free_bodies.push(packet.body.0);
        self.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Lost);
        if let Some(watch) = &mut self.watch {
            watch.dropped(ix, body.flow, body.sequence);
        }
        if let Some(wire) = &mut self.wires.of[ix as usize] {
            wire.lost += 1;
        }
        if body.born >= self.warm_at {
            *self.wires.losses.entry(body.flow).or_default() += 1;
        }
    }
}
