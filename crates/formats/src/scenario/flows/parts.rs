//! Groups whose flows take several paths, in parts of flows that take the same.

use super::{Builder, FlowGroup};

impl Builder<'_> {
    /// The groups of one table, each member on its path: in parts of successive members with the
    /// same path, the parts of a connection's data and of its answers in turn. Groups with a stated
    /// route and those with several destinations stay as they are.
    pub(super) fn in_parts(&mut self, groups: Vec<FlowGroup>, has_route: bool) -> Vec<FlowGroup> {
        let Some(multipath) = self.multipath.as_mut().filter(|_| !has_route) else { return groups };
        let Some(count) = groups.first().map(|group| group.count) else { return groups };
        let mut parts: Vec<FlowGroup> = Vec::new();
        for member in 0..count {
            let path = |group: &FlowGroup| match group.to[..] {
                [to] => multipath.path(&group.member_name(member), group.from, to),
                _ => None,
            };
            let paths: Option<Vec<_>> = groups.iter().map(path).collect();
            let Some(paths) = paths else { return groups };
            let latest = parts.len().saturating_sub(groups.len());
            let same = parts[latest..].iter().map(|part| &part.route).eq(&paths);
            match same {
                true => parts[latest..].iter_mut().for_each(|part| part.count += 1),
                false => parts.extend(groups.iter().zip(paths).map(|(group, route)| FlowGroup {
                    count: 1,
                    first: member,
                    route,
                    ..group.clone()
                })),
            }
        }
        parts
    }
}
