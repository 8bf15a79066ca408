//! Reservations that are of a flow's own bytes, on links that charge more.

use super::found::{Found, and_more};
use crate::error::Complaint;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::Link;
use crate::scenario::{Load, Scenario};
use crate::units::show_rate;

/// Flows that keep to their reservations and still send more than these on links with overhead.
pub(super) fn reservations(scenario: &Scenario, loads: &[Load]) -> Option<Found> {
    let mut above = loads.iter().filter_map(|load| {
        let group = &scenario.groups[load.group];
        let (reserve, mean) = (group.contract.reserve_bits()?, group.source.mean()?);
        let links = group.route.iter().map(|index| &scenario.links[*index]);
        let charged = links.map(|link| (rate_at(link, group, mean), link));
        let (most, link) = charged.max_by_key(|(rate, _)| *rate)?;
        (mean <= reserve && reserve < most).then_some((group, reserve, most, link))
    });
    let (group, reserve, most, link) = above.next()?;
    let message = format!(
        "packets of {} take {} of link {} with its overhead, and {} are reserved: they are late there",
        and_more(&group.name, above.count(), "flow"),
        show_rate(most),
        link.name,
        show_rate(reserve),
    );
    let help = format!("reserve what the link charges, as in reserve = \"{}\"", show_rate(most));
    Some((group.reserve_place, Complaint::new(message).help(help)))
}

/// Returns a rate of a group's packets, or of its cells, in bit/s as a link charges it, where the
/// group states their sizes, which are equally frequent.
pub(super) fn rate_at(link: &Link, group: &FlowGroup, rate: u64) -> u64 {
    let sizes = group.link_sizes();
    let sum = |of: &dyn Fn(u32) -> u32| sizes.iter().map(|size| u128::from(of(*size))).sum::<u128>();
    match sum(&|size| size) {
        0 => rate,
        own => u64::try_from(u128::from(rate) * sum(&|size| link.charged(size)) / own).unwrap_or(u64::MAX),
    }
}
