//! Measurements of a world.

use super::stages::Placed;
use super::{DropCounts, NonResponsive, World};
use crate::assurance::{Assurance, Windows};
use crate::host::Source;
use crate::probe::{Series, Subject};
use crate::record::{DelayCounts, Delays, FlowRecord};
use crate::stage::Gauges;
use tidegate_core::context::Reason;
use tidegate_core::stats::{Count, Moments};
use tidegate_core::switch::QueueStats;
use tidegate_core::units::{Span, Time};

impl<Q> World<Q> {
    /// Returns the progress of the run, from 0 to 1.
    pub fn progress(&self) -> f64 {
        let whole = self.until.since(Time::ORIGIN).as_secs_f64();
        if whole > 0.0 { self.cx.now.since(Time::ORIGIN).as_secs_f64() / whole } else { 1.0 }
    }

    /// Returns the sum of the hashes of outcomes so far.
    pub fn fingerprint(&self) -> u64 {
        self.cx.measures.fingerprint.value()
    }

    /// Returns the number of packets that have left an output port.
    pub fn packet_hops(&self) -> u64 {
        self.cx.measures.packet_hops
    }

    /// Returns one record per flow, in the network's order.
    pub fn records(&self) -> &[FlowRecord] {
        &self.cx.measures.records
    }

    /// Returns the waiting times of a flow's packets in its envelope; `None` for a flow without
    /// one.
    pub fn envelope_wait(&self, flow: usize) -> Option<&Moments> {
        self.cx.measures.envelopes.get(&(flow as u32)).map(|envelope| &envelope.waits)
    }

    /// Returns the delays in a group so far; `None` when they are not recorded.
    pub fn group_delays(&self, group: usize) -> Option<Delays> {
        self.cx.measures.group_counts.get(group).map(DelayCounts::delays)
    }

    /// Returns the delays of a flow so far; `None` when they are not recorded.
    pub fn flow_delays(&self, flow: usize) -> Option<Delays> {
        self.cx.measures.flow_counts.get(flow).map(DelayCounts::delays)
    }

    /// Returns the flow's interarrival jitter in seconds (RFC 3550, section 6.4.1), as it is after
    /// the latest packet; `None` without delays by flow, and before a packet.
    pub fn jitter(&self, flow: usize) -> Option<f64> {
        self.cx.measures.variations.get(flow).and_then(|variation| variation.jitter())
    }

    /// Returns the measured time so far, from the end of the warm-up.
    pub fn measured(&self) -> Span {
        self.cx.now.since(self.cx.measures.warm_at)
    }

    /// Returns quantities over time, if they are sampled.
    pub fn series(&self) -> Option<&Series> {
        self.cx.measures.series.as_ref()
    }

    /// Returns the number of a flow's packets that links on its way have lost, of those sent since
    /// the warm-up.
    pub fn lost(&self, flow: usize) -> u64 {
        self.cx.measures.losses.get(&(flow as u32)).copied().unwrap_or(0)
    }

    /// Returns the number of copies of a flow's packets that drops and losses on its way kept from
    /// their destinations, of the packets sent since the warm-up: a lost packet counts once for
    /// each destination behind the place.
    pub fn missed(&self, flow: usize) -> u64 {
        let unicast = || self.cx.measures.records[flow].dropped + self.lost(flow);
        self.cx.measures.missed.get(&(flow as u32)).copied().unwrap_or_else(unicast)
    }

    /// Returns drops and marks at the port in front of a link since the warm-up, by the reasons
    /// that occurred.
    pub fn drops(&self, link: usize) -> impl Iterator<Item = (Reason, DropCounts)> {
        let reasons = (link as u32, Reason::ALL[0])..=(link as u32, Reason::ALL[Reason::ALL.len() - 1]);
        self.cx.measures.drops.range(reasons).map(|((_, reason), counts)| (*reason, *counts))
    }

    /// Returns the flows found unresponsive to congestion since the start of the run, with the
    /// links, in chronological order.
    pub fn non_responsive(&self) -> &[NonResponsive] {
        &self.cx.measures.non_responsive
    }

    /// Returns the windows of each scope of the network's assurance plan, in its order.
    pub fn assurance(&self) -> impl Iterator<Item = Windows> {
        self.cx.measures.assurance.iter().flat_map(Assurance::windows)
    }

    /// Returns the report of a link since the warm-up.
    pub fn link(&self, ix: usize) -> LinkReport {
        let link = &self.cx.fabric.links[ix];
        let switch = &self.cx.fabric.nodes[link.node as usize].switch;
        let (sent, started) = link.done(switch);
        let before = link.before;
        let sent = (sent.packets - before.sent.packets, sent.bytes - before.sent.bytes);
        let offered = link.line.offered(self.cx.measures.warm_at, self.cx.now);
        let cells = link.line.lane().map(|lane| (lane.sent(), lane.busy(self.cx.now)));
        LinkReport {
            sent,
            control: cells.unwrap_or_default(),
            dropped: self.drops(ix).map(|(_, counts)| counts.dropped).sum(),
            marked: self.drops(ix).map(|(_, counts)| counts.marked).sum(),
            lost: link.line.lost() - before.lost,
            waited: (started - before.started, link.waited),
            measured: self.measured(),
            stats: switch.queue_stats(self.cx.now, link.port),
            used: offered.map(|offered| (link.line.used(self.cx.now) - before.used, offered)),
            in_traffic: self.cx.measures.in_traffic.of(ix as u32).map(|counted| {
                (
                    counted.mean(self.in_traffic_so_far(ix as u32), self.measured(), offered),
                    counted.greatest(),
                )
            }),
        }
    }

    /// Shows the current gauges of endpoints and stages.
    pub(super) fn gauges(&self, show: &mut dyn FnMut(Subject, &'static str, f64)) {
        for (ix, flow) in self.cx.flows.iter().enumerate() {
            if let Source::Endpoint(endpoint) = &flow.source {
                endpoint.gauges(&mut |metric, value| show(Subject::Flow(ix as u32), metric, value));
            }
        }
        for Placed { stage, plan, .. } in &self.stages {
            let own = plan.map(Subject::Stage);
            stage.gauges(&mut Gauges { fabric: &self.cx.fabric, own, show: &mut *show });
        }
    }

    /// Returns the bytes of memory held by the switches for flows and packets.
    pub fn memory(&self) -> usize {
        self.cx.fabric.nodes.iter().map(|node| node.switch.memory()).sum()
    }
}

/// Report of a link since the warm-up.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Packets and bytes whose last bit has left.
    pub sent: (u64, u64),
    /// Credit cells and credit_check cells whose last bit has left, which are not among the
    /// packets, and the time for which they occupied the link.
    pub control: (Count, Span),
    /// Packets dropped at its port.
    pub dropped: u64,
    /// Times that its port marked congestion on a packet.
    pub marked: u64,
    /// Packets lost on the link after they had left.
    pub lost: u64,
    /// Packets that have started, and the total ticks that they waited.
    pub waited: (u64, u128),
    /// Measured time.
    pub measured: Span,
    /// The queue over time.
    pub stats: Option<QueueStats>,
    /// Bytes of its trace's opportunities that packets have used, and all of them; `None` without a
    /// trace.
    pub used: Option<(u64, u64)>,
    /// Share of its capacity taken by in-traffic: over the measured time (`None` when nothing could
    /// be carried), and the most in a second (`None` when that is shorter). `None` for a link
    /// without in-traffic.
    pub in_traffic: Option<(Option<f64>, Option<f64>)>,
}
