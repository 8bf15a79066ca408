//! An adapter of hosts that send packets as ATM cells, by AAL5: it cuts the packets that an endpoint
//! sends, and joins the cells that it receives. The endpoint sees packets only.
//!
//! Between the two hosts a cell is a packet like any other, with its place in queues, its delay and
//! its losses. A host may need some time to prepare a packet before its cells, which it begins once
//! the last cell of the previous packet has left the first queue, or was dropped there.

use std::collections::VecDeque;
use tidegate_core::aal5::{self, Cell, Reassembled, Reassembly};
use tidegate_core::endpoint::transfers::Transfer;
use tidegate_core::endpoint::{Action, Counts, Endpoint, HostCx, Notice, Payload};
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

/// Counts of packets of a flow that is sent as cells, since the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets that were cut into cells.
    pub sent: Count,
    /// Packets that were reassembled.
    pub received: Count,
    /// Cells that arrived and were discarded because another cell of their packet did not arrive.
    pub discarded_cells: u64,
}

/// An endpoint whose packets go as cells.
pub(crate) struct Adapted {
    endpoint: Box<dyn Endpoint>,
    /// The time that the endpoint requested last.
    next: Time,
    /// Actions of the endpoint that are not handed on yet.
    actions: Vec<Action>,
    cutter: Option<Cutter>,
    joiner: Joiner,
}

/// The sending side.
pub(crate) struct Cutter {
    /// Preparation time of the host for each packet; zero for none.
    preparation: Span,
    /// Packets that the host has not prepared, and true while it prepares or sends one.
    waiting: VecDeque<Uncut>,
    is_busy: bool,
    /// Number of the next packet.
    next: u32,
    /// Packets that are cut from this time on are counted.
    counted_from: Time,
    sent: Count,
}

/// A packet that is not cut yet.
#[derive(Clone, Copy)]
struct Uncut {
    len: u32,
    mark: Mark,
    payload: Payload,
    first_sent: Option<Time>,
}

/// The receiving side.
#[derive(Default)]
struct Joiner {
    reassembly: Reassembly,
    received: Count,
    discarded_cells: u64,
}

impl Cutter {
    /// Creates the sending side of a flow; packets that are cut from `counted_from` on are counted.
    pub(crate) fn new(preparation: Span, counted_from: Time) -> Cutter {
        Cutter {
            preparation,
            waiting: VecDeque::new(),
            is_busy: false,
            next: 0,
            counted_from,
            sent: Count::default(),
        }
    }

    fn send(&mut self, cx: &mut HostCx<'_>, packet: Uncut) {
        if self.preparation == Span::ZERO {
            return self.cut(cx, &packet);
        }
        self.waiting.push_back(packet);
        cx.hold();
        if !core::mem::replace(&mut self.is_busy, true) {
            cx.prepare(self.preparation);
        }
    }

    /// Cuts the packet that the host has prepared.
    fn prepared(&mut self, cx: &mut HostCx<'_>) {
        if let Some(packet) = self.waiting.pop_front() {
            cx.release();
            self.cut(cx, &packet);
        }
    }

    /// Prepares the next packet: the last cell of one has left the first queue, or was dropped
    /// there.
    fn left(&mut self, cx: &mut HostCx<'_>) {
        self.is_busy = !self.waiting.is_empty();
        if self.is_busy {
            cx.prepare(self.preparation);
        }
    }

    fn cut(&mut self, cx: &mut HostCx<'_>, packet: &Uncut) {
        let &Uncut { len, mark, payload, first_sent } = packet;
        let number = self.next;
        self.next = number.wrapping_add(1);
        let is_counted = cx.now() >= self.counted_from;
        if is_counted {
            self.sent.add(len);
        }
        for cell in aal5::segment(number, len) {
            let payload = if cell.trailer.is_some() { payload } else { Payload::None };
            cx.out.push(Action::SendCell { cell, is_counted, mark, payload, first_sent });
        }
    }
}

impl Adapted {
    /// Creates the adapter of an endpoint, with the sending side if its own flow is sent as cells.
    pub(crate) fn new(endpoint: Box<dyn Endpoint>, cutter: Option<Cutter>) -> Adapted {
        let joiner = Joiner::default();
        Adapted { endpoint, next: Time::NEVER, actions: Vec::new(), cutter, joiner }
    }

    /// Returns the counts of packets that it has cut; `None` if its flow is not sent as cells.
    pub(crate) fn sent(&self) -> Option<Count> {
        self.cutter.as_ref().map(|cutter| cutter.sent)
    }

    /// Returns the counts of packets that it has joined, and of cells that it has discarded.
    pub(crate) fn received(&self) -> (Count, u64) {
        (self.joiner.received, self.joiner.discarded_cells)
    }

    /// Calls the endpoint, and cuts the packets that it sends.
    fn call(
        &mut self,
        cx: &mut HostCx<'_>,
        call: impl FnOnce(&mut dyn Endpoint, &mut HostCx<'_>) -> Time,
    ) -> Time {
        self.next = call(self.endpoint.as_mut(), &mut HostCx { now: cx.now, out: &mut self.actions });
        for action in self.actions.drain(..) {
            match (action, &mut self.cutter) {
                (Action::Send { len, mark, payload, first_sent }, Some(cutter)) => {
                    cutter.send(cx, Uncut { len, mark, payload, first_sent });
                }
                (action, _) => cx.out.push(action),
            }
        }
        self.next
    }
}

impl Endpoint for Adapted {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        self.call(cx, |endpoint, cx| endpoint.wake(cx))
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        self.call(cx, |endpoint, cx| endpoint.receive(cx, packet, payload))
    }

    fn receive_cell(
        &mut self,
        cx: &mut HostCx<'_>,
        packet: &Packet,
        payload: &Payload,
        cell: Cell,
        is_counted: bool,
    ) -> Time {
        let mut packet = *packet;
        match self.joiner.reassembly.take(cell, packet.mark.is_congested()) {
            Reassembled::Incomplete => return self.next,
            Reassembled::Discarded { cells } => {
                if is_counted {
                    self.joiner.discarded_cells += u64::from(cells);
                }
                return self.next;
            }
            Reassembled::Packet { len, marked } => {
                packet.len = len;
                if marked {
                    packet.mark = packet.mark.congested();
                }
                if is_counted {
                    self.joiner.received.add(len);
                }
            }
        }
        self.receive(cx, &packet, payload)
    }

    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time {
        match (&mut self.cutter, notice) {
            (Some(cutter), Notice::Left | Notice::Dropped(_)) => {
                cutter.left(cx);
                self.next
            }
            _ => self.call(cx, |endpoint, cx| endpoint.notice(cx, notice)),
        }
    }

    fn prepared(&mut self, cx: &mut HostCx<'_>) -> Time {
        if let Some(cutter) = &mut self.cutter {
            cutter.prepared(cx);
        }
        self.next
    }

    /// A host that prepares packets waits for the last cell of each.
    fn watches_first_queue(&self) -> bool {
        self.cutter.as_ref().is_some_and(|cutter| cutter.preparation > Span::ZERO)
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.endpoint.gauges(show);
    }

    fn round_trip(&self) -> Option<Span> {
        self.endpoint.round_trip()
    }

    fn counts(&self) -> Counts {
        self.endpoint.counts()
    }

    fn transfers(&self) -> &[Transfer] {
        self.endpoint.transfers()
    }
}
