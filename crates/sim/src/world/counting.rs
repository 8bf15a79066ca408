//! Counters along a flow's route, and their reset after the warm-up.

use super::World;
use crate::classes::{ClassCounts, ClassRecords};
use crate::event_queue::EventQueue;
use crate::fabric::{Before, Hop};
use crate::flow::Flow;
use crate::host::{Adapted, PacketCounts, Source};
use crate::measures::Checks;
use crate::probe::Subject;
use crate::usage::{MeteredProfile, UsageRecords};
use core::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::endpoint::Counts;
use tidegate_core::endpoint::transfers::Transfer;
use tidegate_core::meter::{Metered, Usage};
use tidegate_core::stats::Count;
use tidegate_core::units::Span;

impl<Q> World<Q> {
    /// Returns the present counts of the meters on the flow's way, port by port; at a gate it has
    /// no port of its own.
    pub(super) fn metered(&self, flow: usize) -> impl Iterator<Item = Metered> {
        let hops = self.ports_on_way(&self.cx.flows[flow]);
        let own = hops.filter(|hop| self.cx.fabric.gate != Some(hop.node));
        own.filter_map(|hop| self.cx.fabric.nodes[hop.node as usize].switch.metered(hop.leg))
    }

    /// Returns the hops of a flow, one for each port on its way.
    fn ports_on_way(&self, flow: &Flow) -> impl Iterator<Item = &Hop> {
        let (is_spread, mut seen) = (flow.is_spread, BTreeSet::new());
        self.cx.fabric.hops[flow.range()].iter().filter(move |hop| !is_spread || seen.insert(hop.link))
    }

    fn checks_so_far(&self, flow: usize) -> Checks {
        let mut checks = self.cx.measures.checks_of(flow).closed;
        self.metered(flow).for_each(|metered| checks.add(&metered));
        checks
    }

    /// Returns the flow's checks over all ports on its way, since the warm-up.
    pub fn checks(&self, flow: usize) -> Checks {
        let (all, before) = (self.checks_so_far(flow), self.cx.measures.checks_of(flow).before);
        Checks { checks: all.checks - before.checks, warnings: all.warnings - before.warnings }
    }

    fn usage_so_far(&self) -> UsageRecords {
        let mut records = self.cx.measures.usage_closed.clone();
        for (ix, flow) in self.cx.flows.iter().enumerate() {
            for hop in self.ports_on_way(flow) {
                let used = self.cx.fabric.nodes[hop.node as usize].switch.usage(hop.leg);
                used.for_each(|used| records.take(hop.link, ix as u32, used));
            }
        }
        records
    }

    /// Returns the use of profiles since the warm-up, at every meter that reports it, without those
    /// of a gate's own flows.
    pub fn usage(&self) -> BTreeMap<MeteredProfile, Usage> {
        self.usage_so_far().since(&self.cx.measures.usage_before)
    }

    fn class_counts_so_far(&self) -> ClassRecords {
        let mut records = self.cx.measures.classes_closed.clone();
        let flows = self.cx.flows.iter().flat_map(|flow| self.ports_on_way(flow));
        for hop in flows.filter(|hop| self.cx.fabric.gate != Some(hop.node)) {
            let switch = &self.cx.fabric.nodes[hop.node as usize].switch;
            if let Some(class) = switch.class_of(hop.leg) {
                records.take(hop.link, class, switch.counters(hop.leg));
            }
        }
        records
    }

    /// Returns the counters since the warm-up of the flows that are members of each class itself, by
    /// the index of the link and that of the class in its port.
    pub fn class_counts(&self) -> BTreeMap<(u32, u16), ClassCounts> {
        self.class_counts_so_far().since(&self.cx.measures.classes_before)
    }

    /// Returns the counts so far of both ends of the connection whose data are this flow.
    fn counts_so_far(&self, flow: usize) -> Counts {
        let counts = |ix: usize| match &self.cx.flows[ix].source {
            Source::Endpoint(endpoint) => endpoint.counts(),
            Source::OpenLoop(_) => Counts::default(),
        };
        let receiver = self.cx.flows[flow].peer.map(|peer| counts(peer as usize)).unwrap_or_default();
        Counts { delivered: receiver.delivered, ..counts(flow) }
    }

    /// Returns the packet counts of a flow that is sent as cells, since the warm-up; `None` for
    /// other flows.
    pub fn packets_of_cells(&self, flow: usize) -> Option<PacketCounts> {
        let adapter = |ix: usize| match &self.cx.flows[ix].source {
            Source::Endpoint(endpoint) => (endpoint.as_ref() as &dyn Any).downcast_ref::<Adapted>(),
            Source::OpenLoop(_) => None,
        };
        let sent = adapter(flow)?.sent()?;
        // Cells without a peer are joined by their own adapter.
        let receiver = self.cx.flows[flow].peer.map_or(flow, |peer| peer as usize);
        let (received, discarded_cells) = adapter(receiver)?.received();
        Some(PacketCounts { sent, received, discarded_cells })
    }

    /// Returns the bytes that the endpoint of a flow has delivered to its application.
    pub(super) fn delivered_at(&self, ix: u32) -> u64 {
        match &self.cx.flows[ix as usize].source {
            Source::Endpoint(endpoint) => endpoint.counts().delivered.unwrap_or(0),
            Source::OpenLoop(_) => 0,
        }
    }

    /// Adjusts the bytes delivered by the end of the warm-up when a packet whose data were first
    /// sent before it raises the delivered bytes of its flow from `earlier` to `now`. Bytes sent by
    /// then do not count, like the packet; newer ones, which have waited for it at the receiver,
    /// do.
    pub(super) fn delivered_before(&mut self, flow: u32, earlier: u64, now: u64) {
        let before = self.cx.measures.counts_before.entry(flow).or_default();
        let sent = before.sent.unwrap_or(u64::MAX);
        *before.delivered.get_or_insert_default() += now.min(sent).saturating_sub(earlier);
    }

    /// Returns the counts since the warm-up of both ends of the connection whose data are this
    /// flow; nothing for other flows.
    pub fn counts(&self, flow: usize) -> Counts {
        let all = self.counts_so_far(flow);
        let before = self.cx.measures.counts_before.get(&(flow as u32)).copied().unwrap_or_default();
        let since = |all: Option<u64>, before: Option<u64>| all.map(|all| all - before.unwrap_or(0));
        Counts {
            retransmissions: since(all.retransmissions, before.retransmissions),
            timeouts: since(all.timeouts, before.timeouts),
            delivered: since(all.delivered, before.delivered),
            sent: since(all.sent, before.sent),
            round_trips: since(all.round_trips, before.round_trips),
            round_trip_ticks: since(all.round_trip_ticks, before.round_trip_ticks),
        }
    }

    /// Returns the finite transfers of a connection whose data are this flow that began after the
    /// warm-up, with their numbers on the connection.
    pub fn transfers(&self, flow: usize) -> impl Iterator<Item = (usize, &Transfer)> {
        let all = match &self.cx.flows[flow].source {
            Source::Endpoint(endpoint) => endpoint.transfers(),
            Source::OpenLoop(_) => &[],
        };
        all.iter().enumerate().filter(|(_, transfer)| transfer.began >= self.cx.measures.warm_at)
    }

    /// Returns the packets that wait in envelopes, by flow, and the number of the first one: it was
    /// counted as sent when its source made it, and has not left it yet. A flow that was closed
    /// meanwhile may still have packets there.
    pub(super) fn in_envelopes(&self) -> BTreeMap<u32, (Count, u64)> {
        let first_hop = |flow: u32| self.cx.flows[flow as usize].first_hop;
        let enveloped = self.cx.measures.envelopes.keys();
        let links: BTreeSet<u32> =
            enveloped.map(|flow| self.cx.fabric.hops[first_hop(*flow) as usize].link).collect();
        let mut waiting: BTreeMap<u32, (Count, u64)> = BTreeMap::new();
        for link in links {
            let (switch, port) = self.cx.fabric.port_of(link);
            for packet in switch.in_shapers(port) {
                let body = self.cx.packets.body(packet.body);
                if body.hop == first_hop(body.flow) && self.cx.measures.envelopes.contains_key(&body.flow) {
                    let (count, first) = waiting.entry(body.flow).or_insert((Count::default(), u64::MAX));
                    count.add(packet.len);
                    *first = body.sequence.min(*first);
                }
            }
        }
        waiting
    }
}

impl<Q: EventQueue> World<Q> {
    /// Ends the warm-up: counting starts afresh.
    #[cold]
    #[inline(never)]
    pub(super) fn warm_up(&mut self) {
        self.cx.measures.warm = true;
        self.cx.measures.drops.clear();
        self.cx.measures.records.iter_mut().for_each(|record| record.sent = (0, 0));
        let waiting = self.in_envelopes();
        for (flow, envelope) in &mut self.cx.measures.envelopes {
            let next = self.cx.flows[*flow as usize].next_sequence;
            let (count, first) = waiting.get(flow).copied().unwrap_or((Count::default(), next));
            envelope.first_measured = first;
            self.cx.measures.records[*flow as usize].sent = (count.packets, count.bytes);
        }
        for flow in 0..self.cx.flows.len() {
            let so_far = self.checks_so_far(flow);
            if so_far != Checks::default() {
                self.cx.measures.checks.entry(flow as u32).or_default().before = so_far;
            }
            let counts = self.counts_so_far(flow);
            if counts != Counts::default() {
                self.cx.measures.counts_before.insert(flow as u32, counts);
            }
        }
        self.cx.measures.usage_before = self.usage_so_far();
        self.cx.measures.classes_before = self.class_counts_so_far();
        self.begin_in_traffic();
        if let Some(assurance) = &mut self.cx.measures.assurance {
            assurance.begin();
        }
        for stage in 0..self.stages.len() {
            self.call_stage(stage as u32, |stage, cx| stage.restart_counts(cx));
        }
        let warm_at = self.cx.measures.warm_at;
        for (ix, link) in self.cx.fabric.links.iter_mut().enumerate() {
            let switch = &mut self.cx.fabric.nodes[link.node as usize].switch;
            let (sent, started) = link.done(switch);
            let used = link.line.used(warm_at);
            (link.before, link.waited) = (Before { sent, started, lost: link.line.lost(), used }, 0);
            if let Some(series) = self.cx.measures.series.as_mut().filter(|_| link.line.is_steady()) {
                let cells = link.line.lane().map_or(Span::ZERO, |lane| lane.busy(warm_at));
                let busy = switch.busy(warm_at, link.port).ticks() + cells.ticks();
                series.anew(Subject::Link(ix as u32), "utilisation", busy);
            }
            switch.reset_stats(warm_at, link.port);
            if let Some(lane) = link.line.lane_mut() {
                lane.restart_counts(warm_at);
            }
        }
    }
}
