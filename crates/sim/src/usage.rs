//! Usage records: the use of each profile at each meter that reports it.

use std::collections::BTreeMap;
use tidegate_core::meter::Usage;
use tidegate_core::switch::MeterUsage;

/// A profile at one meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeteredProfile {
    /// Index of the link at whose port the meter stands.
    pub link: u32,
    /// The class whose meter it is; `None` for the port's own.
    pub class: Option<u16>,
    /// Number of the meter among those of that class or port, from 0.
    pub nth: usize,
    /// Owner of the profile.
    pub owner: ProfileOwner,
}

/// Owner of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileOwner {
    /// Shared by flows: its index in the plan of ports.
    Shared(u16),
    /// A flow's own: the index of the flow.
    Flow(u32),
}

/// Usage records, by profile and meter.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageRecords {
    records: BTreeMap<MeteredProfile, Usage>,
}

impl UsageRecords {
    /// Takes a record of a flow at a link: for its own profile it covers the time since the flow
    /// was opened there, for a shared one the use by all its flows.
    pub(crate) fn take(&mut self, link: u32, flow: u32, used: MeterUsage) {
        let MeterUsage { class, nth, profile, usage } = used;
        let owner = profile.map_or(ProfileOwner::Flow(flow), ProfileOwner::Shared);
        let record = self.records.entry(MeteredProfile { link, class, nth, owner }).or_default();
        *record = if profile.is_some() { usage } else { record.and(&usage) };
    }

    /// Returns the use since the records `before`.
    pub(crate) fn since(self, before: &UsageRecords) -> BTreeMap<MeteredProfile, Usage> {
        let since = |(profile, usage): (MeteredProfile, Usage)| {
            let before = before.records.get(&profile).copied().unwrap_or_default();
            (profile, usage.since(&before))
        };
        self.records.into_iter().map(since).collect()
    }
}
