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
//! - `form = "linux"` is the kernel's CoDel: its clock, its square root and its short queue differ.
//! - A dropping state that begins less than 16 intervals after the last drop was due continues with
//!   the count of the previous one, less the count with which that one began, as in the RFC's
//!   pseudo-code.

use super::codel_linux as linux;
use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words,
};
use crate::units::{Span, Time};
use alloc::format;

words! {
    /// Form of CoDel.
    #[derive(Default)]
    pub enum Form {
        /// The RFC's.
        #[default]
        Rfc = "rfc",
        /// That of Linux 6.1: times in units of 1,024 ns, an approximate square root, and the whole
        /// port in place of the flow's queue.
        Linux = "linux",
    }
}

parameters! {
    /// Parameters of CoDel.
    #[derive(Copy, Eq)]
    pub struct CodelParams {
        /// Acceptable standing sojourn time, above 0
        target: Span = Span::from_millis(5),
        /// Time for which the sojourn time exceeds `target` before a packet is dropped: about the
        /// longest round-trip time, above 0
        interval: Span = Span::from_millis(100),
        /// Longest queue, the packet in service included; without it, limited only by the switch's
        /// memory
        limit: Option<Limit>,
        /// The RFC's algorithm, or Linux's: times in units of 1,024 ns, an approximate square root,
        /// and a port's whole queue where the RFC has a flow's
        form: Form = Form::Rfc,
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
        let params = match self.form {
            Form::Rfc => *self,
            Form::Linux => CodelParams {
                target: linux::whole_units(self.target),
                interval: linux::whole_units(self.interval),
                ..*self
            },
        };
        Ok(Codel {
            params,
            largest: 0,
            above_until: None,
            dropping: false,
            next: Time::from_ticks(0),
            count: 0,
            inverse_root: linux::ONE,
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
            form: Form::Rfc,
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
    /// Its approximate inverse square root, under Linux's form.
    inverse_root: u16,
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
        let (arrived, few) = match self.params.form {
            Form::Rfc => (packet.arrived, at.queue.bytes <= u64::from(self.largest)),
            Form::Linux => (linux::clock(packet.arrived), at.port.bytes <= linux::LARGEST),
        };
        if now.since(arrived) < self.params.target || few {
            self.above_until = None;
            return false;
        }
        let Some(until) = self.above_until else {
            self.above_until = Some(now + self.params.interval);
            return false;
        };
        match self.params.form {
            Form::Rfc => now >= until,
            Form::Linux => now > until,
        }
    }

    /// Takes the first or the next count of a dropping state.
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root = if count == 1 { linux::ONE } else { linux::refined(self.inverse_root, count) };
    }

    fn schedule_after(&mut self, at: Time) {
        self.next = at
            + match self.params.form {
                Form::Rfc => control_law(self.params.interval, self.count),
                Form::Linux => linux::control_law(self.params.interval, self.inverse_root),
            };
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
        self.set_count(if since > 1 && now.since(self.next) < window { since } else { 1 });
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
        let now = match self.params.form {
            Form::Rfc => cx.now,
            Form::Linux => linux::clock(cx.now),
        };
        let may_drop = self.may_drop(now, packet, at);
        match before {
            // The packet behind the first that is dropped leaves in any case.
            Chosen::First => return Verdict::Accept,
            Chosen::Due if may_drop => self.schedule_after(self.next),
            _ => {}
        }
        if !may_drop {
            self.dropping = false;
        } else if !self.dropping {
            self.enter_dropping(now);
            self.chosen = Chosen::First;
        } else if now >= self.next {
            self.set_count(self.count.saturating_add(1));
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
