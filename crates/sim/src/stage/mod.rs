//! Stages: processing beside the hops of the network that sees the packets passing them.
//!
//! A stage says for each hop of a flow which calls it wants ([`Interest`]). It may read and write
//! the content of a packet, keep the packet for itself, send packets of its own along a flow's way,
//! open and close flows at ports, and hold them back. Explicit-rate control, credits, the edge of a
//! gate and the Flow Network's signalling are stages. A packet-hop without any costs one test.

mod cx;
mod interest;
mod maker;

pub use crate::events::{Fate, LinkEvent};
pub use cx::{Gauges, StageCx};
pub use interest::Interest;
pub use maker::{Names, StageMaker};

use core::any::Any;
use core::fmt;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;

/// A stage. Its results are read from the type itself, by `World::stage`.
pub trait Stage: Any + Send {
    /// Returns the calls that it wants at a site of a flow. Asked once for each site, when the
    /// network is built.
    fn interest(&self, site: &Site) -> Interest;

    /// Returns the first time at which [`wake`](Stage::wake) is called; [`Time::ORIGIN`] for the
    /// beginning of the run.
    fn begin(&self) -> Time {
        Time::NEVER
    }

    /// Called when the last bit of a packet is in at the node, before it enters the next port or
    /// reaches its receiver ([`Interest::ENTER`]).
    fn enter(
        &mut self,
        cx: &mut StageCx,
        at: &Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        let _ = (cx, at, packet, payload);
        Passage::Forward
    }

    /// Called when the shaper in front of the port of `hop` releases a packet of `flow` to the
    /// port's queue ([`Interest::RELEASED`]).
    fn released(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &Packet, payload: &mut Payload) {
        let _ = (cx, flow, hop, packet, payload);
    }

    /// Called when the first bit of a packet of `flow` leaves the port of `hop`
    /// ([`Interest::START`]).
    fn start(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &Packet) {
        let _ = (cx, flow, hop, packet);
    }

    /// Called when the last bit of a packet of `flow` has left the port of `hop`, whose next packet
    /// has not started ([`Interest::LEAVE`]).
    fn leave(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &mut Packet, payload: &mut Payload) {
        let _ = (cx, flow, hop, packet, payload);
    }

    /// Called when a packet of `flow` that the stage let pass was dropped at the port of `hop`, or
    /// taken by another stage before it ([`Interest::DROPPED`]), in the order of leaving. For a
    /// multicast packet: the last copy.
    fn dropped(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &mut Packet) {
        let _ = (cx, flow, hop, packet);
    }

    /// Returns the links over which it sends cells of its own, ahead of the packets of their ports.
    /// Asked once, when the network is built; at most one stage sends cells over a link.
    fn cell_links(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Makes the next cell for a link that is free; `None` for no cell now. Called after
    /// [`StageCx::request_link`], until [`has_cells`](Stage::has_cells) returns false.
    fn next_cell(&mut self, cx: &mut StageCx, link: u32) -> Option<Cell> {
        let _ = (cx, link);
        None
    }

    /// Returns true if cells wait to be made for a link.
    fn has_cells(&self, link: u32) -> bool {
        let _ = link;
        false
    }

    /// Called when a cell has come over a link. Returns the link over which it goes on, as it is,
    /// in that link's lane; `None` at its end.
    fn cell_arrived(&mut self, cx: &mut StageCx, link: u32, payload: &Payload) -> Option<u32> {
        let _ = (cx, link, payload);
        None
    }

    /// Called when a cell was lost on a link.
    fn cell_lost(&mut self, cx: &mut StageCx, link: u32, payload: &Payload) {
        let _ = (cx, link, payload);
    }

    /// Called when a packet, or a copy of one, has come to its end at a link, or at the port in
    /// front of it. Without this end, it would have reached this many destinations
    /// ([`Interest::OBSERVE`]).
    fn ended(&mut self, cx: &mut StageCx, link: u32, packet: &Packet, fate: Fate, destinations: u32) {
        let _ = (cx, link, packet, fate, destinations);
    }

    /// Called when something else has happened at a link ([`Interest::OBSERVE`]).
    fn observe(&mut self, cx: &mut StageCx, link: u32, event: LinkEvent) {
        let _ = (cx, link, event);
    }

    /// Called when the time has come that [`begin`](Stage::begin) returned, or that was requested
    /// with [`StageCx::wake_at`].
    fn wake(&mut self, cx: &mut StageCx) {
        let _ = cx;
    }

    /// Called when the source of a flow has nothing more to send, ever.
    fn source_ended(&mut self, cx: &mut StageCx, flow: u32) {
        let _ = (cx, flow);
    }

    /// Called at the end of the warm-up: discards the counts so far.
    fn restart_counts(&mut self, cx: &mut StageCx) {
        let _ = cx;
    }

    /// Shows the quantities that can be recorded over time.
    fn gauges(&self, gauges: &mut Gauges<'_>) {
        let _ = gauges;
    }
}

/// A cell of a stage's own for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Length in bytes.
    pub len: u32,
    /// Its content.
    pub payload: Payload,
}

/// A place on the way of a flow: in front of a port, or at a destination. Stages see packets in the
/// order in which the network has the stages, and in the reverse order on their way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Index of the flow.
    pub flow: u32,
    /// Index of the node.
    pub node: u32,
    /// Index of the link behind the port; `None` at a destination.
    pub link: Option<u32>,
    /// The hop over which packets come along the route; `None` where the route begins.
    pub from: Option<u32>,
    /// The hop over which they leave; `None` at a destination.
    pub to: Option<u32>,
}

/// Position of a packet when a stage sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index of its flow.
    pub flow: u32,
    /// The hop over which it came; `None` when it enters the network here.
    pub from: Option<u32>,
    /// The hop over which it leaves; `None` when it is at its destination.
    pub to: Option<u32>,
}

/// Fate of a packet that has entered a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It continues.
    Forward,
    /// The stage has taken it.
    Absorb,
    /// Copies of it enter the ports of all hops onto which its route forks at this one. No further
    /// stage sees it here.
    Fork,
    /// The stage has no place for it: it is dropped at the end of the link over which it came.
    Drop,
}

/// Makes stages: a plan's entry for a stage that is written outside this crate.
pub trait StageFactory: fmt::Debug + Send + Sync {
    /// Creates the stage at node `node`, with its own random stream. It is asked for its interest
    /// only at sites of that node.
    fn make(&self, node: u32, rng: Rng) -> Box<dyn Stage>;
}
