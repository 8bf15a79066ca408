//! A fixed window clocked by acknowledgements (the sliding window of RFC 5681 without congestion
//! control): the sender keeps a fixed number of packets unacknowledged, and each acknowledgement
//! releases the next one.
//!
//! The throughput is window / round-trip time while that is below the path's rate, and the path's
//! rate beyond. A packet that is not acknowledged within the timeout counts as lost: it is not
//! retransmitted, and its place in the window is free.

use super::{Endpoint, EndpointSetup, HostCx, Notice, Payload, Transport};
use crate::contract::Refused;
use crate::packet::{Mark, Packet};
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Span, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;

parameters! {
    /// Parameters of a fixed window.
    #[derive(Copy, Eq)]
    pub struct WindowParams {
        /// Packets that may be unacknowledged
        window: u32 as Integer(1, 1_000_000) = 10,
        /// Size of an acknowledgement
        acknowledgement: u32 as Size = 40,
        /// Time after which an unacknowledged packet counts as lost, at least the time that the
        /// first link takes to send the whole window
        timeout: Span = Span::from_secs(1),
    }
}

impl PolicyParams for WindowParams {
    type Policy = Window;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "window",
        title: "Fixed window",
        role: Role::Transport { responsive: true },
        help: "Keeps a fixed number of packets unacknowledged; every packet is acknowledged by one packet. \
               Its throughput is window / round-trip time while that is below the rate of the path. Lost \
               packets are not sent again.",
        source: "RFC 5681, section 2 (the sliding window, without congestion control)",
        params: WindowParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Window, Refused> {
        Ok(Window {
            window: self.window as usize,
            acknowledgement: self.acknowledgement,
            timeout: self.timeout,
        })
    }

    fn example() -> WindowParams {
        WindowParams { window: 5, acknowledgement: 40, timeout: Span::from_millis(500) }
    }

    /// Checks that the last packet of a window sent back to back can leave before it counts as
    /// lost.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let largest = node.members.iter().map(|member| member.largest).max().unwrap_or(0);
        let packet = node.link.time_for(largest.max(1)).ticks();
        let whole = Span::from_ticks(packet.saturating_mul(u64::from(self.window)));
        if self.timeout >= whole {
            return Ok(());
        }
        let message = format!(
            "`timeout` ({:?}) is shorter than the first link takes to send the whole window, {whole:?}",
            self.timeout
        );
        Err(Fault::at("timeout", message))
    }
}

/// A fixed window, as [`WindowParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    window: usize,
    acknowledgement: u32,
    timeout: Span,
}

impl Transport for Window {
    fn sender(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint> {
        let Window { window, timeout, .. } = *self;
        let (unacknowledged, next_number) = (VecDeque::new(), 0);
        Box::new(Sender { window, size, timeout, stop: setup.stop, unacknowledged, next_number })
    }

    fn receiver(&self, _: EndpointSetup, _: u32) -> Box<dyn Endpoint> {
        Box::new(Acknowledger { size: self.acknowledgement })
    }

    fn largest_answer(&self) -> u32 {
        self.acknowledgement
    }
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    window: usize,
    size: u32,
    timeout: Span,
    stop: Time,
    /// Numbers and departure times of the unacknowledged packets, in order.
    unacknowledged: VecDeque<(u64, Time)>,
    next_number: u64,
}

impl Sender {
    /// Fills the window. Returns the time at which the oldest packet counts as lost.
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

impl Endpoint for Sender {
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
struct Acknowledger {
    size: u32,
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
