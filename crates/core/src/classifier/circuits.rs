//! Circuits: the subscribers of a network as its operator lists them, each with a name, addresses,
//! and its reservation and ceiling in either direction.
//!
//! Circuits are many and most of them are idle, so a circuit is a few numbers in flat lists, shared
//! by both directions; its flow is created when its first packet arrives.

use super::addresses::{Addresses, GivenTwice};
use super::rules::{Direction, Prefix};
use crate::switch::plan::FlowPlan;
use crate::units::Rate;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

/// One circuit. Terms that it does not state are those of its rule's plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Its name, which no other circuit has.
    pub name: String,
    /// Its addresses inside; a longer prefix of another circuit within them is the other's.
    pub addresses: Vec<Prefix>,
    /// Its reservation and ceiling.
    pub terms: CircuitTerms,
}

/// The reservation and ceiling of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CircuitTerms {
    /// The class that it is a member of.
    pub class: Option<u16>,
    /// Reserved rate of each direction, up first.
    pub reserve: [Option<Rate>; 2],
    /// The rate that each direction never exceeds, up first.
    pub ceiling: [Option<Rate>; 2],
}

/// Many circuits, numbered in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuits {
    /// All names, one after the other, and where each ends.
    names: String,
    ends: Vec<u32>,
    terms: Vec<CircuitTerms>,
    addresses: Addresses,
}

impl Circuits {
    /// These circuits, numbered from 0: fewer than 2³² − 1, with names of less than 4 GB in all.
    ///
    /// # Errors
    /// When prefixes are given twice: all of them, with their circuits.
    pub fn new(circuits: impl IntoIterator<Item = Circuit>) -> Result<Circuits, Vec<GivenTwice>> {
        let mut all = Circuits::default();
        let mut owned = Vec::new();
        for (circuit, number) in circuits.into_iter().zip(0..) {
            all.names.push_str(&circuit.name);
            all.ends.push(u32::try_from(all.names.len()).unwrap_or(u32::MAX));
            all.terms.push(circuit.terms);
            owned.extend(circuit.addresses.into_iter().map(|prefix| (prefix, number)));
        }
        all.addresses = Addresses::new(owned)?;
        all.names.shrink_to_fit();
        all.ends.shrink_to_fit();
        all.terms.shrink_to_fit();
        Ok(all)
    }

    /// Number of circuits.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns true if there is no circuit.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The circuit that has this address.
    #[inline]
    pub fn find(&self, inside: IpAddr) -> Option<u32> {
        self.addresses.owner(inside)
    }

    /// Returns true if both give the same addresses to circuits of the same numbers.
    pub fn same_addresses(&self, other: &Circuits) -> bool {
        self.addresses == other.addresses
    }

    /// The name of a circuit; empty for one that is not there.
    pub fn name(&self, circuit: u32) -> &str {
        let at = circuit as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        self.ends.get(at).and_then(|end| self.names.get(start..*end as usize)).unwrap_or_default()
    }

    /// The terms that a circuit states itself; nothing for an unknown circuit.
    pub fn terms(&self, circuit: u32) -> CircuitTerms {
        self.terms.get(circuit as usize).copied().unwrap_or_default()
    }

    /// The numbers that these circuits have among `after`, by their names; `None` for those that
    /// are not there.
    pub fn renumbered(&self, after: &Circuits) -> Vec<Option<u32>> {
        let numbers = |circuits: &Circuits| 0..circuits.len() as u32;
        let mut by_name = None;
        let mut expected = 0;
        let numbered = numbers(self).map(|number| {
            let name = self.name(number);
            // Most lists change in a line or two.
            let found = if expected < after.len() as u32 && after.name(expected) == name {
                Some(expected)
            } else {
                let by_name = by_name.get_or_insert_with(|| {
                    numbers(after).map(|number| (after.name(number), number)).collect::<BTreeMap<_, _>>()
                });
                by_name.get(name).copied()
            };
            expected = found.map_or(expected, |found| found + 1);
            found
        });
        numbered.collect()
    }

    /// The plan of a circuit's flow in a direction; `rule` has the terms that the circuit does not
    /// state.
    pub fn plan(&self, circuit: u32, direction: Direction, rule: &FlowPlan) -> FlowPlan {
        let terms = self.terms(circuit);
        let mut plan = *rule;
        plan.class = terms.class.or(plan.class);
        plan.contract.reserve = terms.reserve[direction as usize].or(plan.contract.reserve);
        plan.ceiling = terms.ceiling[direction as usize].or(plan.ceiling);
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circuit_is_found_by_its_addresses_and_says_its_terms() {
        let rate = |kilo: u64| Rate::from_bits_per_second(kilo * 1000);
        let circuit = |name: &str, addresses: &[&str], terms| Circuit {
            name: name.into(),
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            terms,
        };
        let terms = CircuitTerms { class: Some(3), reserve: [rate(1), None], ceiling: [None, rate(4)] };
        let circuits = Circuits::new([
            circuit("a", &["10.0.0.1", "2001:db8::/64"], terms),
            circuit("", &[], CircuitTerms::default()),
            circuit("bc", &["10.0.0.0/30"], CircuitTerms::default()),
        ])
        .unwrap();
        let found = |text: &str| circuits.find(text.parse().unwrap());
        assert_eq!(
            [found("10.0.0.1"), found("10.0.0.2"), found("2001:db8::7"), found("::")],
            [Some(0), Some(2), Some(0), None]
        );
        assert_eq!([0, 1, 2, 3].map(|circuit| circuits.name(circuit)), ["a", "", "bc", ""]);
        let mut rule = FlowPlan { class: Some(1), ceiling: rate(9), ..FlowPlan::default() };
        rule.contract.reserve = rate(2);
        let up = circuits.plan(0, Direction::Up, &rule);
        assert_eq!((up.class, up.contract.reserve, up.ceiling), (Some(3), rate(1), rate(9)));
        let down = circuits.plan(0, Direction::Down, &rule);
        assert_eq!((down.class, down.contract.reserve, down.ceiling), (Some(3), rate(2), rate(4)));
        assert_eq!(circuits.plan(2, Direction::Up, &rule), rule);
    }
}
