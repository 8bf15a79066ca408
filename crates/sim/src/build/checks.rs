//! What can only be checked when it is known how many flows there are.

use super::fail;
use crate::network::Network;
use tidegate_core::params::{Choice, Value};
use tidegate_core::scheduler::tdm;
use tidegate_spec::units::show_rate;
use tidegate_spec::{Scenario, SpecError};

/// A `[[flow]]` that stands for all flows of a capture reserves its rate for each of them; how
/// many they are is known only now.
pub(super) fn captured(scenario: &Scenario, network: &Network) -> Result<(), Box<SpecError>> {
    if scenario.admission.is_some() {
        // Whether a flow fits is then known when it is set up.
        return Ok(());
    }
    let mut reserved = vec![0u64; network.links.len()];
    for flow in &network.flows {
        let group = &scenario.groups[flow.group];
        let Some(bits) = group.contract.reserve_bits().filter(|_| group.class.is_none()) else { continue };
        // What a flow gets at a gate is in the gate's file.
        for link in flow.route.iter().filter(|link| scenario.links[**link].gate.is_none()) {
            reserved[*link] = reserved[*link].saturating_add(bits);
            let rate = scenario.links[*link].rate_bits;
            if reserved[*link] > rate {
                let message = format!(
                    "flow `{}` does not fit: with it {} are reserved on link {}, which carries {}",
                    flow.name,
                    show_rate(reserved[*link]),
                    network.links[*link].name,
                    show_rate(rate)
                );
                return Err(fail(scenario, group.reserve_place, message, None));
            }
        }
    }
    Ok(())
}

/// Slots of a frame: the rate that it divides (its own, or the link's in bit/s), a slot's bytes, how many.
fn frame(scheduler: &Choice, link: u64) -> Option<(u64, u64, u64)> {
    if scheduler.record.name != tdm::RECORD.name {
        return None;
    }
    let rate = match scheduler.value("rate") {
        Some(Value::Rate(bits)) => *bits,
        _ => link,
    };
    match (scheduler.value("slot")?, scheduler.value("slots")?) {
        (Value::Size(slot), Value::Integer(slots)) => Some((rate, *slot, u64::try_from(*slots).ok()?)),
        _ => None,
    }
}

/// A time-division port has a slot for every packet, and slots for every reservation. What is set up by
/// signalling is booked in bit/s, so that it has to be whole slots.
pub(super) fn slots(scenario: &Scenario, network: &Network) -> Result<(), Box<SpecError>> {
    let of = |link: &tidegate_spec::Link| {
        frame(&link.port.scheduler, link.rate_bits).filter(|_| link.gate.is_none())
    };
    let frames: Vec<_> = scenario.links.iter().map(of).collect();
    let mut owned = vec![0u64; frames.len()];
    for flow in &network.flows {
        let group = &scenario.groups[flow.group];
        for link in &flow.route {
            let Some((rate, slot, slots)) = frames[*link] else { continue };
            let name = &network.links[*link].name;
            if u64::from(flow.largest) > slot {
                let message = format!(
                    "a packet of flow `{}` ({}B) is longer than a slot of link {name} ({slot}B)",
                    flow.name, flow.largest
                );
                return Err(fail(scenario, group.place, message, None));
            }
            let changes = group.changes.iter().map(|change| change.reserve).filter(|_| flow.life.set_up);
            for bits in group.contract.reserve_bits().into_iter().chain(changes) {
                let in_slots = u128::from(bits) * u128::from(slots);
                if flow.life.set_up && !in_slots.is_multiple_of(u128::from(rate)) {
                    let message = format!(
                        "{} is not a whole number of slots of link {name}, each worth {}",
                        show_rate(bits),
                        show_rate(rate / slots)
                    );
                    return Err(fail(scenario, group.reserve_place, message, None));
                }
                if !flow.life.set_up {
                    owned[*link] +=
                        u64::try_from(in_slots.div_ceil(u128::from(rate))).unwrap_or(u64::MAX / 2);
                }
            }
            if owned[*link] > slots {
                let message = format!(
                    "flow `{}` does not fit: with it {} of {slots} slots of link {name} are owned",
                    flow.name, owned[*link]
                );
                return Err(fail(scenario, group.reserve_place, message, None));
            }
        }
    }
    Ok(())
}
