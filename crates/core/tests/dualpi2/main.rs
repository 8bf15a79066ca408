//! DualPI2 against the pseudocode of RFC 9332, appendix A.1, step by step; its square law; and the
//! time shift of its scheduler.

#[path = "../common/mod.rs"]
mod common;

mod oracle;
mod square_law;

use common::World;
use tidegate_core::composite::{BuiltInComposite, Parts};
use tidegate_core::dropper::DropperKind;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{DropperPlan, PortPlan, SwitchPlan};

/// A port with DualPI2 with these values.
fn port(values: &[(&'static str, Value)]) -> PortPlan {
    let composite = BuiltInComposite::read("dualpi2", values).unwrap().unwrap();
    let Parts { scheduler, dropper, scope } = composite.parts().unwrap();
    let dropper = DropperPlan { kind: DropperKind::BuiltIn(dropper), scope, detector: None };
    PortPlan { dropper: Some(dropper), ..PortPlan::new(SchedulerKind::BuiltIn(scheduler)) }
}

fn world(values: &[(&'static str, Value)]) -> World {
    World::new(&SwitchPlan { ports: vec![port(values)], ..SwitchPlan::default() })
}
