//! A shared pool that is smaller than the memory that flows within their buckets may use
//! (docs/pool.md).

use super::found::Found;
use crate::error::{Complaint, Place};
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::Link;
use crate::scenario::{Load, Scenario};
use crate::units::show_limit;
use tidegate_core::params::Limit;
use tidegate_core::stats::Count;
use tidegate_core::switch::plan::{FlowPlan, PushOut};
use tidegate_core::units::Rate;

/// The first switch whose pool does not cover the buckets of the flows that reserve there, with the
/// port that needs most. Flows that are set up by signalling come and go, and are not summed.
pub(super) fn short(scenario: &Scenario, loads: &[Load]) -> Option<Found> {
    if scenario.push_out == PushOut::LongestQueue || scenario.admission.is_some() {
        return None;
    }
    scenario.nodes.iter().enumerate().find_map(|(node, switch)| {
        let buffer = switch.buffer?;
        let ports: Vec<PortFlows<'_>> = (scenario.links.iter().enumerate())
            .filter(|(_, link)| link.from == node && link.gate.is_none())
            .filter_map(|(index, link)| PortFlows::new(scenario, loads, index, link))
            .collect();
        let (Limit::Packets(limit) | Limit::Bytes(limit)) = buffer;
        let of = |count: Count| match buffer {
            Limit::Packets(_) => count.packets,
            Limit::Bytes(_) => count.bytes,
        };
        let most = ports.iter().max_by_key(|port| of(port.aside))?;
        let place = most.place?;
        let beyond = ports.iter().map(|port| of(port.beyond)).max()?.saturating_mul(ports.len() as u64);
        // Where flows reserve by rate, they share half of the memory that is not set aside.
        let halves = if ports.iter().any(|port| port.by_rate) { 2 } else { 1 };
        let aside = ports.iter().fold(0u64, |sum, port| sum.saturating_add(of(port.aside)));
        let needed = aside.saturating_add(beyond.saturating_mul(halves));
        if needed <= limit {
            return None;
        }
        let show = |amount| match buffer {
            Limit::Packets(_) => show_limit(Limit::Packets(amount)),
            Limit::Bytes(_) => show_limit(Limit::Bytes(amount)),
        };
        let message = format!(
            "the pool of `{}` holds {}, and needs {} for flows within their buckets, {} of it on link {}: they may \
             lose packets to others",
            switch.name,
            show_limit(buffer),
            show(needed),
            show(of(most.aside)),
            most.name
        );
        let help = format!("give the switch a `buffer` of {}, or state smaller buckets", show(needed));
        Some((place, Complaint::new(message).help(help)))
    })
}

/// The flows at a port.
struct PortFlows<'s> {
    name: &'s str,
    /// Memory set aside for flows with buckets.
    aside: Count,
    /// The most memory that the port uses beyond that while these flows keep their contracts: a
    /// packet of another flow in service, and the arrivals meanwhile at the flows' rates, where
    /// these exceed the packet that is set aside for it.
    beyond: Count,
    /// True if other flows reserve.
    by_rate: bool,
    /// Place of the first stated bucket.
    place: Option<Place>,
}

impl<'s> PortFlows<'s> {
    /// A port that some flow passes.
    fn new(scenario: &Scenario, loads: &[Load], index: usize, link: &'s Link) -> Option<PortFlows<'s>> {
        let passing = || {
            let flows = loads.iter().map(|load| (load, &scenario.groups[load.group]));
            flows.filter(|(_, group)| group.route.contains(&index))
        };
        let largest = link.charged(passing().map(|(load, _)| load.largest).max()?);
        let ceiling = link.port.ceiling.and_then(Rate::from_bits_per_second);
        let in_service = ceiling.map_or(link.rate, |ceiling| ceiling.min(link.rate)).time_for(largest);
        let mut port = PortFlows {
            name: &link.name,
            aside: Count::default(),
            beyond: Count { packets: 1, bytes: u64::from(largest) },
            by_rate: false,
            place: None,
        };
        for (load, group) in passing() {
            let plan = plan(load, group, link);
            let Some(reserve) = plan.contract.reserve else { continue };
            let (Some(aside), Some(sizes)) = (plan.set_aside(), plan.sizes) else {
                port.by_rate = true;
                continue;
            };
            port.place.get_or_insert(group.workahead_place);
            let comes = reserve.bytes_in(in_service).saturating_add(1);
            let packets = comes.div_ceil(u64::from(sizes.smallest)) - 1;
            let late = Count { packets, bytes: comes.saturating_sub(u64::from(sizes.largest)) };
            for (sum, one) in [(&mut port.aside, aside), (&mut port.beyond, late)] {
                sum.packets = sum.packets.saturating_add(one.packets.saturating_mul(load.count));
                sum.bytes = sum.bytes.saturating_add(one.bytes.saturating_mul(load.count));
            }
        }
        Some(port)
    }
}

/// A flow of these at the port of a link.
fn plan(load: &Load, group: &FlowGroup, link: &Link) -> FlowPlan {
    let sizes = load.sizes.map(|sizes| sizes.charged(link.framing));
    FlowPlan { contract: group.contract.contract(), sizes, ..FlowPlan::default() }
}
