//! One direction of the engine: the edge in front of a port of the switch, and the line behind it.

use super::arena::Arena;
use crate::config::plan::Plan;
use crate::explain::Explainer;
use crate::stats::{Counters, Envelope, FlowStatistics};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::link::Line;
use tidegate_core::packet::{BodyId, FlowIx, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::{Edge, Rule, Split};
use tidegate_core::switch::{FlowCounters, Switch};
use tidegate_core::units::Time;

/// A frame to be sent, and the time at which its first bit, or on an emulated link its last bit,
/// was due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) body: BodyId,
    pub(crate) due: Time,
}

pub(super) struct Port {
    /// The latest time that the switch was given for this port.
    pub(super) clock: Time,
    pub(super) edge: Edge,
    /// The frames of this direction that the gate holds.
    pub(super) arena: Arena,
    /// The line behind the port; it has no trace, delay or loss where a real link follows.
    pub(super) line: Line<BodyId>,
    pub(super) emulated: bool,
    /// Decides which frames the emulated link loses, and its jitter; and the seed of that.
    pub(super) emulation_rng: Rng,
    pub(super) emulation_seed: u64,
    /// Time at which the last bit of the packet in service is out; [`Time::NEVER`] when there is
    /// none.
    pub(super) free_at: Time,
    /// Time at which the line opens for a queued packet; [`Time::NEVER`] when none waits for that.
    pub(super) open_at: Time,
    /// Time for which the switch requested a timer.
    pub(super) wake_at: Time,
    /// Frames that are due and not yet handed to the kernel.
    pub(super) departures: Vec<Departure>,
    pub(super) counters: Counters,
    /// Causes of its packets' waiting.
    pub(super) explainer: Explainer,
    /// The statistics of every rule, and last those of packets that match none.
    pub(super) statistics: Vec<FlowStatistics>,
}

impl Port {
    /// Opens the edge's flows at the port. Frames have at most `longest_frame` bytes.
    ///
    /// # Errors
    /// When the switch refuses a flow.
    pub(super) fn new(
        now: Time,
        switch: &mut Switch,
        plan: &Plan,
        direction: Direction,
        longest_frame: usize,
    ) -> Result<Port, Refused> {
        let (side, ix) = (direction as usize, PortIx(direction as u16));
        let edge = plan.edges[side].clone();
        let statistics = vec![FlowStatistics::new(); edge.rules.len() + 1];
        let rules = edge.rules.clone();
        let mut port = Port {
            clock: now,
            edge: Edge::new(now, switch, ix, direction, edge)?,
            arena: Arena::new(plan.buffers[side], longest_frame),
            line: Line::new(now, &plan.lines[side]),
            emulated: plan.emulated[side],
            emulation_rng: emulation_rng(plan.emulation_seed, direction),
            emulation_seed: plan.emulation_seed,
            free_at: Time::NEVER,
            open_at: Time::NEVER,
            wake_at: Time::NEVER,
            departures: Vec::new(),
            counters: Counters::default(),
            explainer: Port::explainer(now, plan, direction),
            statistics,
        };
        port.give_envelopes(&rules);
        Ok(port)
    }

    /// Explanations without a memory, for a plan.
    pub(super) fn explainer(now: Time, plan: &Plan, direction: Direction) -> Explainer {
        let side = direction as usize;
        let classes = plan.switch.ports[side].classes.len();
        Explainer::new(now, PortIx(direction as u16), classes, plan.lines[side].rate)
    }

    /// Starts the losses and the jitter of the emulated link anew if their seed is another one.
    pub(super) fn change_emulation_seed(&mut self, seed: u64, direction: Direction) {
        if seed != self.emulation_seed {
            (self.emulation_rng, self.emulation_seed) = (emulation_rng(seed, direction), seed);
        }
    }

    /// Time of the next event at this port.
    pub(super) fn next_event(&self) -> Time {
        self.free_at.min(self.open_at).min(self.wake_at)
    }

    /// [`next_event`](Self::next_event), or [`Time::NEVER`] while `most` frames are due and not yet
    /// handed to the kernel.
    pub(super) fn next_step(&self, most: usize) -> Time {
        if self.departures.len() < most { self.next_event() } else { Time::NEVER }
    }

    /// Moves the frames that have left the emulated link by `now` to the departures.
    pub(super) fn land(&mut self, now: Time) {
        loop {
            let due = self.line.next_arrival();
            let Some(body) = self.line.land(now) else { return };
            self.departures.push(Departure { body, due });
        }
    }

    /// The running sums of the rule that a flow belongs to; `None` for a flow whose rule was
    /// removed.
    pub(super) fn counters_of(&mut self, flow: FlowIx) -> Option<&mut FlowCounters> {
        self.known(flow).map(|statistics| &mut statistics.counters)
    }

    /// The statistics of the rule that a flow belongs to; `None` for a flow whose rule was removed.
    pub(super) fn known(&mut self, flow: FlowIx) -> Option<&mut FlowStatistics> {
        let steering = self.edge.steering();
        let unmatched = || steering.rest().flow == flow || steering.control().flow == flow;
        let rest = self.statistics.len() - 1;
        let rule = steering.rule_of(flow).or_else(|| unmatched().then_some(rest))?;
        Some(&mut self.statistics[rule])
    }

    /// Gives every rule with one flow the envelope that its contract states.
    pub(super) fn give_envelopes(&mut self, rules: &[Rule]) {
        for (rule, statistics) in rules.iter().zip(&mut self.statistics) {
            let is_one = rule.split == Split::Together;
            let stated = if is_one { rule.plan.contract } else { Contract::default() };
            statistics.envelope = Envelope::changed(statistics.envelope.take(), &stated);
        }
    }

    /// Adds up the counters of every rule's flows, after the flows of the rules have changed.
    pub(super) fn sum_up(&mut self, switch: &Switch) {
        let steering = self.edge.steering();
        let rest = self.statistics.len() - 1;
        for (rule, statistics) in self.statistics.iter_mut().enumerate() {
            statistics.counters =
                if rule < rest { steering.counters(switch, rule) } else { steering.unmatched(switch) };
        }
    }

    /// The statistics of the rule that a flow belongs to.
    pub(super) fn statistics_of(&mut self, flow: FlowIx) -> &mut FlowStatistics {
        let rule = self.edge.steering().rule_of(flow).unwrap_or(self.statistics.len() - 1);
        &mut self.statistics[rule]
    }
}

/// Random numbers for the losses and the jitter of a direction's emulated link.
fn emulation_rng(seed: u64, direction: Direction) -> Rng {
    Rng::named(seed, &format!("link/{}", direction.name()))
}
