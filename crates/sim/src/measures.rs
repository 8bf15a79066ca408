//! Counters and measurements of the world.

use crate::assurance::Assurance;
use crate::classes::ClassRecords;
use crate::fingerprint::Fingerprint;
use crate::in_traffic::InTraffic;
use crate::probe::Series;
use crate::record::{DelayCounts, FlowRecord, Variation};
use crate::usage::UsageRecords;
use std::collections::BTreeMap;
use tidegate_core::context::Reason;
use tidegate_core::endpoint::Counts;
use tidegate_core::meter::Metered;
use tidegate_core::packet::FlowIx;
use tidegate_core::stats::Moments;
use tidegate_core::switch::{FlowCounters, MeterUsage};
use tidegate_core::units::{Span, Time};

/// All measurements, except those that switches count themselves.
pub(crate) struct Measures {
    pub(crate) warm_at: Time,
    /// True once the warm-up is over.
    pub(crate) warm: bool,
    pub(crate) records: Vec<FlowRecord>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) packet_hops: u64,
    pub(crate) group_counts: Vec<DelayCounts>,
    pub(crate) flow_counts: Vec<DelayCounts>,
    /// Differences of successive delays, by flow, where its delays are counted.
    pub(crate) variations: Vec<Variation>,
    pub(crate) series: Option<Series>,
    /// Envelopes, by flow that has one.
    pub(crate) envelopes: BTreeMap<u32, EnvelopeWaits>,
    /// Packets that lines lost, by flow.
    pub(crate) losses: BTreeMap<u32, u64>,
    /// Copies that did not reach their destinations because of drops and losses, by multicast flow.
    pub(crate) missed: BTreeMap<u32, u64>,
    /// Packets dropped and marked by ports since the warm-up, by link.
    pub(crate) drops: BTreeMap<(u32, Reason), DropCounts>,
    /// Flows found not to respond to congestion, in the order of time.
    pub(crate) non_responsive: Vec<NonResponsive>,
    /// Checks, by flow that was checked.
    pub(crate) checks: BTreeMap<u32, KeptChecks>,
    /// Counts of the ends of connections at the end of the warm-up, by the flow of the data.
    pub(crate) counts_before: BTreeMap<u32, Counts>,
    /// Usage of flows at ports where they are closed.
    pub(crate) usage_closed: UsageRecords,
    /// Usage up to the end of the warm-up.
    pub(crate) usage_before: UsageRecords,
    /// Counters of classes: of flows that are closed, and up to the end of the warm-up.
    pub(crate) classes_closed: ClassRecords,
    pub(crate) classes_before: ClassRecords,
    pub(crate) in_traffic: InTraffic,
    pub(crate) assurance: Option<Assurance>,
}

/// An envelope in front of a flow's first port.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnvelopeWaits {
    /// Waiting times of packets in it.
    pub(crate) waits: Moments,
    /// Number of the first packet that it had not released at the end of the warm-up.
    pub(crate) first_measured: u64,
}

/// Drops and marks of the port in front of a link, for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// Packets dropped.
    pub dropped: u64,
    /// Times that congestion was marked on a packet instead.
    pub marked: u64,
}

/// A flow found not to respond to congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonResponsive {
    /// The link in front of whose port it was found, by its index in the network.
    pub link: u32,
    /// The flow, by its index in the network.
    pub flow: u32,
    /// Time at which it was named.
    pub named: Time,
    /// Time of its release; `None` while it is named.
    pub released: Option<Time>,
    /// Its index at the port.
    pub(crate) at_port: FlowIx,
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
    pub(crate) fn add(&mut self, metered: &Metered) {
        self.checks += metered.checks;
        self.warnings += metered.warnings;
    }
}

/// Checks of a flow that the meters do not keep themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeptChecks {
    /// Checks at ports where the flow is closed.
    pub(crate) closed: Checks,
    /// Checks up to the end of the warm-up.
    pub(crate) before: Checks,
}

impl Measures {
    /// Counts a lost packet that `destinations` destinations wait for, if its flow is multicast.
    #[inline]
    pub(crate) fn missed(&mut self, flow: u32, destinations: u32) {
        if let Some(missed) = self.missed.get_mut(&flow) {
            *missed += u64::from(destinations);
        }
    }

    /// Counts a packet that left its envelope at `at`, after having waited there.
    pub(crate) fn left_envelope(&mut self, flow: u32, at: Time, waited: Span) {
        if at >= self.warm_at
            && let Some(envelope) = self.envelopes.get_mut(&flow)
        {
            envelope.waits.add(waited);
        }
    }

    /// Counts a packet of the flow that was received with a congestion mark.
    #[cold]
    #[inline(never)]
    pub(crate) fn received_marked(&mut self, flow: u32) {
        self.records[flow as usize].marked += 1;
    }

    /// Returns the checks of a flow that the meters do not keep themselves.
    pub(crate) fn checks_of(&self, flow: usize) -> KeptChecks {
        self.checks.get(&(flow as u32)).copied().unwrap_or_default()
    }

    /// Returns the counts of drops and marks at the port in front of a link, for a reason.
    pub(crate) fn drops_for(&mut self, link: u32, reason: Reason) -> &mut DropCounts {
        self.drops.entry((link, reason)).or_default()
    }

    /// Records a flow found not to respond to congestion at the port in front of a link.
    pub(crate) fn named(&mut self, at: Time, link: u32, flow: u32, at_port: FlowIx) {
        self.non_responsive.push(NonResponsive { link, flow, named: at, released: None, at_port });
    }

    /// Records that the flow named last with this index at the port has backed off.
    pub(crate) fn backed_off(&mut self, at: Time, link: u32, at_port: FlowIx) {
        let mut latest = self.non_responsive.iter_mut().rev();
        if let Some(found) = latest.find(|found| (found.link, found.at_port) == (link, at_port)) {
            found.released = Some(at);
        }
    }

    /// Keeps the counters in a class of a flow that is closed at the port in front of a link.
    pub(crate) fn closed_in_class(&mut self, link: u32, class: Option<u16>, counters: FlowCounters) {
        class.into_iter().for_each(|class| self.classes_closed.take(link, class, counters));
    }

    /// Keeps the meters' counts of a flow that is closed at the port in front of a link.
    pub(crate) fn closed_at_port(
        &mut self,
        link: u32,
        flow: u32,
        metered: Option<Metered>,
        usage: impl Iterator<Item = MeterUsage>,
    ) {
        if let Some(metered) = metered {
            self.checks.entry(flow).or_default().closed.add(&metered);
        }
        usage.for_each(|used| self.usage_closed.take(link, flow, used));
    }
}
