//! Coupled PI2 (RFC 9332, appendix A.1): packets are dropped or marked as they are sent, L4S packets
//! with a probability that is coupled to that of Classic ones.
//!
//! ```text
//! at every update   p' ← p' + α · (delay − target) + β · (delay − delay before)
//! Classic           p_C = p'²                                 dropped, or marked if ECN-capable
//! L4S               p_L = max(ramp(L4S delay), p_CL)          marked, where p_CL = k · p'
//! ```
//!
//! A Classic flow's rate goes with 1 / √p_C, that of a scalable one with 1 / p_L: the square makes
//! them comparable. A packet with ECT(1) or CE is L4S, any other is Classic (RFC 9331, section 5.1).
//! The delay is that of the Classic packet that has waited longest. Choices are spread, without
//! random numbers: a queue's probabilities are summed, and the packet at which the sum passes 1 is
//! chosen (`recur`).
//!
//! From p_CL = 1 on (saturation) L4S packets are dropped with p_C as well, and from p_C = 1 / k² on
//! Classic ones are dropped even if they are ECN-capable.
//!
//! Choices where the RFC leaves one:
//! - p' stays from 0 to 1, and p_CL at most 1.
//! - The delay of an L4S packet is that of the packet itself, and `th_len` counts the L4S packets
//!   behind it.
//! - The first update is due one interval after the first packet. Policies have no timers: updates
//!   that are due are made at the next call, each with the delay of its time; of more than 65 536
//!   the last 65 536 are made.
//! - `limit` counts the packet itself, where the RFC counts a longest packet, and the packet in
//!   service.

use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Span, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;

parameters! {
    /// Parameters of coupled PI2.
    #[derive(Copy)]
    pub struct CoupledPi2Params {
        /// Target of the Classic queueing delay, above 0
        target: Span = Span::from_millis(15),
        /// Time from one update of the base probability to the next (Tupdate), above 0
        update: Span = Span::from_millis(16),
        /// Weight of the Classic delay's distance from `target`, per second
        alpha: f64 as Number(0.0, 1000.0) = 0.16,
        /// Weight of the Classic delay's change since the last update, per second
        beta: f64 as Number(0.0, 1000.0) = 3.2,
        /// Coupling factor: the L4S marking probability over the base probability
        k: f64 as Number(0.1, 100.0) = 2.0,
        /// L4S delay above which L4S packets are marked (minTh)
        min_th: Span = Span::from_micros(800),
        /// L4S delays above `min_th` over which the marking probability rises to 1; 0 is a step
        range: Span = Span::from_micros(400),
        /// L4S packets waiting behind one up to which its delay does not mark it
        th_len: u32 as Integer(0, 1_000_000) = 1,
        /// Longest queue, the packet in service included; without it, limited only by the switch's
        /// memory
        limit: Option<Limit>,
    }
}

impl PolicyParams for CoupledPi2Params {
    // Boxed: a dropper of each flow takes as much as the largest.
    type Policy = Box<CoupledPi2>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "coupled-pi2",
        title: "Coupled PI2",
        role: Role::Dropper,
        help: "Keeps the Classic queueing delay near a target and marks L4S packets (ECT(1) or CE) with a coupled \
               probability, or by their own short delay: the marking of DualPI2, without its scheduler.",
        source: "RFC 9332, appendix A.1",
        params: CoupledPi2Params::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Box<CoupledPi2>, Refused> {
        Ok(Box::new(CoupledPi2 {
            params: *self,
            next: None,
            control: Controller::default(),
            classic: Side::default(),
            l4s: Side::default(),
        }))
    }

    fn example() -> CoupledPi2Params {
        CoupledPi2Params {
            target: Span::from_millis(20),
            update: Span::from_millis(10),
            alpha: 0.16,
            beta: 3.2,
            k: 2.0,
            min_th: Span::from_millis(1),
            range: Span::ZERO,
            th_len: 2,
            limit: Some(Limit::Packets(60)),
        }
    }

    fn marking(&self) -> Marking {
        Marking::DualQueue
    }

    fn check(&self) -> Result<(), Fault> {
        for (key, span) in [("target", self.target), ("update", self.update)] {
            if span == Span::ZERO {
                return Err(Fault::at(key, format!("`{key}` is zero")));
            }
        }
        Ok(())
    }
}

/// Most updates that one call makes.
const MAX_UPDATES: u64 = 1 << 16;
/// The L4S marking probability of saturation (p_Lmax).
const SATURATED: f64 = 1.0;

/// The controller of the base probability.
#[derive(Clone, Copy, PartialEq, Default)]
struct Controller {
    /// The base probability (p').
    p: f64,
    /// The Classic delay at the last update, in seconds.
    before: f64,
}

impl Controller {
    fn update(&mut self, delay: f64, params: &CoupledPi2Params) {
        let distance = delay - params.target.as_secs_f64();
        let change = params.alpha * distance + params.beta * (delay - self.before);
        *self = Controller { p: (self.p + change).clamp(0.0, 1.0), before: delay };
    }

    /// The probability of Classic packets (p_C).
    fn classic(self) -> f64 {
        self.p * self.p
    }

    /// The coupled probability of L4S packets (p_CL).
    fn coupled(self, params: &CoupledPi2Params) -> f64 {
        (params.k * self.p).min(1.0)
    }
}

/// One of the two queues.
#[derive(Default)]
struct Side {
    /// Times of arrival of the packets that wait, in order.
    waiting: VecDeque<Time>,
    /// Sum of the probabilities since the last packet that was chosen, less 1 for it.
    sum: f64,
}

impl Side {
    fn join(&mut self, arrived: Time) {
        let place = self.waiting.partition_point(|other| *other <= arrived);
        self.waiting.insert(place, arrived);
    }

    /// Removes a packet that waits no more. Returns false if none arrived then.
    fn leave(&mut self, arrived: Time) -> bool {
        let place = self.waiting.partition_point(|other| *other < arrived);
        let found = self.waiting.get(place) == Some(&arrived);
        if found {
            self.waiting.remove(place);
        }
        found
    }

    /// Time for which the packet that has waited longest waits at `now`, in seconds.
    fn delay(&self, now: Time) -> f64 {
        self.waiting.front().map_or(0.0, |first| now.since(*first).as_secs_f64())
    }

    /// Returns true if the packet is chosen (`recur`).
    fn chooses(&mut self, probability: f64) -> bool {
        self.sum += probability;
        let chosen = self.sum > 1.0;
        if chosen {
            self.sum -= 1.0;
        }
        chosen
    }
}

/// Coupled PI2 over one queue, in which it tells L4S packets and Classic ones apart.
pub struct CoupledPi2 {
    params: CoupledPi2Params,
    /// Time of the next update; `None` before the first call.
    next: Option<Time>,
    control: Controller,
    classic: Side,
    l4s: Side,
}

impl CoupledPi2 {
    /// Makes the updates that are due.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        let next = *self.next.get_or_insert(now + self.params.update);
        if next <= now {
            self.update(now, next);
        }
    }

    #[cold]
    fn update(&mut self, now: Time, next: Time) {
        let update = self.params.update.ticks();
        let due = now.since(next).ticks() / update + 1;
        for nth in due.saturating_sub(MAX_UPDATES)..due {
            let before = self.control;
            let delay = self.classic.delay(next + Span::from_ticks(nth * update));
            self.control.update(delay, &self.params);
            if self.control == before && self.classic.waiting.is_empty() {
                break;
            }
        }
        self.next = Some(next + Span::from_ticks(due.saturating_mul(update)));
    }

    /// Removes a packet from its side. One that was marked as it waited may be on the other.
    fn leave(&mut self, packet: &Packet) {
        let (side, other) = match packet.mark.is_l4s() {
            true => (&mut self.l4s, &mut self.classic),
            false => (&mut self.classic, &mut self.l4s),
        };
        if !side.leave(packet.arrived) {
            other.leave(packet.arrived);
        }
    }

    /// The marking probability of an L4S packet by its own delay (p'_L, `laqm`).
    fn native(&self, delay: Span) -> f64 {
        let CoupledPi2Params { min_th, range, th_len, .. } = self.params;
        if self.l4s.waiting.len() <= th_len as usize || delay < min_th {
            0.0
        } else if delay >= min_th + range {
            1.0
        } else {
            (delay - min_th).as_secs_f64() / range.as_secs_f64()
        }
    }

    fn head_of_l4s(&mut self, delay: Span) -> Verdict {
        let coupled = self.control.coupled(&self.params);
        if coupled >= SATURATED {
            return if self.l4s.chooses(self.control.classic()) {
                Verdict::Drop(Reason::EarlyDrop)
            } else if self.l4s.chooses(coupled) {
                Verdict::Congested(Reason::EarlyDrop)
            } else {
                Verdict::Accept
            };
        }
        let native = self.native(delay);
        match self.l4s.chooses(native.max(coupled)) {
            true if native > coupled => Verdict::Congested(Reason::SojournTime),
            true => Verdict::Congested(Reason::EarlyDrop),
            false => Verdict::Accept,
        }
    }

    fn head_of_classic(&mut self) -> Verdict {
        let p = self.control.classic();
        let marks_up_to = (1.0 / (self.params.k * self.params.k)).min(1.0);
        match self.classic.chooses(p) {
            true if p >= marks_up_to => Verdict::Drop(Reason::EarlyDrop),
            true => Verdict::Congested(Reason::EarlyDrop),
            false => Verdict::Accept,
        }
    }
}

impl Dropper for CoupledPi2 {
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        self.catch_up(cx.now);
        if self.params.limit.is_some_and(|limit| !at.has_room(limit, packet.len)) {
            return Verdict::Drop(Reason::QueueLimit);
        }
        let side = if packet.mark.is_l4s() { &mut self.l4s } else { &mut self.classic };
        side.join(packet.arrived);
        Verdict::Accept
    }

    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Occupancy) -> Verdict {
        self.catch_up(cx.now);
        self.leave(packet);
        match packet.mark.is_l4s() {
            true => self.head_of_l4s(cx.now.since(packet.arrived)),
            false => self.head_of_classic(),
        }
    }

    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Occupancy, how: Left) {
        self.catch_up(cx.now);
        match how {
            // It has left its side when it was selected.
            Left::Sent | Left::DroppedAtHead => {}
            Left::PushedOut | Left::Refused | Left::Moved => self.leave(packet),
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("base_probability", self.control.p);
        show("drop_probability", self.control.classic());
        show("mark_probability", self.control.coupled(&self.params));
        show("queue_delay", self.control.before);
    }
}
