//! The dropper of a port or a class, and what it guards.

use crate::error::{Place, Report};
use crate::policy::Chosen;
use crate::values::Values;
use tidegate_core::detector::BuiltInDetector;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::switch::plan::{DropperPlan, Scope};

/// A dropper, as a file names it.
#[derive(Clone, Debug)]
pub struct DropperSpec {
    /// The policy that decides.
    pub chosen: Chosen<BuiltInDropper>,
    /// Whether the dropper guards the queue as a whole, or each flow's own.
    pub scope: Scope,
    /// Whether a file states it; if not, it goes with a port's default scheduler, and with that only.
    pub stated: bool,
}

impl DropperSpec {
    /// The dropper under a key. `None` when there is none, or after something was reported.
    pub(crate) fn read(values: &Values, key: &str, report: &mut Report) -> Option<DropperSpec> {
        let chosen = Chosen::read(values, key, report)?;
        Some(DropperSpec { chosen, scope: values.table(key)?.word("scope")?, stated: true })
    }

    /// The dropper of each flow's queue that goes with the default of a gate's ports, stated nowhere.
    pub(crate) fn fair_default(place: Place) -> Option<DropperSpec> {
        let chosen = Chosen::by_default(tidegate_core::dropper::FAIR_DEFAULT, place)?;
        Some(DropperSpec { chosen, scope: Scope::Flow, stated: false })
    }

    /// The dropper at a port, and the detector that sees its drops.
    pub(crate) fn plan(&self, detector: Option<&Chosen<BuiltInDetector>>) -> DropperPlan {
        DropperPlan {
            kind: DropperKind::BuiltIn(self.chosen.policy.clone()),
            scope: self.scope,
            detector: detector.map(|detector| detector.policy.clone()),
        }
    }
}
