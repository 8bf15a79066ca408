//! The dropper of a port or a class, and what it guards.

use crate::error::Report;
use crate::policy::Chosen;
use crate::values::Values;
use tidegate_core::detector::BuiltInDetector;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::switch::plan::{DropperPlan, Scope};

/// A dropper, as a file names it.
#[derive(Clone, Debug)]
pub struct DropperSpec {
    /// What decides.
    pub chosen: Chosen<BuiltInDropper>,
    /// Whether it guards the queue as a whole, or each flow's own.
    pub scope: Scope,
}

impl DropperSpec {
    /// The dropper under a key. `None` when there is none, or after something was reported.
    pub(crate) fn read(values: &Values, key: &str, report: &mut Report) -> Option<DropperSpec> {
        let chosen = Chosen::read(values, key, report)?;
        Some(DropperSpec { chosen, scope: values.table(key)?.word("scope")? })
    }

    /// The dropper at a port, and who is shown its drops.
    pub(crate) fn plan(&self, detector: Option<&Chosen<BuiltInDetector>>) -> DropperPlan {
        DropperPlan {
            kind: DropperKind::BuiltIn(self.chosen.policy.clone()),
            scope: self.scope,
            detector: detector.map(|detector| detector.policy.clone()),
        }
    }
}
