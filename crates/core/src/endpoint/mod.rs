//! What does a host send, and how does it answer?
//!
//! An [`Endpoint`] is at one end of a connection, which is two flows: it sends one of them and receives the
//! other. Time is handed in and packets are handed out, so that an endpoint is a plain state machine. A
//! [`Transport`] makes both ends of a connection.

pub mod abr;
pub mod application;
pub mod on_off;
pub mod recorded;
pub mod tcp;
pub mod transfers;
mod transport;
pub mod window;

pub use transport::{BuiltInTransport, RECORDS, Transport, TransportKind};

use crate::abr::cell::RmCell;
use crate::context;
use crate::credit::messages::CreditCheck;
use crate::packet::{Mark, Packet};
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use application::Data;
use transfers::Transfer;

/// One end of a flow or a connection.
///
/// Every call returns the time at which the endpoint is to be woken next, which replaces every earlier one. A
/// time that is not later than [`HostCx::now`] means this instant, after the events of links in it;
/// [`Time::NEVER`] means not at all.
pub trait Endpoint: Send {
    /// The flow starts, or the time has come that was asked for.
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time;

    /// The last bit of a packet of the peer's flow is in.
    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time;

    /// The network has something to say about the endpoint's own flow.
    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time;

    /// Whether the endpoint is notified of its packets that leave the first queue on their way, or are
    /// dropped there: [`Notice::Left`] and [`Notice::Dropped`].
    fn watches_first_queue(&self) -> bool {
        false
    }

    /// Shows what can be recorded over time, by name: a window in packets, a rate in bit/s.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }

    /// The smoothed round-trip time of its packets (SRTT, RFC 6298), once it has measured one; `None` for an
    /// endpoint that measures none.
    fn round_trip(&self) -> Option<Span> {
        None
    }

    /// Its counts since it was made.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// The finite transfers that have ended, in the order of time, at the end that sends them.
    fn transfers(&self) -> &[Transfer] {
        &[]
    }
}

/// Counts at the ends of a connection besides packets; `None` for those that an endpoint does not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of data that were sent again, at the end that sends them.
    pub retransmissions: Option<u64>,
    /// Times that the retransmission timer expired with data outstanding, at the end that sends them.
    pub timeouts: Option<u64>,
    /// Bytes of data that were handed to the application in order, each once, at the end that receives them.
    pub delivered: Option<u64>,
}

impl Counts {
    /// Both together.
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
        }
    }
}

/// A notice from the network to a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// A finding of a policy on the way, for example of a monitor that the flow is too far ahead.
    Network(context::Notice),
    /// The flow is set up: it may send.
    Granted,
    /// What the flow reserves has changed.
    Changed {
        /// What it reserves from now on.
        reserve: Option<Rate>,
        /// The source's rate from now on, as a multiple of its first; `None` for as before.
        pace: Option<f64>,
    },
    /// The destination has torn the flow down.
    HungUp,
    /// A packet of the flow has left the first queue on its way.
    Left,
    /// A packet of so many bytes was dropped at the first queue on its way.
    Dropped(u32),
}

/// The content of a packet, as far as relays and endpoints read it.
///
/// It is kept apart from the packet's body and takes no memory until a packet has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Nothing that anybody reads: data.
    #[default]
    None,
    /// Three words whose meaning the two ends agree on: a sequence number, a rate, a count of credits.
    Words([u64; 3]),
    /// A TCP segment's header.
    Tcp(tcp::Segment),
    /// An RM cell of the ABR service.
    Rm(RmCell),
    /// A credit_check cell on a virtual link, among the packets of its VC.
    Check(CreditCheck),
}

/// The arguments of the driver to every call: the time, and a list for the endpoint's actions.
pub struct HostCx<'a> {
    /// The current time; never earlier than in the call before.
    pub now: Time,
    /// The actions that the driver has to carry out after the call, in order.
    pub out: &'a mut Vec<Action>,
}

/// Something that an endpoint does. The list is the driver's, and reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It sends a packet on its own flow.
    Send {
        /// Length in bytes.
        len: u32,
        /// Colour and congestion mark.
        mark: Mark,
        /// What it carries.
        payload: Payload,
        /// When the same data were sent first, if they are sent again: delay counts from then.
        first_sent: Option<Time>,
    },
    /// It wants another call of [`Endpoint::wake`] as soon as what was sent has entered the network,
    /// before anything else happens.
    Again,
    /// It has nothing more to send, ever.
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

    /// Sends a packet of `len` bytes whose data were first sent at `first_sent`, from when their delay counts.
    pub fn send_again(&mut self, len: u32, mark: Mark, payload: Payload, first_sent: Time) {
        self.out.push(Action::Send { len, mark, payload, first_sent: Some(first_sent) });
    }

    /// Asks for another call of [`Endpoint::wake`] as soon as what was sent has entered the network, before
    /// anything else happens.
    pub fn again(&mut self) {
        self.out.push(Action::Again);
    }

    /// The source has nothing more to send, ever.
    pub fn ended(&mut self) {
        self.out.push(Action::Ended);
    }
}

/// The data from which an endpoint is made.
pub struct Seat {
    /// Index of the flow that it sends.
    pub flow: u32,
    /// Index of the flow that it receives; `None` without a peer.
    pub peer: Option<u32>,
    /// A random stream of its own.
    pub rng: Rng,
    /// When the flow starts.
    pub start: Time,
    /// When it stops; [`Time::NEVER`] for at the end of the run.
    pub stop: Time,
    /// Rate of the first link on its way.
    pub rate: Rate,
    /// The data that its application hands over; `None` for endless data.
    pub data: Option<Data>,
}
