//! Reports of a forwarder, made between two frames.

use super::Forwarder;
use crate::runtime::commands::{CircuitSlice, NextCircuit};
use crate::sys::clock::Clock;
use crate::telemetry::report::{CircuitCounters, Member, Process, Report};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::Time;

/// Number of circuits examined between two frames.
const CIRCUITS_AT_ONCE: usize = 1000;

impl Forwarder {
    /// A part of the list of circuits that have had packets, from `first` on.
    pub(super) fn circuits(&self, first: NextCircuit) -> CircuitSlice {
        let lists = self.file.flows.iter().enumerate();
        let lists = lists.filter_map(|(rule, flow)| Some((rule, flow.circuits.as_ref()?.len() as u32)));
        let begins = |rule| if rule == first.0 { first.1 } else { 0 };
        let lists = lists.filter(|(rule, _)| *rule >= first.0);
        let mut left =
            lists.flat_map(|(rule, count)| (begins(rule)..count).map(move |circuit| (rule, circuit)));
        let slice = left.by_ref().take(CIRCUITS_AT_ONCE).map(|(rule, circuit)| {
            let counters = Direction::BOTH.map(|direction| self.engine.circuit(direction, rule, circuit));
            CircuitCounters { rule, circuit, counters }
        });
        let had_packets =
            |one: &CircuitCounters| one.counters.iter().any(|direction| direction.arrived.packets > 0);
        (slice.filter(had_packets).collect(), left.next())
    }

    /// Frames that were sent in a direction.
    #[cfg(feature = "bench")]
    pub(crate) fn sent(&self, direction: Direction) -> u64 {
        self.engine.counters(direction).sent
    }

    /// The flows that packets have opened.
    pub(crate) fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        for direction in Direction::BOTH {
            for rule in 0..self.file.flows.len() {
                let of_rule = self.engine.members(direction, rule).into_iter();
                members.extend(of_rule.map(|(key, arrived)| Member { direction, rule, key, arrived }));
            }
        }
        members
    }

    /// All counters and statistics.
    pub(crate) fn report(&mut self) -> Report {
        for (missed, receiver) in self.missed.iter_mut().zip(&mut self.receivers) {
            *missed += receiver.missed();
        }
        let process = Process {
            seconds: self.clock.now().since(Time::ORIGIN).as_secs_f64(),
            cpu_seconds: Clock::cpu_time().as_secs_f64(),
            real_time: self.real_time,
        };
        let mut report = Report::new(&self.file, &self.engine, &self.lateness, self.missed, process);
        for (one, raised) in report.directions.iter_mut().zip(self.raised_mtus) {
            one.raised_mtu = raised.map(|raised| (self.mtu, raised));
        }
        for (one, name) in report.directions.iter_mut().zip(&self.renamed) {
            one.renamed.clone_from(name);
        }
        report
    }
}
