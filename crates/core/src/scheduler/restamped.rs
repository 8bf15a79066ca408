//! The common part of schedulers that stamp packets differently from VirtualClock, on its clocks.
//!
//! VirtualClock runs beneath them as the baseline: it advances with every packet, and it orders
//! datagrams and flows that were absent. A rule replaces VirtualClock's stamp with its own
//! (Pincheira 1994, section 3: the *baseline timestamp*).
//!
//! Choices where the paper is silent:
//! - A flow without a reservation is datagram traffic, as under VirtualClock. Head starts and
//!   checks of a flow monitor have no effect.
//! - The backlog *b* of a flow is the backlog that an arriving packet finds, excluding the packet
//!   itself: a flow that is never backlogged has the stamps of the baseline. At the ideal server it
//!   is the lead of VirtualClock's stamp over real time; at the real server it is the flow's queue
//!   without the packet in service.
//! - A flow that was absent rejoins with its first packet stamped as a newcomer's would be now, and
//!   with the packets behind it moved by the same span.
//! - A change of the contract stamps later packets; those queued keep their stamps.

use super::virtual_clock::{LATEST, VirtualClock, VirtualClockParams};
use super::{StampRule, Stamped};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyParams, words};
use crate::queues::Queues;
use crate::stats::Count;
use crate::units::{Rate, Span, Time};
use alloc::vec::Vec;

words! {
    /// The server at which a flow's backlog is counted.
    pub enum Backlog {
        /// One that serves the flow alone at its reserved rate.
        Ideal = "ideal",
        /// The port itself.
        Real = "real",
    }
}

/// A packet to be stamped, with the state of its flow.
pub struct Arrival {
    /// When it arrived.
    pub at: Time,
    /// Its length in bytes: l.
    pub len: u32,
    /// Its stamp under VirtualClock: the baseline.
    pub baseline: Time,
    /// Its transmission time at the reserved rate: l / r.
    pub tick: Span,
    /// Its transmission time at the peak rate: l / r̂.
    pub peak_tick: Span,
    /// The backlog of its flow that it finds, as a time at the reserved rate: b / r.
    pub backlog: Span,
    /// Maximum workahead, as a time at the reserved rate: W / r.
    pub workahead: Span,
    /// Maximum workahead in bytes: W.
    pub max_workahead: u32,
    /// Maximum workahead, as a time at the peak rate: W / r̂.
    pub peak_workahead: Span,
    /// The value that it carries from the hop before.
    pub carry: i64,
}

/// A rule that sets the stamps of flows with a reservation.
pub trait Restamp {
    /// State of a flow besides the latest stamp; the default value for a newcomer.
    type Own: Copy + Default;

    /// The stamp of the packet, not earlier than `latest`, the flow's stamp before it (the zero of
    /// time for a newcomer).
    fn stamp(&self, latest: Time, own: &mut Self::Own, arrival: &Arrival) -> Time;

    /// See [`StampRule::dequeued`].
    #[inline]
    fn dequeued(&mut self, now: Time, packet: &mut Packet) {
        let _ = (now, packet);
    }
}

/// State of a flow.
#[derive(Clone, Copy)]
struct RestampedFlow<Own> {
    latest: Time,
    peak: Option<Rate>,
    workahead: Span,
    max_workahead: u32,
    peak_workahead: Span,
    own: Own,
}

/// Stamps by rule `R` over VirtualClock's clocks.
pub struct Restamped<R: Restamp> {
    baseline: VirtualClock,
    backlog: Backlog,
    rule: R,
    flows: Vec<RestampedFlow<R::Own>>,
}

impl<R: Restamp> Restamped<R> {
    /// A scheduler of this rule that counts backlogs at this server, without flows.
    pub fn scheduler(rule: R, backlog: Backlog) -> Stamped<Restamped<R>> {
        let baseline = VirtualClock::new(&VirtualClockParams::example());
        Stamped::new(Restamped { baseline, backlog, rule, flows: Vec::new() })
    }
}

impl<R: Restamp> StampRule for Restamped<R> {
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        let before = self.flows.get(flow.ix()).map(|_| self.baseline.aux_vc(flow));
        if before.is_none() {
            let newcomer = RestampedFlow {
                latest: Time::from_ticks(0),
                peak: None,
                workahead: Span::ZERO,
                max_workahead: 0,
                peak_workahead: Span::ZERO,
                own: R::Own::default(),
            };
            self.flows.resize(flow.ix() + 1, newcomer);
        }
        let contract = Contract { head_start: Span::ZERO, ..*contract };
        self.baseline.set_flow(now, flow, &contract, queues)?;
        let entry = &mut self.flows[flow.ix()];
        if before.is_some_and(|before| before != self.baseline.aux_vc(flow)) {
            // The queued datagrams have been stamped.
            entry.latest = entry.latest.max(self.baseline.aux_vc(flow));
        }
        entry.peak = contract.peak_rate();
        entry.workahead = contract.workahead_time();
        let max_workahead = contract.max_workahead().unwrap_or(0);
        entry.max_workahead = u32::try_from(max_workahead).unwrap_or(u32::MAX);
        entry.peak_workahead = entry.peak.map_or(Span::ZERO, |peak| peak.time_for(entry.max_workahead));
        Ok(())
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.baseline.forgettable_at(flow).max(self.flows[flow.ix()].latest)
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        let found = self.baseline.aux_vc(flow).since(packet.arrived);
        self.baseline.stamp(packet, queues);
        let entry = &mut self.flows[flow.ix()];
        let (Some(reserve), Some(peak)) = (self.baseline.reserve(flow), entry.peak) else { return };
        //= pincheira1994 3
        let backlog = match self.backlog {
            Backlog::Ideal => found,
            Backlog::Real => reserve.time_for(u32::try_from(queues.bytes_of(flow)).unwrap_or(u32::MAX)),
        };
        let arrival = Arrival {
            at: packet.arrived,
            len: packet.len,
            baseline: self.baseline.aux_vc(flow),
            tick: reserve.time_for(packet.len),
            peak_tick: peak.time_for(packet.len),
            backlog,
            workahead: entry.workahead,
            max_workahead: entry.max_workahead,
            peak_workahead: entry.peak_workahead,
            carry: packet.carry,
        };
        let stamp = self.rule.stamp(entry.latest, &mut entry.own, &arrival);
        debug_assert!(stamp >= entry.latest);
        entry.latest = stamp;
        packet.tag = stamp.before(self.baseline.shift(flow)).ticks().min(LATEST);
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        self.baseline.key(flow, tag)
    }

    fn key_behind(&self, flow: FlowIx, tag: u64, behind: Count) -> u64 {
        self.baseline.key_behind(flow, tag, behind)
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, queues: &Queues) {
        let Some(tick) = self.baseline.first_tick(flow, head, queues) else { return };
        let entry = &mut self.flows[flow.ix()];
        let is_datagram = head.tag == Time::NEVER.ticks();
        let peak_tick = entry.peak.filter(|_| !is_datagram).map_or(tick, |peak| peak.time_for(head.len));
        let first = Arrival {
            at: now,
            len: head.len,
            baseline: now + tick,
            tick,
            peak_tick,
            backlog: Span::ZERO,
            workahead: entry.workahead,
            max_workahead: entry.max_workahead,
            peak_workahead: entry.peak_workahead,
            carry: head.carry,
        };
        let newcomer = self.rule.stamp(Time::from_ticks(0), &mut R::Own::default(), &first);
        let late = newcomer.since(Time::from_ticks(self.baseline.key(flow, head.tag)));
        entry.latest += late;
        self.baseline.postpone(flow, late);
    }

    #[inline]
    fn dequeued(&mut self, now: Time, packet: &mut Packet, _: &Queues) {
        self.rule.dequeued(now, packet);
    }

    fn release(&mut self, flow: FlowIx) {
        self.flows[flow.ix()].own = R::Own::default();
        self.baseline.release(flow);
    }

    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("lead", self.flows[flow.ix()].latest.since(now).as_secs_f64());
    }

    fn memory(&self) -> usize {
        self.baseline.memory() + self.flows.capacity() * size_of::<RestampedFlow<R::Own>>()
    }
}
