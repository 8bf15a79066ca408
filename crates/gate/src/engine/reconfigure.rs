//! Another plan for a gate that runs: all of it or nothing, and no frame is lost by it.

use super::Engine;
use crate::plan::Plan;
use crate::seen::Seen;
use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::context::Ctx;
use tidegate_core::contract::Refused;
use tidegate_core::packet::PortIx;
use tidegate_core::units::Time;
use tidegate_core::wire::{Headers, LinkType};

impl Engine {
    /// Makes the gate what another plan says. What is queued stays queued, and every flow whose rule kept
    /// its name keeps its queue; what a changed scheduler means for clocks, [`Switch::reconfigure`] tells.
    ///
    /// # Errors
    /// Nothing is changed when the switch refuses the plan.
    pub(crate) fn reconfigure(&mut self, now: Time, plan: &Plan) -> Result<(), Refused> {
        // A flow can be refused only when the others are there: what would not start is not begun.
        Engine::new(now, plan, 1)?;
        let from = plan.goes_on(&self.names);
        let mut changes = Vec::new();
        for direction in Direction::BOTH {
            let classes = plan.switch.ports[direction as usize].classes.len();
            let rules = &plan.rules[direction as usize];
            changes.extend(self.ports[direction as usize].steering.changes(rules, &from, classes));
        }
        self.clock = self.clock.max(now);
        let mut cx = Ctx { now: self.clock, rng: &mut self.rng, out: &mut self.effects };
        // Every port is asked to start below.
        _ = self.switch.reconfigure(&mut cx, &plan.switch, &changes)?;
        for direction in Direction::BOTH {
            let port = &mut self.ports[direction as usize];
            let rules = plan.rules[direction as usize].clone();
            port.steering.replan(self.clock, &mut self.switch, rules, &from, plan.most_flows);
            port.wire.replan(self.clock, plan, direction);
            port.open_at = Time::NEVER;
            let rest = port.seen.len() - 1;
            let goes_on = from.iter().copied().chain([Some(rest)]);
            port.seen = goes_on
                .map(|before| before.map_or_else(Seen::nothing, |before| port.seen[before].clone()))
                .collect();
        }
        self.framing = plan.framing;
        self.names.clone_from(&plan.names);
        self.set_dscp.clone_from(&plan.set_dscp);
        self.arena.reach(plan.places);
        self.take_effects();
        for direction in Direction::BOTH {
            self.reassign(direction)?;
            self.start(direction);
        }
        Ok(())
    }

    /// What waits goes to the flows that the rules now say: packets of one conversation that come from now on
    /// would else overtake those that came before.
    fn reassign(&mut self, direction: Direction) -> Result<(), Refused> {
        let ix = PortIx(direction as u16);
        let waiting: Vec<_> = self.switch.waiting(ix).map(|(flow, packet)| (packet.body, flow)).collect();
        let mut whose = BTreeMap::new();
        let mut moved = false;
        for (body, flow) in waiting {
            let headers = Headers::read(LinkType::Ethernet, self.arena.frame(body));
            let steering = &mut self.ports[direction as usize].steering;
            let leg = steering.steer(self.clock, &mut self.switch, &headers);
            moved |= leg.flow != flow;
            whose.insert(body, leg.flow);
        }
        if moved {
            let mut cx = Ctx { now: self.clock, rng: &mut self.rng, out: &mut self.effects };
            _ = self
                .switch
                .reassign(&mut cx, ix, |packet| whose.get(&packet.body).copied().unwrap_or(packet.flow))?;
            self.take_effects();
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "reconfigure_tests.rs"]
mod tests;
