//! A greedy source: it always has data to send, and keeps a fixed number of packets in the first
//! queue on its way.
//!
//! A packet that is dropped there at once is tried again when the queue has sent something or, with
//! no packet of the flow queued, after a packet's time. Once slowed by a warning, the source sends
//! by the clock.

use super::Restraint;
use crate::source::draw_size;
use std::sync::Arc;
use tidegate_core::context::Finding;
use tidegate_core::endpoint::{Endpoint, EndpointSetup, HostCx, Notice, Payload};
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

/// A source that keeps its window in the first queue full.
pub struct Greedy {
    window: u32,
    sizes: Arc<[u32]>,
    rng: Rng,
    restraint: Restraint,
    /// The mark of every packet.
    mark: Mark,
    /// Rate of the first link.
    rate: Rate,
    stop: Time,
    in_first_queue: u32,
    /// The packet just tried: the number of packets queued before it, and its size.
    tried: Option<(u32, u32)>,
    /// True while it waits for its flow to be set up.
    waits: bool,
    next: Time,
}

impl Greedy {
    /// Creates a source that keeps `window` packets of these sizes, drawn with equal chance, in the
    /// first queue, with this mark.
    pub fn new(
        window: u32,
        sizes: Arc<[u32]>,
        restraint: Restraint,
        mark: Mark,
        set_up: bool,
        setup: EndpointSetup,
    ) -> Greedy {
        let EndpointSetup { rng, rate, stop, .. } = setup;
        let (in_first_queue, tried, next) = (0, None, Time::NEVER);
        Greedy { window, sizes, rng, restraint, mark, rate, stop, in_first_queue, tried, waits: set_up, next }
    }

    /// Sends one more packet, if there is room for it.
    fn fill(&mut self, cx: &mut HostCx<'_>) -> Time {
        if let Some((before, len)) = self.tried.take()
            && self.in_first_queue <= before
        {
            // It was refused.
            let again = self.in_first_queue == 0;
            return if again { self.packet_later(cx, len) } else { Time::NEVER };
        }
        if self.in_first_queue >= self.window || cx.now() >= self.stop {
            return Time::NEVER;
        }
        let len = draw_size(&self.sizes, &mut self.rng);
        self.tried = Some((self.in_first_queue, len));
        self.in_first_queue += 1;
        cx.send(len, self.mark, Payload::None);
        cx.again();
        Time::NEVER
    }

    /// Returns the time one packet later, at least a tick.
    fn packet_later(&self, cx: &HostCx<'_>, len: u32) -> Time {
        cx.now() + self.rate.time_for(len).max(Span::TICK)
    }

    /// Sends by the clock, as the warning asked.
    fn send_slowed(&mut self, cx: &mut HostCx<'_>, until: Time) -> Time {
        let before_stop = |at: Time| if at < self.stop { at } else { Time::NEVER };
        let now = cx.now();
        if now < until {
            return before_stop(until);
        }
        let len = draw_size(&self.sizes, &mut self.rng);
        let next = before_stop(self.restraint.keep_to_reservation(now, len).unwrap_or(now));
        if self.in_first_queue < self.window {
            self.in_first_queue += 1;
            cx.send(len, self.mark, Payload::None);
        }
        next
    }
}

impl Endpoint for Greedy {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        self.next = match self.restraint.slowed_until() {
            _ if self.waits => Time::NEVER,
            Some(until) => self.send_slowed(cx, until),
            None => self.fill(cx),
        };
        self.next
    }

    fn receive(&mut self, _: &mut HostCx<'_>, _: &Packet, _: &Payload) -> Time {
        self.next
    }

    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time {
        let is_slowed = self.restraint.slowed_until().is_some();
        match notice {
            Notice::Granted => {
                self.waits = false;
                self.next = if cx.now() < self.stop { cx.now() } else { Time::NEVER };
            }
            Notice::Network(Finding::Ahead(lead)) => {
                self.restraint.warned(cx.now(), lead);
                if let Some(until) = self.restraint.slowed_until().filter(|_| !is_slowed) {
                    // From now on it sends by the clock.
                    (self.tried, self.next) = (None, until);
                }
            }
            Notice::Network(Finding::NonResponsive | Finding::BackedOff) => {}
            Notice::Changed { reserve, pace } => self.restraint.change(reserve, pace),
            Notice::HungUp => (self.stop, self.next) = (cx.now(), Time::NEVER),
            Notice::Left => {
                self.in_first_queue -= 1;
                if !is_slowed {
                    self.next = self.fill(cx);
                }
            }
            Notice::Dropped(len) => {
                self.in_first_queue -= 1;
                if self.in_first_queue == 0 && !is_slowed {
                    // No packet of it is left whose departure would make room.
                    self.next = self.packet_later(cx, len);
                }
            }
        }
        self.next
    }

    fn watches_first_queue(&self) -> bool {
        true
    }
}
