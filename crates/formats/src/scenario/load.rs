//! The load of flows on the links of their routes: the number of flows, and the sizes of their
//! packets.

use crate::scenario::flows::group::FlowGroup;
use std::borrow::Cow;
use tidegate_core::switch::plan::PacketSizes;
use tidegate_core::units::Span;

/// Flows of one group that are alike. Before its file is read, a recording counts as one flow whose
/// packets are not known.
#[derive(Clone, Debug)]
pub struct Load {
    /// Index of their group.
    pub group: usize,
    /// The flow's name, where it does not follow from the group.
    pub name: Option<String>,
    /// Number of flows.
    pub count: u64,
    /// Their largest packet, in bytes; 0 when unknown.
    pub largest: u32,
    /// All sizes of their packets; `None` where their source or their transport decides.
    pub sizes: Option<PacketSizes>,
    /// The recording that each of them plays; `None` without one, and before its file is read.
    pub played: Option<Played>,
}

/// A recording, as a flow plays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// Its mean rate in bit/s while it is played.
    pub rate: u64,
    /// Duration of playback, from the flow's start on.
    pub lasts: Span,
}

impl Load {
    /// All flows of a group, as far as its file knows.
    pub fn of_group(index: usize, group: &FlowGroup) -> Load {
        let largest = group.link_sizes().iter().copied().max().unwrap_or(0);
        let sizes =
            group.states_sizes().then(|| PacketSizes::of(group.link_sizes().iter().copied())).flatten();
        Load { group: index, name: None, count: u64::from(group.count), largest, sizes, played: None }
    }

    /// The name of the flow with this number, from 0.
    pub(super) fn member_name<'a>(&'a self, group: &'a FlowGroup, nth: u64) -> Cow<'a, str> {
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => group.member_name(u32::try_from(nth).unwrap_or(u32::MAX)),
        }
    }
}
