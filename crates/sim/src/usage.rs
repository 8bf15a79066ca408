//! Usage records: what has been used of each profile at each meter that tells.

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
    /// Which of the meters of that class or port it is, from 0.
    pub nth: usize,
    /// Whose profile it is.
    pub whose: Whose,
}

/// Whose profile it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
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
    /// Takes a record of a flow at a link: of its own profile it is what came since the flow was opened there, of a shared
    /// one all that its flows have used.
    pub(crate) fn take(&mut self, link: u32, flow: u32, used: MeterUsage) {
        let MeterUsage { class, nth, profile, usage } = used;
        let whose = profile.map_or(Whose::Flow(flow), Whose::Shared);
        let record = self.records.entry(MeteredProfile { link, class, nth, whose }).or_default();
        *record = if profile.is_some() { usage } else { record.and(&usage) };
    }

    /// The records of what was used since they stood at `before`.
    pub(crate) fn since(self, before: &UsageRecords) -> BTreeMap<MeteredProfile, Usage> {
        let since = |(profile, usage): (MeteredProfile, Usage)| {
            let before = before.records.get(&profile).copied().unwrap_or_default();
            (profile, usage.since(&before))
        };
        self.records.into_iter().map(since).collect()
    }
}
