//! Measurements to take in a run, derived from its network and its probes.

use super::provisioning::in_traffic;
use crate::fingerprint::Fingerprint;
use crate::measures::{Envelope, KeptChecks, Measures};
use crate::network::{FlowSetup, Network};
use crate::probe::{Probes, Series};
use crate::record::{DelayCounts, FlowRecord};
use crate::usage::UsageRecords;
use crate::watch::{Leg, Watch};
use crate::workahead::{self, Workaheads};
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::switch::plan::PortPlan;
use tidegate_core::units::{Span, Time};

/// Creates the measurements to take.
///
/// # Errors
/// When an ideal server would have no rate.
pub(super) fn measures(network: &Network, probes: &Probes) -> Result<Measures, Refused> {
    let (groups, flows) = (network.groups.len(), network.flows.len());
    let enveloped = network.flows.iter().enumerate().filter(|(_, flow)| network.is_enveloped(flow));
    let copied = network.flows.iter().enumerate().filter(|(_, flow)| !flow.depths.is_empty());
    let has_meters = |port: &PortPlan| {
        !port.meters.is_empty() || port.classes.iter().any(|class| !class.meters.is_empty())
    };
    let metered = network.links.iter().any(|link| has_meters(&link.port));
    let warm_at = Time::ORIGIN + network.warmup;
    let workaheads = (!probes.workahead.is_empty())
        .then(|| Workaheads::new(network.flows.iter().map(observed), &probes.workahead, warm_at))
        .transpose()?;
    Ok(Measures {
        warm_at,
        warm: network.warmup == Span::ZERO,
        records: vec![FlowRecord::default(); flows],
        fingerprint: Fingerprint::default(),
        packet_hops: 0,
        group_counts: vec![DelayCounts::default(); if probes.delays { groups } else { 0 }],
        flow_counts: vec![DelayCounts::default(); if probes.flow_delays { flows } else { 0 }],
        series: probes.sample.map(|spacing| Series::new(spacing, groups, metered)),
        workaheads,
        watch: probes.watch.clone().map(|watch| watching(watch, network)),
        log: probes.log.then(Vec::new),
        envelopes: enveloped.map(|(ix, _)| (ix as u32, Envelope::default())).collect(),
        losses: BTreeMap::new(),
        missed: copied.map(|(ix, _)| (ix as u32, 0)).collect(),
        drops: BTreeMap::new(),
        non_responsive: Vec::new(),
        checks: vec![KeptChecks::default(); flows],
        counts_before: BTreeMap::new(),
        usage_closed: UsageRecords::default(),
        usage_before: UsageRecords::default(),
        in_traffic: in_traffic(network, warm_at),
    })
}

/// Returns a flow whose workahead is measured, at the greatest rate that it ever reserves.
fn observed(flow: &FlowSetup) -> workahead::Route<'_> {
    workahead::Route {
        name: &flow.name,
        reserve: flow.terms().map(|terms| terms.reserve),
        enveloped: flow.envelope.is_some(),
        links: flow.route.len(),
        depths: &flow.depths,
    }
}

/// Completes a watch with the properties of its flow.
fn watching(watch: Watch, network: &Network) -> Watch {
    match network.flows.get(watch.flow()) {
        Some(flow) => {
            let (destinations, first_hop) = (flow.destinations_behind(), network.first_hops()[watch.flow()]);
            let leg = |(ix, link): (usize, &usize)| Leg {
                link: *link as u32,
                before: flow.before(ix),
                destinations: destinations.get(ix).copied().unwrap_or(1),
            };
            let route = flow.route.iter().enumerate().map(leg).collect();
            watch.of(route, first_hop, flow.terms(), network.is_enveloped(flow))
        }
        None => watch,
    }
}
