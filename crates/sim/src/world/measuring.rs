//! Measurements to take in a run, derived from its network and its probes.

use super::provisioning::in_traffic;
use crate::assurance::Assurance;
use crate::classes::ClassRecords;
use crate::fingerprint::Fingerprint;
use crate::measures::{EnvelopeWaits, Measures};
use crate::network::Network;
use crate::probe::{Probes, Series};
use crate::record::{DelayCounts, FlowRecord, Variation};
use crate::usage::UsageRecords;
use std::collections::BTreeMap;
use tidegate_core::switch::plan::PortPlan;
use tidegate_core::units::{Span, Time};

/// Creates the measurements to take; `lives` are the starts and stops of the flows.
pub(super) fn measures(network: &Network, lives: &[(Time, Time)], probes: &Probes) -> Measures {
    let (groups, flows) = (network.groups.len(), network.flows.len());
    let enveloped = network.flows.iter().enumerate().filter(|(_, flow)| network.is_enveloped(flow));
    let copied = network.flows.iter().enumerate().filter(|(_, flow)| !flow.depths.is_empty());
    let has_meters = |port: &PortPlan| {
        !port.meters.is_empty() || port.classes.iter().any(|class| !class.meters.is_empty())
    };
    let metered = network.links.iter().any(|link| has_meters(&link.port));
    let warm_at = Time::ORIGIN + network.warmup;
    Measures {
        warm_at,
        warm: network.warmup == Span::ZERO,
        records: vec![FlowRecord::default(); flows],
        fingerprint: Fingerprint::default(),
        packet_hops: 0,
        group_counts: vec![DelayCounts::default(); if probes.delays { groups } else { 0 }],
        flow_counts: vec![DelayCounts::default(); if probes.flow_delays { flows } else { 0 }],
        variations: vec![Variation::default(); if probes.flow_delays { flows } else { 0 }],
        series: probes.sample.map(|spacing| Series::new(spacing, groups, metered)),
        envelopes: enveloped.map(|(ix, _)| (ix as u32, EnvelopeWaits::default())).collect(),
        losses: BTreeMap::new(),
        missed: copied.map(|(ix, _)| (ix as u32, 0)).collect(),
        drops: BTreeMap::new(),
        non_responsive: Vec::new(),
        checks: BTreeMap::new(),
        counts_before: BTreeMap::new(),
        usage_closed: UsageRecords::default(),
        usage_before: UsageRecords::default(),
        classes_closed: ClassRecords::default(),
        classes_before: ClassRecords::default(),
        in_traffic: in_traffic(network, warm_at),
        assurance: network.assurance.as_ref().map(|plan| Assurance::new(plan, lives, warm_at)),
    }
}
