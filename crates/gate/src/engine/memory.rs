//! The memory that an engine needs for a plan, which it asks the system for before it begins.

use super::Engine;
use super::arena::Arena;
use crate::config::plan::Plan;
use crate::sys::memory::is_there;
use tidegate_core::contract::Refused;
use tidegate_core::steering::Split;

/// Memory in bytes for what does not depend on the plan.
const ROOM: usize = 16 << 20;
/// Memory in bytes, rounded up, of a class or a rule in one direction while the old and the new plan
/// are there.
const EACH: usize = 4096;
/// That of a circuit without packets.
const CIRCUIT: usize = 512;

impl Engine {
    /// Checks that there is memory for a new engine.
    ///
    /// # Errors
    /// When there is not.
    pub(super) fn check_memory(plan: &Plan, longest_frame: usize) -> Result<(), Refused> {
        let frames = plan.buffers.map(|buffers| Arena::memory(buffers, longest_frame));
        check(plan, frames)
    }

    /// Checks that there is memory for another plan.
    ///
    /// # Errors
    /// When there is not.
    pub(super) fn check_memory_to_change(&self, plan: &Plan) -> Result<(), Refused> {
        let [up, down] = &self.ports;
        check(plan, [up.arena.memory_to_grow(plan.buffers[0]), down.arena.memory_to_grow(plan.buffers[1])])
    }
}

fn check(plan: &Plan, frames: [usize; 2]) -> Result<(), Refused> {
    let classes: usize = plan.switch.ports.iter().map(|port| port.classes.len()).sum();
    let rules = plan.edges.iter().flat_map(|edge| &edge.rules);
    let circuits = |split: &Split| match split {
        Split::Circuits(circuits) => circuits.len(),
        _ => 0,
    };
    let members: usize = rules.map(|rule| EACH + CIRCUIT * circuits(&rule.split)).sum();
    let frames = frames[0].saturating_add(frames[1]);
    let needed = frames.saturating_add(ROOM + EACH * classes + members);
    if is_there(needed) {
        return Ok(());
    }
    Err(Refused(format!(
        "not enough memory: {} MB are needed, of which {} MB are for frames of up to {} and {} buffers\n  \
         help: less `buffer` under [switch], a shorter list, or more memory for the process",
        needed.div_ceil(1_000_000),
        frames.div_ceil(1_000_000),
        plan.buffers[0],
        plan.buffers[1]
    )))
}
