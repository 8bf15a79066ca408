//! A fixed window clocked by acknowledgements (the sliding window of RFC 5681 without congestion control):
//! the sender keeps so many packets unacknowledged, and each acknowledgement lets the next one go.
//!
//! Its throughput is window / round-trip time while that is below the path's rate, and the path's rate beyond.
//! A packet that is not acknowledged within the timeout counts as lost: it is not sent again, and its place in
//! the window is free.

use super::{Endpoint, EndpointFactory, HostCx, Notice, Seat};
use crate::payload::Payload;
use std::collections::VecDeque;
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::units::{Span, Time};

/// The sending end.
#[derive(Debug)]
pub struct WindowSender {
    window: usize,
    size: u32,
    timeout: Span,
    stop: Time,
    /// Numbers and departure times of what is not acknowledged, in order.
    unacknowledged: VecDeque<(u64, Time)>,
    next_number: u64,
}

impl WindowSender {
    /// Keeps `window` packets of `size` bytes unacknowledged until `stop`.
    pub fn new(window: usize, size: u32, timeout: Span, stop: Time) -> WindowSender {
        WindowSender { window, size, timeout, stop, unacknowledged: VecDeque::new(), next_number: 0 }
    }

    /// Fills the window. Returns when the oldest packet counts as lost.
    fn fill(&mut self, cx: &mut HostCx<'_>) -> Time {
        while self.unacknowledged.front().is_some_and(|(_, sent)| *sent + self.timeout <= cx.now()) {
            self.unacknowledged.pop_front();
        }
        while self.unacknowledged.len() < self.window && cx.now() < self.stop {
            cx.send(self.size, Mark::NONE, Payload::Words([self.next_number, 0, 0]));
            self.unacknowledged.push_back((self.next_number, cx.now()));
            self.next_number += 1;
        }
        self.unacknowledged.front().map_or(Time::NEVER, |(_, sent)| *sent + self.timeout)
    }
}

impl Endpoint for WindowSender {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        self.fill(cx)
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, _: &Packet, payload: &Payload) -> Time {
        if let Payload::Words([number, ..]) = payload
            && let Ok(place) = self.unacknowledged.binary_search_by_key(number, |(number, _)| *number)
        {
            self.unacknowledged.remove(place);
        }
        self.fill(cx)
    }

    fn notice(&mut self, cx: &mut HostCx<'_>, _: Notice) -> Time {
        self.fill(cx)
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("unacknowledged", self.unacknowledged.len() as f64);
    }
}

/// The receiving end: one acknowledgement for each packet.
#[derive(Debug)]
pub struct Acknowledger {
    size: u32,
}

impl Acknowledger {
    /// Acknowledgements of `size` bytes.
    pub fn new(size: u32) -> Acknowledger {
        Acknowledger { size }
    }
}

impl Endpoint for Acknowledger {
    fn wake(&mut self, _: &mut HostCx<'_>) -> Time {
        Time::NEVER
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, _: &Packet, payload: &Payload) -> Time {
        cx.send(self.size, Mark::NONE, *payload);
        Time::NEVER
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        Time::NEVER
    }
}

/// What a connection with a fixed window is planned as, for each of its two flows.
#[derive(Clone, Copy, Debug)]
pub enum Window {
    /// The flow of data.
    Data {
        /// Packets that may be unacknowledged, at least 1.
        window: usize,
        /// Size of a packet in bytes.
        size: u32,
        /// From when on an unacknowledged packet counts as lost.
        timeout: Span,
    },
    /// The flow of acknowledgements.
    Acknowledgements {
        /// Size of an acknowledgement in bytes.
        size: u32,
    },
}

impl EndpointFactory for Window {
    fn make(&self, seat: Seat) -> Box<dyn Endpoint> {
        match *self {
            Window::Data { window, size, timeout } => {
                Box::new(WindowSender::new(window, size, timeout, seat.stop))
            }
            Window::Acknowledgements { size } => Box::new(Acknowledger::new(size)),
        }
    }
}
