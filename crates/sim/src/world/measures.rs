//! What the world counts.

use super::World;
use crate::event_queue::EventQueue;
use crate::fingerprint::Fingerprint;
use crate::network::{FlowSetup, Network};
use crate::probe::{Probes, Series};
use crate::record::{DelayCounts, Delays, FlowRecord};
use crate::relay::AnyRelay;
use crate::watch::Watch;
use std::collections::BTreeMap;
use tidegate_core::context::Reason;
use tidegate_core::meter::Metered;
use tidegate_core::stats::Count;
use tidegate_core::stats::Moments;
use tidegate_core::units::{Span, Time};

/// Everything that is measured, but what switches count themselves.
pub(crate) struct Measures {
    pub(super) warm_at: Time,
    /// Whether the warm-up is over.
    pub(super) warm: bool,
    pub(super) records: Vec<FlowRecord>,
    pub(super) fingerprint: Fingerprint,
    pub(super) packet_hops: u64,
    pub(super) group_counts: Vec<DelayCounts>,
    pub(super) flow_counts: Vec<DelayCounts>,
    /// Made of the counts in the end.
    pub(super) group_delays: Vec<Delays>,
    pub(super) flow_delays: Vec<Delays>,
    pub(super) series: Option<Series>,
    pub(super) watch: Option<Watch>,
    /// How long packets waited in the envelope of each flow that has one.
    pub(super) envelopes: BTreeMap<u32, Moments>,
    /// Packets that lines lost, by flow.
    pub(super) losses: BTreeMap<u32, u64>,
    /// What ports dropped and marked since the warm-up, by link.
    pub(super) drops: BTreeMap<(u32, Reason), DropCounts>,
    checks: Vec<KeptChecks>,
}

/// What the port in front of a link has done with packets for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// Packets dropped.
    pub dropped: u64,
    /// Times that congestion was marked on a packet instead.
    pub marked: u64,
}

/// Checks and warnings of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Checks.
    pub checks: u64,
    /// Checks at which it was warned.
    pub warnings: u64,
}

impl Checks {
    fn add(&mut self, metered: &Metered) {
        self.checks += metered.checks;
        self.warnings += metered.warnings;
    }
}

/// A flow's checks that the meters do not keep themselves.
#[derive(Clone, Copy, Debug, Default)]
struct KeptChecks {
    /// Those at ports where the flow is closed.
    closed: Checks,
    /// Those up to the end of the warm-up.
    before: Checks,
}

impl Measures {
    pub(super) fn new(network: &Network, probes: &Probes) -> Measures {
        let (groups, flows) = (network.groups.len(), network.flows.len());
        let at_gate = |link: &usize| network.gate.as_ref().is_some_and(|gate| gate.links.contains(link));
        let enveloped = |flow: &FlowSetup| flow.envelope.is_some() && !at_gate(&flow.route[0]);
        let enveloped = network.flows.iter().enumerate().filter(|(_, flow)| enveloped(flow));
        Measures {
            warm_at: Time::ORIGIN + network.warmup,
            warm: network.warmup == Span::ZERO,
            records: vec![FlowRecord::default(); flows],
            fingerprint: Fingerprint::default(),
            packet_hops: 0,
            group_counts: vec![DelayCounts::default(); if probes.delays { groups } else { 0 }],
            flow_counts: vec![DelayCounts::default(); if probes.flow_delays { flows } else { 0 }],
            group_delays: Vec::new(),
            flow_delays: Vec::new(),
            series: probes.sample.map(|spacing| Series::new(spacing, network)),
            watch: probes.watch.clone(),
            envelopes: enveloped.map(|(ix, _)| (ix as u32, Moments::default())).collect(),
            losses: BTreeMap::new(),
            drops: BTreeMap::new(),
            checks: vec![KeptChecks::default(); flows],
        }
    }

    /// A packet left its envelope at `at`, after having waited there.
    pub(crate) fn left_envelope(&mut self, flow: u32, at: Time, waited: Span) {
        if at >= self.warm_at
            && let Some(envelope) = self.envelopes.get_mut(&flow)
        {
            envelope.add(waited);
        }
    }

    /// A packet of the flow was received with congestion marked.
    #[cold]
    #[inline(never)]
    pub(super) fn received_marked(&mut self, flow: u32) {
        self.records[flow as usize].marked += 1;
    }

    /// What the port in front of a link has dropped and marked for a reason.
    pub(super) fn drops_for(&mut self, link: u32, reason: Reason) -> &mut DropCounts {
        self.drops.entry((link, reason)).or_default()
    }

    /// A flow was closed at a port whose meter had counted this of it.
    pub(crate) fn closed_at_port(&mut self, flow: u32, metered: &Metered) {
        self.checks[flow as usize].closed.add(metered);
    }

    /// The run is over: the histograms are made.
    pub(super) fn finish(&mut self) {
        self.group_delays.extend(self.group_counts.drain(..).map(DelayCounts::into_delays));
        self.flow_delays.extend(self.flow_counts.drain(..).map(DelayCounts::into_delays));
    }
}

impl<Q> World<Q> {
    /// What the ports on the flow's way say of it now, one after the other; at a gate it has no port of its own.
    fn metered(&self, flow: usize) -> impl Iterator<Item = Metered> {
        let edge = self.gate_edge();
        let hops = &self.fabric.hops[self.flows[flow].range()];
        let own = hops.iter().filter(move |hop| edge.is_none_or(|edge| !edge.has(hop.link as usize)));
        own.filter_map(|hop| self.fabric.nodes[hop.node as usize].switch.metered(hop.leg))
    }

    fn checks_so_far(&self, flow: usize) -> Checks {
        let mut checks = self.measures.checks[flow].closed;
        self.metered(flow).for_each(|metered| checks.add(&metered));
        checks
    }

    /// The flow's checks over all ports on its way, since the warm-up.
    pub fn checks(&self, flow: usize) -> Checks {
        let (all, before) = (self.checks_so_far(flow), self.measures.checks[flow].before);
        Checks { checks: all.checks - before.checks, warnings: all.warnings - before.warnings }
    }

    /// What waits in the envelope of each flow that has one: it was counted as sent when its
    /// source made it, and has not left it yet.
    pub(super) fn in_envelopes(&self) -> Vec<(usize, Count)> {
        let waiting = |flow: &u32| {
            let hop = &self.fabric.hops[self.flows[*flow as usize].first_hop as usize];
            (*flow as usize, self.fabric.nodes[hop.node as usize].switch.shaped(hop.leg))
        };
        self.measures.envelopes.keys().map(waiting).collect()
    }

    /// What the meters say at the time of a sample: for each group the most that a flow of it is ahead, and how
    /// often it has been warned so far.
    pub(crate) fn leads(&self, at: Time, groups: usize) -> Vec<(Span, u64)> {
        let mut samples = vec![(Span::ZERO, 0); groups];
        for (ix, flow) in self.flows.iter().enumerate() {
            let (lead, warnings) = &mut samples[flow.group as usize];
            *warnings += self.measures.checks[ix].closed.warnings;
            for metered in self.metered(ix) {
                *lead = (*lead).max(metered.lead(at));
                *warnings += metered.warnings;
            }
        }
        samples
    }

    pub(super) fn gate_edge(&self) -> Option<&crate::relay::GateEdge> {
        self.relays.iter().find_map(|relay| match relay {
            AnyRelay::GateEdge(edge) => Some(edge.as_ref()),
            _ => None,
        })
    }

    pub(super) fn flow_network(&self) -> Option<&crate::relay::FlowNetwork> {
        self.relays.iter().find_map(|relay| match relay {
            AnyRelay::FlowNetwork(network) => Some(network.as_ref()),
            _ => None,
        })
    }
}

impl<Q: EventQueue> World<Q> {
    /// What was counted so far does not count.
    #[cold]
    #[inline(never)]
    pub(super) fn warm_up(&mut self) {
        self.measures.warm = true;
        self.measures.drops.clear();
        self.measures.records.iter_mut().for_each(|record| record.sent = (0, 0));
        for (flow, waiting) in self.in_envelopes() {
            self.measures.records[flow].sent = (waiting.packets, waiting.bytes);
        }
        for flow in 0..self.flows.len() {
            self.measures.checks[flow].before = self.checks_so_far(flow);
        }
        for relay in 0..self.relays.len() {
            self.call_relay(relay as u32, |relay, cx| relay.count_anew(cx));
        }
        let warm_at = self.measures.warm_at;
        for (ix, link) in self.fabric.links.iter_mut().enumerate() {
            let switch = &mut self.fabric.nodes[link.node as usize].switch;
            let (sent, started) = link.done(switch);
            (link.before, link.waited) = ((sent, started, link.line.lost()), 0);
            if let Some(series) = self.measures.series.as_mut().filter(|_| !link.line.is_traced()) {
                series.busy_anew(ix, switch.busy(warm_at, link.port));
            }
            switch.reset_stats(warm_at, link.port);
        }
    }

    /// Takes all samples that are due before `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn sample(&mut self, at: Time) {
        while let Some(mut series) =
            self.measures.series.take_if(|series| series.next() < at && series.next() <= self.until)
        {
            series.take(self);
            self.measures.series = Some(series);
        }
    }
}
