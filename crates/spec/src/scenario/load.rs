//! The load of flows on the links of their routes: the number of flows, and the sizes of their packets.

use crate::scenario::flows::FlowGroup;
use std::borrow::Cow;

/// Flows of one group that are alike. Before its file is read, a recording counts as one flow whose packets
/// are not known.
#[derive(Clone, Debug)]
pub struct Load {
    /// Index of their group.
    pub group: usize,
    /// The flow's name, where it is not the group's to give.
    pub name: Option<String>,
    /// Number of flows.
    pub count: u64,
    /// Their largest packet, in bytes; 0 when unknown.
    pub largest: u32,
}

impl Load {
    /// All flows of a group, as far as its file knows.
    pub fn of_group(index: usize, group: &FlowGroup) -> Load {
        let largest = group.link_sizes().iter().copied().max().unwrap_or(0);
        Load { group: index, name: None, count: u64::from(group.count), largest }
    }

    /// The name of the flow with this number, from 0.
    pub(super) fn member_name<'a>(&'a self, group: &'a FlowGroup, nth: u64) -> Cow<'a, str> {
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => group.member_name(u32::try_from(nth).unwrap_or(u32::MAX)),
        }
    }
}
