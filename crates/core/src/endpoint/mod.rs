//! Hosts: the endpoints of flows and connections.
//!
//! An [`Endpoint`] is one end of a connection, which consists of two flows: it sends one of them
//! and receives the other. The driver hands in the time and takes packets out, so that an endpoint
//! is a plain state machine. A [`Transport`] makes both ends of a connection.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::endpoint::TransportKind;
//!
//! let tcp = TransportKind::named("tcp").unwrap().build()?;
//! // 3,000 bytes of data in packets of 1500 bytes, 52 of which are headers.
//! let packets = tcp.packets(3000, 1500).unwrap();
//! assert_eq!((packets.count, packets.each, packets.last, packets.answer), (3, 1500, 156, 52));
//! # Ok::<(), tidegate_core::contract::Refused>(())
//! ```

#[cfg(feature = "atm")]
pub mod abr;
pub mod application;
pub mod on_off;
pub mod open_loop;
mod payload;
pub mod period;
pub mod recorded;
mod registry;
#[cfg(feature = "tcp")]
pub mod tcp;
pub mod transfers;
mod transport;
pub mod window;

use alloc::vec::Vec;
pub use payload::Payload;
pub use registry::{BuiltInTransport, RECORDS, TransportKind};
pub use transport::{TransferPackets, Transport};

use crate::aal5::Cell;
use crate::context;
use crate::packet::{Mark, Packet};
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use application::Data;
use core::any::Any;
use transfers::Transfer;

/// One end of a flow or a connection.
///
/// Every call returns the time of the next wake-up, which replaces every earlier one. A time that
/// is not later than [`HostCx::now`] means the current instant, after the link events in it;
/// [`Time::NEVER`] means no wake-up.
pub trait Endpoint: Any + Send {
    /// Called when the flow starts, and at the requested time.
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time;

    /// Called when the last bit of a packet of the peer's flow has arrived.
    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time;

    /// Called when the last bit of an ATM cell has arrived, in place of
    /// [`receive`](Endpoint::receive); `is_counted` as it was [sent](Action::SendCell).
    fn receive_cell(
        &mut self,
        cx: &mut HostCx<'_>,
        packet: &Packet,
        payload: &Payload,
        cell: Cell,
        is_counted: bool,
    ) -> Time {
        let _ = (cell, is_counted);
        self.receive(cx, packet, payload)
    }

    /// Called when the host has prepared a packet, after [`HostCx::prepare`].
    fn prepared(&mut self, cx: &mut HostCx<'_>) -> Time {
        self.wake(cx)
    }

    /// Called with a notice from the network about the endpoint's own flow.
    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time;

    /// Returns true if the endpoint is notified when its packets leave the first queue on their
    /// path, or are dropped there: [`Notice::Left`] and [`Notice::Dropped`]. A packet that is sent
    /// as ATM cells is reported with its last cell.
    fn watches_first_queue(&self) -> bool {
        false
    }

    /// Reports the values that can be recorded over time, by name: a window in packets, a rate in
    /// bit/s.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }

    /// The smoothed round-trip time of the endpoint's packets (SRTT, RFC 6298), once measured;
    /// `None` for an endpoint that does not measure it.
    fn round_trip(&self) -> Option<Span> {
        None
    }

    /// The endpoint's counts since its creation.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// The finite transfers that have begun, in order of time, at the end that sends them.
    fn transfers(&self) -> &[Transfer] {
        &[]
    }
}

/// Counts at the ends of a connection other than packets; `None` for those that an endpoint does
/// not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets retransmitted, at the end that sends them.
    pub retransmissions: Option<u64>,
    /// Expirations of the retransmission timer with data outstanding, at the end that sends the
    /// data.
    pub timeouts: Option<u64>,
    /// Bytes of data delivered to the application in order, each once, at the end that receives
    /// them.
    pub delivered: Option<u64>,
    /// Bytes of data sent, each once, at the end that sends them.
    pub sent: Option<u64>,
    /// Round trips measured, at the end that sends the data.
    pub round_trips: Option<u64>,
    /// Their sum in ticks.
    pub round_trip_ticks: Option<u64>,
}

impl Counts {
    /// The sums of both counts.
    #[must_use]
    pub fn and(self, other: Counts) -> Counts {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            _ => one.or(other),
        };
        Counts {
            retransmissions: sum(self.retransmissions, other.retransmissions),
            timeouts: sum(self.timeouts, other.timeouts),
            delivered: sum(self.delivered, other.delivered),
            sent: sum(self.sent, other.sent),
            round_trips: sum(self.round_trips, other.round_trips),
            round_trip_ticks: sum(self.round_trip_ticks, other.round_trip_ticks),
        }
    }
}

/// A notice from the network to a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// A finding of a policy on the path, for example of a monitor that the flow is too far ahead.
    Network(context::Finding),
    /// The flow is set up, and may send.
    Granted,
    /// The flow's reservation has changed.
    Changed {
        /// The reservation from now on.
        reserve: Option<Rate>,
        /// The source's rate from now on, as a multiple of its initial rate; `None` for no change.
        pace: Option<f64>,
    },
    /// The destination has torn the flow down.
    HungUp,
    /// A packet of the flow has left the first queue on its path.
    Left,
    /// A packet of this many bytes was dropped at the first queue on its path.
    Dropped(u32),
}

/// The driver's arguments to every call: the time, and a list for the endpoint's actions.
pub struct HostCx<'a> {
    /// The current time; never earlier than in the previous call.
    pub now: Time,
    /// The actions that the driver has to carry out after the call, in order.
    pub out: &'a mut Vec<Action>,
}

/// An action of an endpoint. The driver owns the list and reuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a packet on the endpoint's own flow.
    Send {
        /// Length in bytes.
        len: u32,
        /// Colour and congestion mark.
        mark: Mark,
        /// The content of the packet.
        payload: Payload,
        /// The time at which the same data were first sent, for a retransmission: delay counts from
        /// then.
        first_sent: Option<Time>,
    },
    /// Sends an ATM cell of a packet on the endpoint's own flow.
    SendCell {
        /// The cell.
        cell: Cell,
        /// True if its packet was cut after the warm-up.
        is_counted: bool,
        /// Colour and congestion mark.
        mark: Mark,
        /// The content of the packet, in its last cell.
        payload: Payload,
        /// The time at which the same data were first sent, for a retransmission.
        first_sent: Option<Time>,
    },
    /// Asks for a call of [`Endpoint::prepared`] after this time, before the packets of that
    /// instant.
    Prepare(Span),
    /// A packet more waits in the host (true), or one less.
    Held(bool),
    /// Asks for another call of [`Endpoint::wake`] as soon as the packets sent have entered the
    /// network, before anything else happens.
    Again,
    /// Reports that the source will never send again.
    Ended,
}

impl HostCx<'_> {
    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a packet of `len` bytes on the endpoint's own flow.
    pub fn send(&mut self, len: u32, mark: Mark, payload: Payload) {
        self.out.push(Action::Send { len, mark, payload, first_sent: None });
    }

    /// Sends a packet of `len` bytes whose data were first sent at `first_sent`; their delay counts
    /// from then.
    pub fn send_again(&mut self, len: u32, mark: Mark, payload: Payload, first_sent: Time) {
        self.out.push(Action::Send { len, mark, payload, first_sent: Some(first_sent) });
    }

    /// Asks for another call of [`Endpoint::wake`] as soon as the packets sent have entered the
    /// network, before anything else happens.
    pub fn again(&mut self) {
        self.out.push(Action::Again);
    }

    /// Asks for a call of [`Endpoint::prepared`] after `time`, before the packets of that instant.
    pub fn prepare(&mut self, time: Span) {
        self.out.push(Action::Prepare(time));
    }

    /// Reports that a packet waits in the host.
    pub fn hold(&mut self) {
        self.out.push(Action::Held(true));
    }

    /// Reports that a packet no longer waits in the host.
    pub fn release(&mut self) {
        self.out.push(Action::Held(false));
    }

    /// Reports that the source will never send again.
    pub fn ended(&mut self) {
        self.out.push(Action::Ended);
    }
}

/// The data from which an endpoint is made.
pub struct EndpointSetup {
    /// Index of the flow that it sends.
    pub flow: u32,
    /// Index of the flow that it receives; `None` without a peer.
    pub peer: Option<u32>,
    /// The endpoint's own random stream.
    pub rng: Rng,
    /// The time at which the flow starts.
    pub start: Time,
    /// The time at which the flow stops; [`Time::NEVER`] for the end of the run.
    pub stop: Time,
    /// Rate of the first link on the flow's path.
    pub rate: Rate,
    /// The data that the application hands over; `None` for endless data.
    pub data: Option<Data>,
}
