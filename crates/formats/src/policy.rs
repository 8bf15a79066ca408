//! A policy that a file names, with its parameters and where each was written.

use crate::error::{Complaint, Place, Report};
use crate::section::{PolicyOf, Settings};
use tidegate_core::composite::BuiltInComposite;
use tidegate_core::dropper::DropperKind;
use tidegate_core::params::{Fault, Key, NamedPolicy, PolicyKind, PolicyRecord, Scope};
use tidegate_core::scheduler::SchedulerKind;

/// A policy with its parameters, as a file names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen<K> {
    /// The policy.
    pub policy: K,
    place: Place,
    params: Vec<(&'static str, Place)>,
    /// The parameters that were written, rather than left to their defaults.
    written: Vec<&'static str>,
}

impl<K: NamedPolicy> Chosen<K> {
    /// A policy that a file names. `None` when there is none, or after something was reported.
    pub(crate) fn read(named: Option<&PolicyOf<K>>, report: &mut Report) -> Option<Chosen<K>> {
        let PolicyOf { record, settings, .. } = named?;
        Chosen::made(record, settings, report)
    }

    /// The policy with this record and these parameters. `None` after something was reported.
    fn made(record: &PolicyRecord, settings: &Settings, report: &mut Report) -> Option<Chosen<K>> {
        let values = settings.values();
        let names = || values.iter().map(|(name, _)| *name);
        let params = names().map(|name| (name, settings.place_of(name))).collect();
        let written = names().filter(|name| settings.is_given(name)).collect();
        let place = settings.place;
        let read = K::read(record.name, &values)?;
        match read.and_then(|policy| policy.check().map(|()| policy)) {
            Ok(policy) => Some(Chosen { policy, place, params, written }),
            Err(fault) => {
                let Fault { key: Key::Param(param) | Key::Member { key: param, .. }, message } = fault;
                report.add(settings.place_of(param), Complaint::new(message));
                None
            }
        }
    }

    /// The policy of this name with all its defaults, where a file leaves the choice at `place`.
    pub(crate) fn by_default(name: &str, place: Place) -> Option<Chosen<K>> {
        let policy = K::read(name, &[])?.ok()?;
        Some(Chosen { policy, place, params: Vec::new(), written: Vec::new() })
    }

    /// Like this choice, for another policy that has some of its parameters.
    fn part<P>(&self, policy: P) -> Chosen<P> {
        let Chosen { place, params, written, .. } = self.clone();
        Chosen { policy, place, params, written }
    }

    /// The policy's record.
    pub(crate) fn record(&self) -> &'static PolicyRecord {
        self.policy.record()
    }

    /// Returns true if a parameter was written, rather than left to its default.
    pub(crate) fn states(&self, param: &str) -> bool {
        self.written.contains(&param)
    }

    /// Place of a parameter; that of the policy when the parameter was not written.
    pub(crate) fn place_of(&self, param: &str) -> Place {
        self.params.iter().find(|(name, _)| *name == param).map_or(self.place, |(_, place)| *place)
    }
}

impl Chosen<BuiltInComposite> {
    /// A composite that a file names as the scheduler. `None` after something was reported.
    pub(crate) fn whole(
        named: &PolicyOf<SchedulerKind>,
        report: &mut Report,
    ) -> Option<Chosen<BuiltInComposite>> {
        Chosen::made(named.record, &named.settings, report)
    }

    /// The policies of which it consists, and the queues that the dropper guards. `None` for values
    /// that a part does not take, which its record excludes.
    pub(crate) fn parts(&self) -> Option<(Chosen<SchedulerKind>, Chosen<DropperKind>, Scope)> {
        let parts = self.policy.parts().ok()?;
        let scheduler = self.part(PolicyKind::BuiltIn(parts.scheduler));
        Some((scheduler, self.part(PolicyKind::BuiltIn(parts.dropper)), parts.scope))
    }
}
