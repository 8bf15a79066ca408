//! What a gate should do, ready to be done.

use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::classifier::steering::Rule;
use tidegate_core::link::Framing;
use tidegate_core::params::Limit;
use tidegate_core::switch::plan::SwitchPlan;
use tidegate_core::units::Rate;
use tidegate_spec::{Emulation, GateFile};

/// Places for what is on its way into the pool or out of it, beyond what the pool holds.
const SPARE_PLACES: u64 = 2048;
/// The most places: at 1514 bytes each, they take some 400 MB when all are in use.
const MOST_PLACES: u64 = 1 << 18;
/// The shortest frame that is reckoned with when a pool is limited in bytes.
const SHORTEST_FRAME: u64 = 60;

/// How much more than on average a trace may deliver within the delay of its link.
const BURST: u64 = 4;

/// A gate: two directions, each a port of one switch. Up comes first, as in [`Direction`].
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The rate of each direction; with a trace, its mean.
    pub(crate) rates: [Rate; 2],
    /// What the link of each direction does besides; `None` where a real link follows.
    pub(crate) emulated: [Option<Emulation>; 2],
    /// What a frame is charged.
    pub(crate) framing: Framing,
    /// The two ports.
    pub(crate) switch: SwitchPlan,
    /// The rules of each direction, in the order of the file.
    pub(crate) rules: [Vec<Rule>; 2],
    /// Their names, the same in both directions.
    pub(crate) names: Vec<String>,
    /// The DSCP that the packets of each rule get, the same in both directions.
    pub(crate) set_dscp: Vec<Option<u8>>,
    /// The most flows that are made in each direction by rules with `each`.
    pub(crate) most_flows: usize,
    /// Places for frames.
    pub(crate) places: usize,
}

impl Plan {
    /// What a file asks for.
    pub(crate) fn of(file: &GateFile) -> Plan {
        let held = match file.buffer {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => bytes / SHORTEST_FRAME,
        };
        let flying = file.emulated.iter().zip(file.rates).map(|(emulated, rate)| {
            let Some(Emulation { trace, delay, .. }) = emulated else { return 0 };
            let burst = if trace.is_some() { BURST } else { 1 };
            rate.bytes_in(*delay).saturating_mul(burst) / SHORTEST_FRAME
        });
        let flying = flying.fold(0, u64::saturating_add);
        Plan {
            rates: file.rates,
            emulated: file.emulated.clone(),
            framing: file.framing,
            switch: file.switch_plan(),
            rules: Direction::BOTH.map(|direction| file.rules(direction)),
            names: file.flows.iter().map(|flow| flow.name.clone()).collect(),
            set_dscp: file.flows.iter().map(|flow| flow.set_dscp).collect(),
            most_flows: file.most_flows,
            places: held.saturating_add(SPARE_PLACES).saturating_add(flying).min(MOST_PLACES) as usize,
        }
    }

    /// Which rule of `before` each rule goes on: the one with its name.
    pub(crate) fn goes_on(&self, before: &[String]) -> Vec<Option<usize>> {
        let by_name: BTreeMap<&String, usize> =
            before.iter().enumerate().map(|(ix, name)| (name, ix)).collect();
        self.names.iter().map(|name| by_name.get(name).copied()).collect()
    }
}
