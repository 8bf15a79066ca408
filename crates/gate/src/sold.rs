//! What a gate file's lists of circuits promise and allow in all, class by class: how far a link is oversold is
//! for its operator to see and to judge.

use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::Rate;
use tidegate_spec::units::show_rate;
use tidegate_spec::{GateFile, GateFlow};

/// The circuits of a class in one direction.
#[derive(Clone, Copy, Default)]
struct Sold {
    circuits: usize,
    /// How many of them reserve nothing.
    without: usize,
    /// How many of them have no ceiling.
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
    let mut by_class: BTreeMap<Option<usize>, [Sold; 2]> = BTreeMap::new();
    for circuit in 0..circuits.len() as u32 {
        let terms = circuits.terms(circuit);
        let sold = by_class.entry(terms.class.map(usize::from).or(flow.class)).or_default();
        for (side, sold) in sold.iter_mut().enumerate() {
            let bits = |own: Option<Rate>, common: Option<u64>| {
                own.map(|rate| rate.bits_per_second().round() as u64).or(common)
            };
            let reserve = bits(terms.reserve[side], flow.terms[side].reserve);
            let ceiling = bits(terms.ceiling[side], flow.terms[side].ceiling);
            sold.circuits += 1;
            sold.without += usize::from(reserve.is_none());
            sold.unlimited += usize::from(ceiling.is_none());
            sold.reserve = sold.reserve.saturating_add(reserve.unwrap_or(0));
            sold.ceiling = sold.ceiling.saturating_add(ceiling.unwrap_or(0));
        }
    }
    let (all, classes) = (circuits.len(), by_class.len());
    let mut text = format!("{}: {} in {}\n", flow.name, count(all, "circuit"), count(classes, "class"));
    for (class, sold) in by_class {
        for direction in Direction::BOTH {
            text += &line(file, class, direction, &sold[direction as usize]);
        }
    }
    text
}

/// `3 circuits`, `1 class`.
fn count(number: usize, what: &str) -> String {
    let ending = match (number, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {what}{ending}")
}

fn line(file: &GateFile, class: Option<usize>, direction: Direction, sold: &Sold) -> String {
    let link = file.rates[direction as usize].bits_per_second().round() as u64;
    let (name, room, most) = match class.map(|class| &file.classes[class]) {
        None => ("(no class)", link, link),
        Some(class) => {
            let terms = class.terms[direction as usize];
            (class.class.name.as_str(), terms.reserve.unwrap_or(link), terms.ceiling.unwrap_or(link))
        }
    };
    let mut text = format!(
        "  {name:<16} {:<4} {}: {} of {} reserved, {} of {} sold",
        direction.name(),
        count(sold.circuits, "circuit"),
        show_rate(sold.reserve),
        show_rate(room),
        show_rate(sold.ceiling),
        show_rate(most)
    );
    if sold.unlimited > 0 {
        text += &format!("; {} without a ceiling", sold.unlimited);
    }
    if sold.without > 0 {
        text += &format!("; {} reserve nothing and get what is left, first in first out", sold.without);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_example_says_what_it_sells() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates/isp.toml");
        let file = GateFile::load(&path, &[]).unwrap();
        let expected = "\
subscribers: 22 circuits in 3 classes
  north            up   10 circuits: 14500kbit of 60mbit reserved, 145mbit of 100mbit sold
  north            down 10 circuits: 58mbit of 300mbit reserved, 720mbit of 500mbit sold
  south            up   7 circuits: 10mbit of 60mbit reserved, 100mbit of 100mbit sold
  south            down 7 circuits: 40mbit of 300mbit reserved, 500mbit of 500mbit sold
  valley           up   5 circuits: 2500kbit of 15mbit reserved, 25mbit of 20mbit sold
  valley           down 5 circuits: 10mbit of 60mbit reserved, 125mbit of 80mbit sold
";
        assert_eq!(summary(&file), expected);
    }
}
