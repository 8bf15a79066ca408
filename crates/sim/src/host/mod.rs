//! Hosts: what sends the packets of a flow, and what answers them.
//!
//! An [`Endpoint`] is at one end of a connection, which is two ordinary flows: it sends one of them
//! and receives the other. Time is handed in and packets are handed out, so that an endpoint is a
//! plain state machine. A source that sends by its own pattern whatever the network does is not
//! driven through this trait: the world draws its packets from its [`Emission`].

mod greedy;
mod restrained;
mod restraint;
mod window;

pub use greedy::Greedy;
pub use restrained::Restrained;
pub use restraint::Restraint;
pub use window::{Acknowledger, Window, WindowSender};

use crate::network::FlowSetup;
use crate::payload::Payload;
use crate::source::{Emission, Traffic};
use core::fmt;
use std::collections::VecDeque;
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Time};

/// One end of a flow or a connection.
///
/// Every call returns the endpoint's next time: when it is to be woken, whatever it asked for
/// before. A time that is not later than [`HostCx::now`] means in this instant, after what links do
/// in it; [`Time::NEVER`] means not at all.
pub trait Endpoint: Send {
    /// The flow starts, or the time has come that was asked for.
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time;

    /// The last bit of a packet of the peer's flow is in.
    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time;

    /// The network has something to say about the endpoint's own flow.
    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time;

    /// Whether the endpoint is told of its packets that leave the first queue on their way, or are
    /// dropped there: [`Notice::Left`] and [`Notice::Dropped`].
    fn watches_first_queue(&self) -> bool {
        false
    }

    /// Shows what can be recorded over time, by name: a window in packets, a rate in bit/s.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }
}

/// What the network says to a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// What a policy on the way found: a monitor, for example, that the flow is too far ahead.
    Network(tidegate_core::context::Notice),
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

/// What an endpoint is given, and where it hands out its packets.
pub struct HostCx<'a> {
    pub(crate) now: Time,
    pub(crate) flow: u32,
    pub(crate) outbox: &'a mut Outbox,
}

impl HostCx<'_> {
    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a packet of `len` bytes on the endpoint's own flow.
    pub fn send(&mut self, len: u32, mark: Mark, payload: Payload) {
        self.outbox.sends.push_back(Sending { flow: self.flow, hop: None, len, mark, payload });
    }

    /// Asks for another call of [`Endpoint::wake`] as soon as what was sent has entered the network, before
    /// anything else happens.
    pub fn again(&mut self) {
        self.outbox.again.push_back(self.flow);
    }

    /// The source has nothing more to send, ever.
    pub fn ended(&mut self) {
        self.outbox.ended.push(self.flow);
    }
}

/// What endpoints and relays have handed out and the world has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) sends: VecDeque<Sending>,
    /// Flows whose source has nothing more to send.
    pub(crate) ended: Vec<u32>,
    /// Notices for sources, which they hear at once.
    pub(crate) notices: VecDeque<(u32, Notice)>,
    /// Flows whose endpoint asked to be woken once more at once.
    pub(crate) again: VecDeque<u32>,
    /// Links whose ports may have become ready.
    pub(crate) ready: Vec<u32>,
    /// Whether the world is taking what is in here.
    pub(crate) being_emptied: bool,
}

/// A packet that is handed to the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) flow: u32,
    /// Where it enters the flow's route; `None` for its beginning.
    pub(crate) hop: Option<u32>,
    pub(crate) len: u32,
    pub(crate) mark: Mark,
    pub(crate) payload: Payload,
}

/// What an endpoint is made from.
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
}

/// Makes endpoints: what a plan holds of one that is written outside this crate.
pub trait EndpointFactory: fmt::Debug + Send + Sync {
    /// The endpoint of one flow.
    fn make(&self, seat: Seat) -> Box<dyn Endpoint>;
}

/// What sends a flow's packets.
pub(crate) enum Source {
    /// A pattern of its own, whatever the network does: the fast path.
    OpenLoop(Emission),
    /// A state machine.
    Endpoint(Box<dyn Endpoint>),
}

impl Source {
    /// The source of a flow as it was planned.
    pub(crate) fn new(setup: &FlowSetup, seat: Seat) -> Source {
        let reserve = setup.plans.first().and_then(|plan| plan.contract.reserve);
        let restraint = Restraint::new(setup.when_warned, reserve);
        match &setup.traffic {
            Traffic::Endpoint(factory) => Source::Endpoint(factory.make(seat)),
            Traffic::Greedy { window, sizes } => Source::Endpoint(Box::new(Greedy::new(
                *window,
                sizes.clone(),
                restraint,
                setup.life.set_up,
                seat,
            ))),
            traffic => {
                let (set_up, stop) = (setup.life.set_up, seat.stop);
                let emission = Emission::new(traffic.clone(), seat.rng);
                if set_up || restraint.heeds_warnings() {
                    Source::Endpoint(Box::new(Restrained::new(emission, restraint, set_up, stop)))
                } else {
                    Source::OpenLoop(emission)
                }
            }
        }
    }
}
