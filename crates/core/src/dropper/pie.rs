//! PIE (RFC 8033): arriving packets are dropped or marked at random, with a probability that a
//! proportional-integral controller updates by how long the queue takes to be sent.
//!
//! ```text
//! at every update   p ← p + scale(p) · (α · (delay − target) + β · (delay − delay before))
//! ```
//!
//! with the RFC's table for scale(p), its limit of 0.02 an update from p = 0.1 on (section 5.5),
//! its decay by 0.98 while the delay is zero, its burst allowance (section 4.4), and drops spread
//! by an accumulated probability (section 5.4). Policies have no timers: updates that are due are
//! made at the next call, with the queue as it was.
//!
//! Choices where the RFC leaves one:
//! - The delay is the queue over the departure rate, or with `delay = "timestamps"` that of the
//!   packet that was selected last, zero when it left nothing behind (both of section 5.2).
//! - The departure rate is that of the link, where it is known, until a first measurement is
//!   complete, and again once it changes; without either the delay is taken as zero.
//! - A measurement begins at a departure that leaves at least 16 KiB behind, and ends when as much
//!   has departed since. It divides by the bytes that have departed, which may be more than 16 KiB.
//! - The queue includes the packet in service, whole.
//! - The burst allowance is decremented and reset at updates.
//! - A queue that does not change for more than 65 536 updates counts as unchanged for 65 536.
//!
//! `form = "linux"` is the kernel's PIE: an update adds 0.02 more at a delay above 250 ms, p decays
//! by 1/64 while nothing waits, and packets are spared behind less than two typical packets. The
//! queue does not include the packet in service. With time stamps, packets are spared by the delay
//! of the latest packet, and the burst allowance is decremented from one selected packet to the
//! next. With departures, a measurement counts packets as they are selected, from the one that
//! begins it on; its weight is 1/8; the delay is 0 before the first one, and again once nothing is
//! dropped; and the burst allowance is decremented by each measurement.

use super::pie_departures::Departures;
use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words,
};
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use alloc::boxed::Box;
use alloc::format;

parameters! {
    /// Parameters of PIE.
    #[derive(Copy)]
    pub struct PieParams {
        /// Target of the queueing delay, above 0
        target: Span = Span::from_millis(15),
        /// Time from one update of the drop probability to the next, above 0
        update: Span = Span::from_millis(15),
        /// Length of a burst that passes before packets are dropped at random
        max_burst: Span = Span::from_millis(150),
        /// Weight of the delay's distance from `target`, per second
        alpha: f64 as Number(0.0, 1000.0) = 0.125,
        /// Weight of the delay's change since the last update, per second
        beta: f64 as Number(0.0, 1000.0) = 1.25,
        /// Drop probability below which ECN-capable packets are marked; from there on they are
        /// dropped like others
        mark_below: f64 = 0.1,
        /// Length of a typical packet: with no more than two of them queued, nothing is dropped at
        /// random
        mean_packet: u32 as Size = 1_500,
        /// Longest queue, the packet in service included; without it, limited only by the switch's
        /// memory
        limit: Option<Limit>,
        /// Estimate of the queueing delay: the queue over the departure rate, or the delay of the
        /// packet that was selected last, as in Linux
        delay: Delay = Delay::Departures,
        /// Details of the algorithm: those of RFC 8033, or those of Linux
        form: Form = Form::Rfc,
    }
}

words! {
    /// Details of the algorithm.
    #[derive(Default)]
    pub enum Form {
        /// Those of RFC 8033.
        #[default]
        Rfc = "rfc",
        /// Those of Linux.
        Linux = "linux",
    }
}

words! {
    /// Estimate of the queueing delay.
    pub enum Delay {
        /// The queue over the departure rate.
        Departures = "departures",
        /// The delay of the packet that was selected last.
        Timestamps = "timestamps",
    }
}

impl PolicyParams for PieParams {
    // Boxed: a dropper of each flow takes as much as the largest.
    type Policy = Box<Pie>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "pie",
        title: "PIE",
        role: Role::Dropper,
        help: "Proportional integral controller enhanced: drops or marks arriving packets at random, with a probability that \
               keeps the queueing delay near a target.",
        source: "RFC 8033",
        params: PieParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Box<Pie>, Refused> {
        Ok(Box::new(Pie {
            params: *self,
            next: None,
            queue: 0,
            waited: 0.0,
            selected: None,
            control: Controller { p: 0.0, before: 0.0, burst: self.max_burst },
            accumulated: 0.0,
            departures: Departures::default(),
        }))
    }

    fn example() -> PieParams {
        PieParams {
            target: Span::from_millis(20),
            update: Span::from_millis(10),
            max_burst: Span::from_millis(50),
            alpha: 0.125,
            beta: 1.25,
            mark_below: 0.2,
            mean_packet: 1_000,
            limit: Some(Limit::Packets(60)),
            delay: Delay::Departures,
            form: Form::Rfc,
        }
    }

    fn marking(&self) -> Marking {
        if self.mark_below > 0.0 { Marking::EcnCapable { by: Some("mark_below") } } else { Marking::Never }
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

/// Delay above which Linux's form adds more to the probability, in seconds.
const LONG_DELAY: f64 = 0.25;
/// Most updates of a queue that stands still.
const MAX_UPDATES: u32 = 1 << 16;
/// The accumulated probability below which no packet is chosen.
const FEW: f64 = 0.85;
/// The accumulated probability at or above which a packet is always chosen.
const MANY: f64 = 8.5;

/// State of the controller, changed by updates.
#[derive(Clone, Copy, PartialEq)]
struct Controller {
    /// The drop probability.
    p: f64,
    /// The delay at the last update, in seconds.
    before: f64,
    /// Remaining burst allowance.
    burst: Span,
}

impl Controller {
    /// Updates the probability at this delay, which may not be known, while `waiting` bytes wait.
    /// Returns true if nothing is dropped and the burst allowance is whole again.
    fn update(&mut self, (delay, knows_delay): (f64, bool), waiting: u64, params: &PieParams) -> bool {
        let target = params.target.as_secs_f64();
        let mut change = params.alpha * (delay - target) + params.beta * (delay - self.before);
        change /= match self.p {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.p >= 0.1 {
            change = change.min(0.02);
        }
        let is_linux = params.form == Form::Linux;
        if is_linux && delay > LONG_DELAY {
            change += 0.02;
        }
        self.p += change;
        if delay == 0.0 && self.before == 0.0 && !(is_linux && waiting > 0) {
            self.p *= if is_linux { 1.0 - 1.0 / 64.0 } else { 0.98 };
        }
        self.p = self.p.clamp(0.0, 1.0);
        let calm = knows_delay && self.p == 0.0 && delay < target / 2.0 && self.before < target / 2.0;
        self.burst = match calm {
            true => params.max_burst,
            false if is_linux => self.burst,
            false => self.burst - params.update,
        };
        self.before = delay;
        calm
    }
}

/// PIE over one queue.
pub struct Pie {
    params: PieParams,
    /// Time of the next update; `None` before the first call.
    next: Option<Time>,
    /// The queue since the last call, in bytes.
    queue: u64,
    /// The delay of the packet that was selected last, in seconds.
    waited: f64,
    /// When that was, and its length while it is in service; under Linux's form.
    selected: Option<(Time, u32)>,
    control: Controller,
    /// Drop probabilities of the packets since the last one that was chosen.
    accumulated: f64,
    departures: Departures,
}

impl Pie {
    /// Makes the updates that are due, while the queue stood at `queue` bytes.
    #[inline]
    fn catch_up(&mut self, now: Time, queue: u64) {
        let next = *self.next.get_or_insert(now + self.params.update);
        if next <= now {
            self.update(now, next, queue);
        }
    }

    /// Returns the estimated delay of a queue, in seconds.
    fn delay(&self, queue: u64) -> f64 {
        match self.params.delay {
            Delay::Departures => self.departures.delay(queue.saturating_sub(self.in_service())),
            Delay::Timestamps => self.waited,
        }
    }

    /// Bytes in service that do not count in the queue.
    fn in_service(&self) -> u64 {
        self.selected.map_or(0, |(_, len)| len.into())
    }

    #[cold]
    fn update(&mut self, now: Time, next: Time, queue: u64) {
        let delay = self.delay(queue);
        let waiting = queue.saturating_sub(self.in_service());
        // Linux forgets the rate once nothing is dropped, and has a delay of 0 until the next one.
        let measures = self.params.form == Form::Linux && self.params.delay == Delay::Departures;
        let knows_delay = !measures || self.departures.has_measured();
        let update = self.params.update.ticks();
        let due = now.since(next).ticks() / update + 1;
        for _ in 0..due.min(u64::from(MAX_UPDATES)) {
            let before = self.control;
            if self.control.update((delay, knows_delay), waiting, &self.params) && measures {
                self.departures = Departures::default();
            }
            if self.control == before {
                break;
            }
        }
        self.next = Some(next + Span::from_ticks(due.saturating_mul(update)));
    }

    /// Returns true if an arriving packet is chosen.
    fn chooses(&mut self, queue: u64, rng: &mut Rng) -> bool {
        let Controller { p, before, burst } = self.control;
        let is_latest = self.params.form == Form::Linux && self.params.delay == Delay::Timestamps;
        let delay = if is_latest { self.waited } else { before };
        let calm = delay < self.params.target.as_secs_f64() / 2.0 && p < 0.2;
        let few = 2 * u64::from(self.params.mean_packet);
        let is_short = if self.params.form == Form::Linux { queue < few } else { queue <= few };
        if burst > Span::ZERO || calm || is_short {
            return false;
        }
        if p == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += p;
        let chosen = self.accumulated >= FEW && (self.accumulated >= MANY || rng.chance(p));
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }
}

impl Dropper for Pie {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.catch_up(now, self.queue);
        self.departures = match self.params.form {
            Form::Rfc => Departures::of_link(rate),
            Form::Linux => self.departures,
        };
    }

    fn looks_at_head(&self) -> bool {
        self.params.delay == Delay::Timestamps || self.params.form == Form::Linux
    }

    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        self.catch_up(cx.now, at.queue.bytes + u64::from(packet.len));
        let is_last = at.queue.packets == 0;
        self.waited = if is_last { 0.0 } else { cx.now.since(packet.arrived).as_secs_f64() };
        if self.params.form == Form::Linux {
            let (before, _) = self.selected.unwrap_or((cx.now, 0));
            let passed = match self.params.delay {
                Delay::Timestamps => cx.now.since(before),
                Delay::Departures => {
                    let took = self.departures.selected_in_linux(cx.now, packet.len, at.queue.bytes);
                    took.unwrap_or(Span::ZERO)
                }
            };
            self.control.burst = self.control.burst - passed;
            self.selected = Some((cx.now, packet.len));
        }
        Verdict::Accept
    }

    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        self.catch_up(cx.now, at.queue.bytes);
        let verdict = if self.params.limit.is_some_and(|limit| !at.has_room(limit, packet.len)) {
            Verdict::Drop(Reason::QueueLimit)
        } else if !self.chooses(at.queue.bytes.saturating_sub(self.in_service()), cx.rng) {
            Verdict::Accept
        } else if self.control.p < self.params.mark_below {
            Verdict::Congested(Reason::EarlyDrop)
        } else {
            Verdict::Drop(Reason::EarlyDrop)
        };
        let joins = verdict.on(packet.mark).is_ok();
        self.queue = at.queue.bytes + if joins { u64::from(packet.len) } else { 0 };
        verdict
    }

    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy, how: Left) {
        let len = if how == Left::Refused { 0 } else { u64::from(packet.len) };
        self.catch_up(cx.now, at.queue.bytes + len);
        self.queue = at.queue.bytes;
        if how == Left::Sent {
            self.selected = self.selected.map(|(at, _)| (at, 0));
        }
        if how == Left::Sent && self.params.form == Form::Rfc {
            self.departures.departed(cx.now, packet.len, at.queue.bytes);
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("drop_probability", self.control.p);
        show("queue_delay", self.delay(self.queue));
        show("burst_allowance", self.control.burst.as_secs_f64());
    }
}
