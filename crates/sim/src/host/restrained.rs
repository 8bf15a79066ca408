//! A source with a pattern of its own that reacts to the network: it waits until its flow is set
//! up, slows or shrinks when it is warned, and changes its rate when a change of its reservation is
//! granted. Its packets may be ECN-capable; it ignores marks.

use super::Restraint;
use crate::source::Emission;
use tidegate_core::context::Finding;
use tidegate_core::endpoint::{Endpoint, HostCx, Notice, Payload};
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::units::{Span, Time};

/// A pattern under a [`Restraint`].
pub struct Restrained {
    emission: Emission,
    restraint: Restraint,
    /// The mark of every packet.
    mark: Mark,
    /// The size of the next packet.
    pending: u32,
    /// Gap from the start of the flow to its first packet; `None` without packets, and once it has
    /// begun.
    first_gap: Option<Span>,
    /// True while it waits for its flow to be set up.
    waits: bool,
    stop: Time,
    next: Time,
}

impl Restrained {
    /// Creates a source with the pattern `emission` and this mark, until `stop`; with `set_up`, it
    /// starts once the flow is granted.
    pub fn new(
        mut emission: Emission,
        restraint: Restraint,
        mark: Mark,
        set_up: bool,
        stop: Time,
    ) -> Restrained {
        let first = emission.next_packet();
        Restrained {
            emission,
            restraint,
            mark,
            pending: first.map_or(0, |(_, len)| len),
            first_gap: first.map(|(gap, _)| gap),
            waits: set_up,
            stop,
            next: Time::NEVER,
        }
    }

    /// Starts the flow.
    fn begin(&mut self, now: Time) -> Time {
        self.waits = false;
        let first = self.first_gap.take().map_or(Time::NEVER, |gap| now + gap);
        self.next = if first < self.stop { first } else { Time::NEVER };
        self.next
    }

    /// Sends the packet that is due, and draws the next one.
    fn send(&mut self, cx: &mut HostCx<'_>) -> Time {
        let now = cx.now();
        let len = self.restraint.shrunk(now, self.pending);
        // Asked before the next packet is drawn: the packet that leaves now is the one that counts.
        let clear = self.restraint.keep_to_reservation(now, len);
        self.next = Time::NEVER;
        if let Some((gap, len)) = self.emission.next_packet() {
            let at = (now + self.restraint.stretched(gap)).max(clear.unwrap_or(now));
            if at < self.stop {
                (self.pending, self.next) = (len, at);
            }
        }
        if self.next == Time::NEVER {
            cx.ended();
        }
        cx.send(len, self.mark, Payload::None);
        self.next
    }
}

impl Endpoint for Restrained {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        if self.waits {
            return Time::NEVER;
        }
        if self.first_gap.is_some() {
            return self.begin(cx.now());
        }
        match self.restraint.slowed_until().filter(|until| cx.now() < *until) {
            Some(until) => {
                self.next = if until < self.stop { until } else { Time::NEVER };
                self.next
            }
            None => self.send(cx),
        }
    }

    fn receive(&mut self, _: &mut HostCx<'_>, _: &Packet, _: &Payload) -> Time {
        self.next
    }

    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time {
        match notice {
            Notice::Granted => return self.begin(cx.now()),
            Notice::Network(Finding::Ahead(lead)) => self.restraint.warned(cx.now(), lead),
            Notice::Changed { reserve, pace } => self.restraint.change(reserve, pace),
            Notice::HungUp => (self.stop, self.next) = (cx.now(), Time::NEVER),
            Notice::Network(Finding::NonResponsive | Finding::BackedOff)
            | Notice::Left
            | Notice::Dropped(_) => {}
        }
        self.next
    }
}
