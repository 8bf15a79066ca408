//! Classes of a port that are opened beyond its plan.

use super::Port;
use crate::contract::Refused;
use crate::switch::plan::ClassPlan;
use crate::units::Time;
use alloc::format;

impl Port {
    /// Adds a class behind all others and returns its index. A refusal changes nothing.
    pub(in crate::switch) fn open_class(&mut self, now: Time, plan: &ClassPlan) -> Result<u16, Refused> {
        // All steps that can fail come first.
        plan.meters.iter().try_for_each(|kind| kind.build().map(drop))?;
        plan.dropper.as_ref().map(|dropper| dropper.kind.build()).transpose()?;
        let class = self.plan.classes.len();
        self.plan.classes.push(plan.clone());
        let placed = self.plan.check_class(usize::from(self.ix.0), class);
        if let Err(refused) = placed.and_then(|()| self.tree.add_class(now, plan)) {
            self.plan.classes.pop();
            return Err(refused);
        }
        if class == 0 {
            // Until now every flow was a member of the root.
            self.table.unplace_all();
        }
        self.metering.add_class(&self.plan)?;
        self.droppers.add_class(now, &self.plan)?;
        self.update_fast_path();
        Ok(class as u16)
    }

    /// Gives an opened class without open flows another plan of the same shape. A refusal changes
    /// nothing.
    pub(in crate::switch) fn change_class(
        &mut self,
        now: Time,
        class: u16,
        plan: &ClassPlan,
    ) -> Result<(), Refused> {
        let ix = usize::from(class);
        match self.plan.classes.get(ix) {
            Some(before) if before == plan => return Ok(()),
            Some(before) if before.same_shape(plan) => {}
            _ => return Err(Refused(format!("port {} has no such class {class}", self.ix.0))),
        }
        plan.dropper.as_ref().map(|dropper| dropper.kind.build()).transpose()?;
        self.tree.change_class(now, ix, plan)?;
        self.plan.classes[ix] = plan.clone();
        self.droppers.change_class(now, &self.plan, class)?;
        self.update_eligibility(now, ix + 1);
        Ok(())
    }
}
