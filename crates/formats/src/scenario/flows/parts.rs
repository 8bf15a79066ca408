//! Groups whose flows have several ends or take several paths, in parts of flows that take the same.

use super::pairs::Ends;
use super::{Builder, FlowGroup};
use crate::error::Report;
use crate::scenario::multipath::Way;
use crate::scenario::network::Link;
use crate::source::Source;
use std::collections::BTreeMap;

impl Builder<'_> {
    /// The groups of one table, each member between its ends and on its path: in parts of successive
    /// members with the same path, the parts of a connection's data and of its answers in turn.
    /// Groups with a stated route and those with several destinations stay as they are. `None` once
    /// a mistake has been reported.
    pub(super) fn in_parts(
        &mut self,
        groups: Vec<FlowGroup>,
        ends: &Ends,
        has_route: bool,
        report: &mut Report,
    ) -> Option<Vec<FlowGroup>> {
        let is_one_path = ends.are_one() && (has_route || self.multipath.is_none());
        let count = groups.first().map_or(0, |group| group.count);
        if is_one_path || groups.iter().any(|group| group.to.len() > 1) {
            return Some(groups);
        }
        let mut parts: Vec<FlowGroup> = Vec::new();
        for member in 0..count {
            let ends = ends.of(member);
            let ways = self.ways(&groups, member, ends, report)?;
            let latest = parts.len().saturating_sub(groups.len());
            let same = parts[latest..].iter().map(|part| &part.route).eq(ways.iter().map(|(links, _)| links));
            if same {
                parts[latest..].iter_mut().for_each(|part| part.count += 1);
                continue;
            }
            let there = [ends, (ends.1, ends.0)];
            for ((group, (route, paths)), (from, to)) in groups.iter().zip(ways).zip(there) {
                let (first, to) = (member, vec![to]);
                parts.push(FlowGroup { count: 1, first, from, to, route, paths, ..group.clone() });
            }
        }
        Some(parts)
    }

    /// The way of a member in each direction.
    fn ways(
        &mut self,
        groups: &[FlowGroup],
        member: u32,
        (from, to): (usize, usize),
        report: &mut Report,
    ) -> Option<Vec<Way>> {
        let place = groups.first()?.place;
        let there = self.routes.shortest(from, to, place, report)?;
        let Some(multipath) = &mut self.multipath else {
            let back = groups.get(1).map(|_| self.routes.back(place, &there, report));
            return match back {
                Some(back) => Some(vec![(there, None), (back?, None)]),
                None => Some(vec![(there, None)]),
            };
        };
        let ends = [(from, to), (to, from)];
        let way = |(group, (from, to)): (&FlowGroup, (usize, usize))| {
            let way = multipath.way(&group.member_name(member), from, to);
            way.map_err(|complaint| report.add(place, complaint)).ok()
        };
        groups.iter().zip(ends).map(way).collect()
    }
}

/// The rate in bit/s to which the load of the data among these parts of a connection refers: between two
/// nodes that of the slowest link on the way, else those of the first links of all senders, or of
/// the last links of all receivers, whichever are less together.
pub(super) fn rate_of_load(parts: &[FlowGroup], links: &[Link]) -> u64 {
    let (mut first, mut last) = (BTreeMap::new(), BTreeMap::new());
    for part in parts.iter().filter(|part| matches!(part.source, Source::Sender { .. })) {
        let [.., end] = part.route[..] else { continue };
        first.insert(part.from, links[part.route[0]].rate_bits);
        last.insert(links[end].to, links[end].rate_bits);
    }
    if first.len() == 1 && last.len() == 1 {
        return parts[0].route.iter().map(|link| links[*link].rate_bits).min().unwrap_or(1);
    }
    first.values().sum::<u64>().min(last.values().sum())
}
