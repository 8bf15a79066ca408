//! The dropper of a port or a class, and the queues that it guards.

use crate::error::Report;
use crate::keys::policies::Dropper;
use crate::policy::Chosen;
use tidegate_core::detector::DetectorKind;
use tidegate_core::dropper::DropperKind;
use tidegate_core::params::Scope;
use tidegate_core::switch::plan::DropperPlan;

/// A dropper, as a file names it.
#[derive(Clone, Debug)]
pub struct DropperSpec {
    /// The policy that decides.
    pub chosen: Chosen<DropperKind>,
    /// The guarded queues: the whole queue, or each flow's own.
    pub scope: Scope,
    /// True if a file states it by itself. Otherwise it belongs to a scheduler's name or to a
    /// default, and is removed with them.
    pub stated: bool,
}

impl DropperSpec {
    /// A dropper that a file names. `None` when there is none, or after something was reported.
    pub(crate) fn read(named: Option<&Dropper>, report: &mut Report) -> Option<DropperSpec> {
        let Dropper { policy, guarded } = named?;
        let chosen = Chosen::read(Some(policy), report)?;
        Some(DropperSpec { chosen, scope: *guarded.scope, stated: true })
    }

    /// Returns true if another dropper already does the same for all packets that pass both: this
    /// one only belongs to a scheduler's name, has all its defaults, and guards each flow's queue
    /// as the other does.
    pub(crate) fn is_done_by(&self, other: &DropperSpec) -> bool {
        let record = self.chosen.record();
        let has_defaults = record.params.iter().all(|param| !self.chosen.states(param.name));
        let is_alike = other.chosen.record().name == record.name && other.scope == self.scope;
        !self.stated && has_defaults && is_alike && self.scope == Scope::Flow
    }

    /// The dropper at a port, and the detector that sees its drops.
    pub(crate) fn plan(&self, detector: Option<&Chosen<DetectorKind>>) -> DropperPlan {
        DropperPlan {
            kind: self.chosen.policy.clone(),
            scope: self.scope,
            detector: detector.map(|detector| detector.policy.clone()),
        }
    }
}
