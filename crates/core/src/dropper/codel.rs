//! CoDel (RFC 8289): while packets are queued for longer than a target for an interval, packets are
//! dropped or marked at the head of the queue, at decreasing intervals.
//!
//! ```text
//! ok_to_drop: sojourn time ≥ target and more than a largest packet behind it, for an interval by now
//! t ← t + interval / √count                            from one drop to the next while it is so
//! ```
//!
//! Choices where the RFC leaves one:
//! - The largest packet (`maxpacket`) is the largest that has arrived.
//! - A marked packet leaves, so at most one packet is marked each time the link is free. Marks
//!   count as drops do, and the next is due at the control law's next time.
//! - interval / √count is rounded down to a tick; `count` stops at 2³² − 1.
//! - A dropping state that begins less than 16 intervals after the last drop was due continues with
//!   the count of the previous one, less the count with which that one began, as in the RFC's
//!   pseudo-code.

use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Span, Time};

parameters! {
    /// Parameters of CoDel.
    #[derive(Eq)]
    pub struct CodelParams {
        /// Acceptable standing sojourn time, above 0
        target: Span = Span::from_millis(5),
        /// Time for which the sojourn time exceeds `target` before a packet is dropped: about the
        /// longest round-trip time, above 0
        interval: Span = Span::from_millis(100),
        /// Longest queue, the packet in service included; without it, limited only by the switch's
        /// memory
        limit: Option<Limit>,
    }
}

impl PolicyParams for CodelParams {
    type Policy = Codel;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "codel",
        title: "CoDel",
        role: Role::Dropper,
        help: "Controlled delay: drops or marks packets at the head of the queue while all of them have waited for longer \
               than a target.",
        source: "RFC 8289",
        params: CodelParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Codel, Refused> {
        Ok(Codel {
            params: *self,
            largest: 0,
            above_until: None,
            dropping: false,
            next: Time::from_ticks(0),
            count: 0,
            before: 0,
            chosen: Chosen::No,
            dropped: false,
        })
    }

    fn example() -> CodelParams {
        CodelParams {
            target: Span::from_millis(10),
            interval: Span::from_millis(80),
            limit: Some(Limit::Packets(60)),
        }
    }

    fn marking(&self) -> Marking {
        Marking::EcnCapable { by: None }
    }

    fn check(&self) -> Result<(), Fault> {
        for (key, span) in [("target", self.target), ("interval", self.interval)] {
            if span == Span::ZERO {
                return Err(Fault::at(key, format!("`{key}` is zero")));
            }
        }
        Ok(())
    }
}

/// Reason for which the previous packet was chosen.
#[derive(Clone, Copy, PartialEq)]
enum Chosen {
    /// It was not chosen.
    No,
    /// The dropping state began with it.
    First,
    /// It was due by the control law.
    Due,
}

/// CoDel over one queue.
pub struct Codel {
    params: CodelParams,
    /// The largest packet that has arrived, in bytes.
    largest: u32,
    /// Time at which the sojourn time will have been above the target for an interval
    /// (`first_above_time`).
    above_until: Option<Time>,
    dropping: bool,
    /// Time of the next drop (`drop_next`).
    next: Time,
    /// Drops since the dropping state began, as the control law counts them.
    count: u32,
    /// Count at the start of the dropping state (`lastcount`).
    before: u32,
    chosen: Chosen,
    /// True if the chosen packet was dropped, not marked.
    dropped: bool,
}

/// The interval over the square root of the count, rounded down to a tick.
fn control_law(interval: Span, count: u32) -> Span {
    let ticks = u128::from(interval.ticks());
    Span::from_ticks((ticks * ticks / u128::from(count.max(1))).isqrt() as u64)
}

impl Codel {
    /// Returns true if the packet may be dropped (`dodequeue`).
    fn may_drop(&mut self, now: Time, packet: &Packet, at: &Occupancy) -> bool {
        let sojourn = now.since(packet.arrived);
        if sojourn < self.params.target || at.queue.bytes <= u64::from(self.largest) {
            self.above_until = None;
            return false;
        }
        now >= *self.above_until.get_or_insert(now + self.params.interval)
    }

    fn schedule_after(&mut self, at: Time) {
        self.next = at + control_law(self.params.interval, self.count);
    }

    /// Records that the chosen packet, if there was one, was marked and has left.
    fn marked(&mut self) {
        if self.chosen == Chosen::Due {
            self.schedule_after(self.next);
        }
        self.chosen = Chosen::No;
    }

    fn enter_dropping(&mut self, now: Time) {
        let since = self.count.saturating_sub(self.before);
        let window = Span::from_ticks(self.params.interval.ticks().saturating_mul(16));
        self.count = if since > 1 && now.since(self.next) < window { since } else { 1 };
        self.dropping = true;
        self.schedule_after(now);
        self.before = self.count;
    }
}

impl Dropper for Codel {
    #[inline]
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        self.largest = self.largest.max(packet.len);
        match self.params.limit {
            Some(limit) if !at.has_room(limit, packet.len) => Verdict::Drop(Reason::QueueLimit),
            _ => Verdict::Accept,
        }
    }

    #[inline]
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        if !self.dropped {
            self.marked();
        }
        let before = core::mem::replace(&mut self.chosen, Chosen::No);
        self.dropped = false;
        let may_drop = self.may_drop(cx.now, packet, at);
        match before {
            // The packet behind the first that is dropped leaves in any case.
            Chosen::First => return Verdict::Accept,
            Chosen::Due if may_drop => self.schedule_after(self.next),
            _ => {}
        }
        if !may_drop {
            self.dropping = false;
        } else if !self.dropping {
            self.enter_dropping(cx.now);
            self.chosen = Chosen::First;
        } else if cx.now >= self.next {
            self.count = self.count.saturating_add(1);
            self.chosen = Chosen::Due;
        }
        match self.chosen {
            Chosen::No => Verdict::Accept,
            Chosen::First | Chosen::Due => Verdict::Congested(Reason::SojournTime),
        }
    }

    fn left(&mut self, _: &mut Ctx<'_>, _: &Packet, _: &Occupancy, how: Left) {
        match how {
            Left::DroppedAtHead => self.dropped = self.chosen != Chosen::No,
            Left::Sent => self.marked(),
            _ => {}
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("dropping", f64::from(u8::from(self.dropping)));
        show("drop_count", f64::from(self.count));
    }
}
