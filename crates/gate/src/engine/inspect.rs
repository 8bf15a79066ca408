//! Queries about the engine's frames and flows, for reports, for tests and for the forwarder.

use super::Engine;
use crate::stats::{Counters, FlowStatistics};
use serde_json::Value;
use tidegate_core::classifier::rules::{Direction, Key};
use tidegate_core::packet::PortIx;
use tidegate_core::stats::Count;
use tidegate_core::switch::FlowCounters;
use tidegate_core::units::Span;
use tidegate_formats::{GateFile, Named};

impl Engine {
    /// Counters of a direction.
    pub(crate) fn counters(&self, direction: Direction) -> &Counters {
        &self.ports[direction as usize].counters
    }

    /// Frames that are held in a direction: those that the switch has queued by its own count,
    /// those in flight on an emulated link, and those that are due and not yet sent.
    pub(crate) fn held(&self, direction: Direction) -> u64 {
        let ix = PortIx(direction as u16);
        // The packet in service is on its way: it was sent, or is counted with the departures or in
        // flight.
        let in_service = u64::from(self.switch.in_service(ix).is_some());
        let port = &self.ports[direction as usize];
        self.switch.backlog(ix).packets - in_service + (port.departures.len() + port.line.in_flight()) as u64
    }

    /// Frames that were sent in a direction, and their bytes.
    pub(crate) fn sent(&self, direction: Direction) -> Count {
        let Counters { sent, sent_bytes, .. } = self.counters(direction);
        Count { packets: *sent, bytes: *sent_bytes }
    }

    /// Checks that the running sums of every rule equal the sums over its flows.
    #[cfg(test)]
    pub(crate) fn check_sums(&self, direction: Direction) {
        let port = &self.ports[direction as usize];
        let steering = port.edge.steering();
        let counted = |counters: FlowCounters| (counters.arrived, counters.sent, counters.dropped);
        for rule in 0..port.statistics.len() - 1 {
            assert_eq!(counted(self.rule(direction, rule).0), counted(steering.counters(&self.switch, rule)));
        }
        assert_eq!(counted(self.rest(direction)), counted(steering.unmatched(&self.switch)));
    }

    /// Buffers in use.
    #[cfg(any(test, fuzzing, feature = "bench"))]
    pub(crate) fn buffers_used(&self) -> usize {
        self.ports.iter().map(|port| port.arena.used()).sum()
    }

    /// Statistics of a rule in a direction; past the last rule, those of packets that match none.
    pub(crate) fn statistics(&self, direction: Direction, rule: usize) -> &FlowStatistics {
        &self.ports[direction as usize].statistics[rule]
    }

    /// The flows that packets of a rule have opened, by key, with the packets that have arrived for
    /// each.
    pub(crate) fn members(&self, direction: Direction, rule: usize) -> Vec<(Key, Count)> {
        let members = self.ports[direction as usize].edge.steering().members(rule);
        members.map(|(key, leg)| (key, self.switch.counters(leg).arrived)).collect()
    }

    /// Counters of a circuit of a rule in a direction.
    pub(crate) fn circuit(&self, direction: Direction, rule: usize, circuit: u32) -> FlowCounters {
        self.ports[direction as usize].edge.steering().circuit_counters(&self.switch, rule, circuit)
    }

    /// Lead of the clock of a rule's flow over real time; of several flows, the largest lead that
    /// was seen recently.
    pub(crate) fn lead(&self, direction: Direction, rule: usize) -> Span {
        let port = &self.ports[direction as usize];
        port.edge.steering().lead(port.clock, &self.switch, rule)
    }

    /// Explains the waiting of what has a name, or of those that waited most: see
    /// [`Explainer::explain`](crate::explain::Explainer::explain).
    pub(crate) fn explain(&self, asked: Option<Named>, file: &GateFile) -> Value {
        let of = |direction: Direction| {
            let port = &self.ports[direction as usize];
            port.explainer.explain(port.clock, asked, (file, direction), port.line.is_down(port.clock))
        };
        Direction::BOTH.map(of).concat().into()
    }

    /// Leaves out explanations from now on.
    #[cfg(feature = "bench")]
    pub(crate) fn leave_out_explanations(&mut self) {
        self.ports.iter_mut().for_each(|port| port.explainer.leave_out());
    }

    /// Counters of a rule's flows in a direction, and how many flows are open.
    pub(crate) fn rule(&self, direction: Direction, rule: usize) -> (FlowCounters, usize) {
        let port = &self.ports[direction as usize];
        (port.statistics[rule].counters, port.edge.steering().flows(rule))
    }

    /// Counters of the packets that match no rule.
    pub(crate) fn rest(&self, direction: Direction) -> FlowCounters {
        let statistics = &self.ports[direction as usize].statistics;
        statistics[statistics.len() - 1].counters
    }

    /// Packets for which no flow could be opened.
    pub(crate) fn overflowed(&self, direction: Direction) -> u64 {
        self.ports[direction as usize].edge.steering().overflowed()
    }
}
