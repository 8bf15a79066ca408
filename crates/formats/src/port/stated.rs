//! The scheduler and the dropper that a table states: each by itself, or both as a policy.

use crate::error::{Complaint, Report};
use crate::keys::policies::{Policies, Policy};
use crate::policy::Chosen;
use crate::port::DropperSpec;
use crate::section::PolicyOf;
use tidegate_core::composite::BuiltInComposite;
use tidegate_core::params::{Consists, PolicyRecord, Role};
use tidegate_core::scheduler::SchedulerKind;

/// A table's statement of the order and of the drops at a port or a class.
#[derive(Clone, Debug)]
pub(crate) struct Stated {
    /// The scheduler; `None` for none stated.
    pub(crate) scheduler: Option<Chosen<SchedulerKind>>,
    /// The dropper, also one that belongs to the scheduler's name.
    pub(crate) dropper: Option<DropperSpec>,
    /// True for a whole policy, which has no other dropper than its own.
    pub(crate) is_whole: bool,
}

impl Stated {
    /// Reads a table's statement or its default. `None` after something was reported.
    pub(crate) fn read(keys: Policies<'_>, report: &mut Report) -> Option<Stated> {
        let Policies { policy, scheduler, dropper, detector } = keys;
        // A default policy gives way where a part is stated, or a detector, which needs a named
        // dropper.
        let by_default = !scheduler.given && !dropper.given && !detector.given;
        let whole = policy.as_ref().filter(|_| by_default || policy.given);
        let (scheduler, dropper) = match whole {
            Some(Policy(parts)) => (&parts.scheduler, &parts.dropper),
            None => (scheduler, dropper),
        };
        let dropper = DropperSpec::read(dropper.as_ref(), report);
        let dropper = dropper.map(|dropper| DropperSpec {
            // A default does not count as stated.
            stated: whole.is_none() || policy.given,
            ..dropper
        });
        let (scheduler, dropper) = match scheduler.as_ref() {
            None => (None, dropper),
            Some(named @ PolicyOf { record: PolicyRecord { role: Role::Composite(consists), .. }, .. }) => {
                let whole = Chosen::whole(named, report)?;
                check_dropper(&whole, consists, dropper.as_ref(), report)?;
                let (scheduler, own, scope) = whole.parts()?;
                let own = DropperSpec { chosen: own, scope, stated: false };
                (Some(scheduler), Some(dropper.unwrap_or(own)))
            }
            scheduler => (Some(Chosen::read(scheduler, report)?), dropper),
        };
        Some(Stated { scheduler, dropper, is_whole: whole.is_some() })
    }

    /// Like [`Stated::read`], without a scheduler from a default.
    pub(crate) fn read_given(keys: Policies<'_>, report: &mut Report) -> Option<Stated> {
        let given = keys.policy.given || keys.scheduler.given;
        let stated = Stated::read(keys, report)?;
        Some(Stated { scheduler: stated.scheduler.filter(|_| given), ..stated })
    }

    /// The dropper of a port that has `usual` where nothing is stated.
    pub(crate) fn dropper_over(&self, usual: Option<DropperSpec>) -> Option<DropperSpec> {
        match (&self.scheduler, &self.dropper) {
            (_, own) if self.is_whole => own.clone(),
            (_, Some(own)) if own.stated => Some(own.clone()),
            // A dropper that belongs to the name of another scheduler is replaced with it.
            (Some(_), own) => {
                let usual = usual.filter(|usual| usual.stated);
                match own {
                    Some(own) if usual.as_ref().is_none_or(|usual| !own.is_done_by(usual)) => {
                        Some(own.clone())
                    }
                    _ => usual,
                }
            }
            (None, _) => usual,
        }
    }
}

/// Checks a dropper beside a scheduler whose name has one: it may state the parameters of that one,
/// and no other dropper.
fn check_dropper(
    whole: &Chosen<BuiltInComposite>,
    consists: &Consists,
    dropper: Option<&DropperSpec>,
    report: &mut Report,
) -> Option<()> {
    let Some(dropper) = dropper else { return Some(()) };
    let record = dropper.chosen.record();
    let name = whole.record().name;
    if (record.name, dropper.scope) != (consists.dropper, consists.scope) {
        let message = format!("`{name}` is `{consists}`, and `dropper` is another");
        let help = format!("write scheduler = \"{}\" to have it with this dropper", consists.scheduler);
        report.add(whole.place_of(""), Complaint::new(message).help(help));
        return None;
    }
    let Some(twice) = record.params.iter().find(|param| whole.states(param.name)) else { return Some(()) };
    let message = format!("`{}` belongs to the dropper, which is stated by itself", twice.name);
    report.add(whole.place_of(twice.name), Complaint::new(message).help("leave out `dropper`"));
    None
}
