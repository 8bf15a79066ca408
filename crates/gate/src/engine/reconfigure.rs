//! Reconfiguration of a running engine: it takes all of a plan or nothing, and loses no frame.

use super::Engine;
use super::port::Port;
use crate::config::plan::Plan;
use crate::stats::FlowStatistics;
use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::context::Ctx;
use tidegate_core::contract::Refused;
use tidegate_core::headers::{Headers, LinkType};
use tidegate_core::packet::PortIx;
use tidegate_core::units::Time;

impl Engine {
    /// Carries out another plan from now on. Queued frames stay queued, and every flow whose rule
    /// kept its name keeps its queue. [`Switch::reconfigure`] describes the effect of a changed
    /// scheduler on clocks.
    ///
    /// # Errors
    /// When the switch refuses the plan, or there is too little memory; then nothing is changed.
    ///
    /// [`Switch::reconfigure`]: tidegate_core::switch::Switch::reconfigure
    pub(crate) fn reconfigure(&mut self, now: Time, plan: &Plan) -> Result<(), Refused> {
        self.check_memory_to_change(plan)?;
        // A plan is first tried as a whole, because a flow may be refused because of the others.
        Engine::new(now, plan, 1)?;
        let from = plan.continued(&self.names);
        let (mut changes, mut wanted) = (Vec::new(), plan.switch.clone());
        for direction in Direction::BOTH {
            let classes = &mut wanted.ports[direction as usize].classes;
            let edge = &plan.edges[direction as usize];
            let steering = self.ports[direction as usize].edge.steering();
            changes.extend(steering.changes(&edge.rules, &from, edge.rest, classes));
        }
        let now = self.ports.iter().map(|port| port.clock).fold(now, Time::max);
        let mut cx = Ctx { now, rng: &mut self.rng, out: &mut self.effects };
        // Every port is asked to start below.
        _ = self.switch.reconfigure(&mut cx, &wanted, &changes)?;
        for direction in Direction::BOTH {
            let side = direction as usize;
            let port = &mut self.ports[side];
            port.clock = now;
            port.edge.replan(now, &mut self.switch, plan.edges[side].clone(), &from);
            port.arena.grow_to(plan.buffers[side]);
            port.line.change(now, &plan.lines[side]);
            port.emulated = plan.emulated[side];
            port.change_emulation_seed(plan.emulation_seed, direction);
            port.open_at = Time::NEVER;
            // Rules and classes have other numbers now.
            port.explainer = Port::explainer(now, plan, direction);
            let rest = port.statistics.len() - 1;
            let continued = from.iter().copied().chain([Some(rest)]);
            port.statistics = continued
                .map(|before| before.map_or_else(FlowStatistics::new, |ix| port.statistics[ix].clone()))
                .collect();
            port.give_envelopes(&plan.edges[side].rules);
        }
        self.names.clone_from(&plan.names);
        self.take_effects();
        for direction in Direction::BOTH {
            self.reassign(now, direction)?;
            self.ports[direction as usize].sum_up(&self.switch);
            self.start(direction);
        }
        Ok(())
    }

    /// Moves queued frames to the flows that the new rules give them. Otherwise later frames of the
    /// same conversation would overtake them.
    fn reassign(&mut self, now: Time, direction: Direction) -> Result<(), Refused> {
        let ix = PortIx(direction as u16);
        let waiting: Vec<_> = self.switch.waiting(ix).map(|(flow, packet)| (packet.body, flow)).collect();
        let mut flows = BTreeMap::new();
        let mut moved = false;
        for (body, flow) in waiting {
            let frame = self.ports[direction as usize].arena.frame(body);
            let (headers, length) = (Headers::read(LinkType::Ethernet, frame), frame.len() as u32);
            let edge = &mut self.ports[direction as usize].edge;
            let leg = edge.steer(now, &mut self.switch, &headers, length).leg;
            moved |= leg.flow != flow;
            flows.insert(body, leg.flow);
        }
        if moved {
            let mut cx = Ctx { now, rng: &mut self.rng, out: &mut self.effects };
            _ = self
                .switch
                .reassign(&mut cx, ix, |packet| flows.get(&packet.body).copied().unwrap_or(packet.flow))?;
            self.take_effects();
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "reconfigure_tests.rs"]
mod tests;
