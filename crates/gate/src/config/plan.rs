//! The plan that the engine carries out for a gate file.

use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::link::{LinePlan, Pace};
use tidegate_core::params::Limit;
use tidegate_core::steering::EdgePlan;
use tidegate_core::switch::plan::SwitchPlan;
use tidegate_formats::GateFile;

/// Buffers for frames on their way into the pool or out of it, beyond what the pool holds.
const SPARE_BUFFERS: u64 = 2048;
/// Maximum number of buffers of a direction: at 1514 bytes each, they take some 200 MB when all are
/// in use.
const MAX_BUFFERS: u64 = 1 << 17;
/// The shortest frame, in bytes, that a pool limited in bytes is sized for.
const SHORTEST_FRAME: u64 = 60;

/// Factor by which a trace may exceed its mean rate within the delay of its link.
const TRACE_BURST: u64 = 4;

/// A gate: two directions, each a port of one switch. Up comes first, as in [`Direction`].
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The line behind each port.
    pub(crate) lines: [LinePlan; 2],
    /// True if the line is emulated; otherwise a real link follows.
    pub(crate) emulated: [bool; 2],
    /// Seed of the losses and the jitter of emulated lines.
    pub(crate) emulation_seed: u64,
    /// The two ports.
    pub(crate) switch: SwitchPlan,
    /// The edge in front of each port: its rules in the order of the file.
    pub(crate) edges: [EdgePlan; 2],
    /// The names of the rules, the same in both directions.
    pub(crate) names: Vec<String>,
    /// Buffers for the frames of each direction.
    pub(crate) buffers: [usize; 2],
}

impl Plan {
    /// The plan for a file.
    pub(crate) fn of(file: &GateFile) -> Plan {
        let queued = match file.buffer {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => bytes / SHORTEST_FRAME,
        };
        let in_flight = |side: usize| {
            let Some(line) = &file.emulated[side] else { return 0 };
            let burst = if matches!(line.pace, Pace::Trace(_)) { TRACE_BURST } else { 1 };
            let rate = line.pace.highest().unwrap_or(line.rate);
            let changed = line.delays.iter().flat_map(|delays| delays.values()).max();
            let delay = changed.unwrap_or(line.delay) + line.jitter.common();
            rate.bytes_in(delay).saturating_mul(burst) / SHORTEST_FRAME
        };
        let buffers = [0, 1].map(|side| {
            queued.saturating_add(SPARE_BUFFERS).saturating_add(in_flight(side)).min(MAX_BUFFERS) as usize
        });
        Plan {
            lines: Direction::BOTH.map(|direction| line(file, direction)),
            emulated: [0, 1].map(|side| file.emulated[side].is_some()),
            emulation_seed: file.emulation_seed,
            switch: file.switch_plan(),
            edges: Direction::BOTH.map(|direction| file.edge_plan(direction)),
            names: file.flows.iter().map(|flow| flow.name.clone()).collect(),
            buffers,
        }
    }

    /// For each rule, the index in `before` of the old rule that it continues: the one of the same
    /// name.
    pub(crate) fn continued(&self, before: &[String]) -> Vec<Option<usize>> {
        let by_name: BTreeMap<&String, usize> =
            before.iter().enumerate().map(|(ix, name)| (name, ix)).collect();
        self.names.iter().map(|name| by_name.get(name).copied()).collect()
    }
}

/// The line that a direction's frames leave over: the emulated link, or the rate of the port alone.
fn line(file: &GateFile, direction: Direction) -> LinePlan {
    let rate = file.rates[direction as usize];
    file.emulated[direction as usize].clone().unwrap_or_else(|| LinePlan::plain(rate))
}
