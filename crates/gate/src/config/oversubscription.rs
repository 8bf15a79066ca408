//! Oversubscription: the sums of reservations and ceilings of a gate file's circuits, by class and
//! direction. The operator judges how much oversubscription a link can bear.

use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::Rate;
use tidegate_formats::units::show_rate;
use tidegate_formats::{GateFile, GateFlow};

/// The circuits of a class in one direction.
#[derive(Clone, Copy, Default)]
struct Subscription {
    circuits: usize,
    /// Circuits that reserve nothing.
    unreserved: usize,
    /// Circuits that have no ceiling.
    unlimited: usize,
    /// Sums in bit/s.
    reserve: u64,
    ceiling: u64,
}

/// A few lines about every list of circuits.
pub(crate) fn summary(file: &GateFile) -> String {
    file.flows.iter().map(|flow| of_flow(file, flow)).collect()
}

fn of_flow(file: &GateFile, flow: &GateFlow) -> String {
    let Some(circuits) = &flow.circuits else { return String::new() };
    let mut by_class: BTreeMap<Option<usize>, [Subscription; 2]> = BTreeMap::new();
    for circuit in 0..circuits.len() as u32 {
        let terms = circuits.terms(circuit);
        let of_class = by_class.entry(terms.class.map(usize::from).or(flow.class)).or_default();
        for (side, sum) in of_class.iter_mut().enumerate() {
            let bits = |own: Option<Rate>, common: Option<u64>| {
                own.map(|rate| rate.bits_per_second().round() as u64).or(common)
            };
            let reserve = bits(terms.reserve[side], flow.terms[side].reserve);
            let ceiling = bits(terms.ceiling[side], flow.terms[side].ceiling);
            sum.circuits += 1;
            sum.unreserved += usize::from(reserve.is_none());
            sum.unlimited += usize::from(ceiling.is_none());
            sum.reserve = sum.reserve.saturating_add(reserve.unwrap_or(0));
            sum.ceiling = sum.ceiling.saturating_add(ceiling.unwrap_or(0));
        }
    }
    let (all, classes) = (circuits.len(), by_class.len());
    let mut text = format!("{}: {} in {}\n", flow.name, count(all, "circuit"), count(classes, "class"));
    for (class, sums) in by_class {
        for direction in Direction::BOTH {
            text += &line(file, class, direction, &sums[direction as usize]);
        }
    }
    text
}

/// `3 circuits`, `1 class`.
fn count(number: usize, noun: &str) -> String {
    let ending = match (number, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{ending}")
}

fn line(file: &GateFile, class: Option<usize>, direction: Direction, sum: &Subscription) -> String {
    let link = file.rates[direction as usize].bits_per_second().round() as u64;
    let (name, reservable, ceiling) = match class.map(|class| &file.classes[class]) {
        None => ("(no class)", link, link),
        Some(class) => {
            let terms = class.terms[direction as usize];
            (class.class.name.as_str(), terms.reserve.unwrap_or(link), terms.ceiling.unwrap_or(link))
        }
    };
    let mut text = format!(
        "  {name:<16} {:<4} {}: {} of {} reserved, ceilings add up to {} of {}",
        direction.name(),
        count(sum.circuits, "circuit"),
        show_rate(sum.reserve),
        show_rate(reservable),
        show_rate(sum.ceiling),
        show_rate(ceiling)
    );
    if sum.unlimited > 0 {
        text += &format!("; {} without a ceiling", sum.unlimited);
    }
    if sum.unreserved > 0 {
        text += &format!("; {} without a reservation", sum.unreserved);
    }
    text + "\n"
}

#[cfg(test)]
#[path = "oversubscription_tests.rs"]
mod tests;
