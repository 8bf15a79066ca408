//! The circuits of a gate: a CSV file with a line for each, as the operators of networks keep them.

use super::lists::List;
use super::{DirectionTerms, GateClass, GateFlow};
use crate::csv_table::{Columns, CsvTable, Row};
use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place, Report};
use crate::libreqos::{self, Translation};
use crate::prefix::prefixes;
use crate::suggest::{brief, did_you_mean};
use crate::units::parse_rate;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::classifier::addresses::GivenTwice;
use tidegate_core::classifier::circuits::{self, Circuit, Circuits};
use tidegate_core::classifier::rules::{Direction, Prefix};
use tidegate_core::units::Rate;

const COLUMNS: Columns = Columns {
    names: &["name", "addresses", "class", "up_reserve", "up_ceiling", "down_reserve", "down_ceiling"],
    needed: 2,
};
const NAME: usize = 0;
const ADDRESSES: usize = 1;
const CLASS: usize = 2;
const FIRST_RATE: usize = 3;
const RESERVES: [usize; 2] = [FIRST_RATE, FIRST_RATE + 2];

/// The longest name of a circuit, in bytes.
const LONGEST_NAME: usize = 128;

/// Circuits as they were read, with the place of each.
pub(super) struct Listing {
    pub(super) circuits: Arc<Circuits>,
    table: CsvTable,
    /// First byte of each circuit's line.
    starts: Vec<u32>,
    /// Columns of the reservations, up first.
    reserves: [usize; 2],
}

/// Attaches the circuits of lists to the flows that name them. `None` once a mistake was reported.
pub(super) fn attach(
    flows: &mut [GateFlow],
    lists: Vec<Option<List>>,
    classes: &[GateClass],
    report: &mut Report,
) -> Option<Vec<Option<Listing>>> {
    let mut listings = Vec::with_capacity(flows.len());
    for (flow, list) in flows.iter_mut().zip(lists) {
        let listing = match list {
            None => None,
            Some(List::Plain { text, file_name }) => Some(parse(&text, &file_name, flow, classes)),
            Some(List::LibreQos { translation, nodes }) => {
                Some(of_libreqos(*translation, nodes.start, &flow.terms))
            }
        };
        let listing = match listing.transpose() {
            Ok(listing) => Some(listing),
            Err(errors) => {
                report.say_elsewhere(errors);
                None
            }
        };
        flow.circuits = listing.iter().flatten().next().map(|listing| Arc::clone(&listing.circuits));
        listings.push(listing);
    }
    listings.into_iter().collect()
}

/// The circuits of LibreQoS's list, whose first node is the class `first`.
fn of_libreqos(
    translation: Translation,
    first: usize,
    common: &[DirectionTerms; 2],
) -> Result<Listing, FormatErrors> {
    let (circuits, starts): (Vec<Circuit>, Vec<usize>) = translation.circuits(first).unzip();
    let table = translation.into_table();
    let mut report = Report::default();
    for (circuit, start) in circuits.iter().zip(&starts) {
        let bits = |rate: Option<Rate>| rate.map(|rate| rate.bits_per_second().round() as u64);
        let own = Direction::BOTH.map(|direction| DirectionTerms {
            reserve: bits(circuit.terms.reserve[direction as usize]),
            ceiling: bits(circuit.terms.ceiling[direction as usize]),
        });
        check(&own, common, |side, _| table.place(*start, Some(libreqos::MOST[side])), &mut report);
    }
    let starts = starts.into_iter().map(|start| u32::try_from(start).unwrap_or(u32::MAX)).collect();
    let mut listing = Listing { circuits: Arc::default(), table, starts, reserves: libreqos::LEAST };
    match Circuits::new(circuits) {
        Ok(circuits) => listing.circuits = Arc::new(circuits),
        Err(twice) => twice.into_iter().for_each(|GivenTwice { prefix, owners: [_, second] }| {
            let complaint = Complaint::new(format!("{prefix} is listed twice"));
            report.add(listing.place(second, Some(libreqos::CIRCUIT)), complaint);
        }),
    }
    report.check(&listing.table.origin)?;
    Ok(listing)
}

fn parse(
    text: &str,
    file_name: &str,
    flow: &GateFlow,
    classes: &[GateClass],
) -> Result<Listing, FormatErrors> {
    let mut reader = Reader {
        flow,
        classes: classes
            .iter()
            .enumerate()
            .map(|(index, class)| (class.class.name.as_str(), index))
            .collect(),
        parents: classes.iter().filter_map(|class| class.class.parent).collect(),
        names: BTreeMap::new(),
    };
    let mut report = Report::default();
    let (mut circuits, mut starts) = (Vec::new(), Vec::new());
    let origin = Origin::new(file_name, text, &[]);
    let table = CsvTable::read(origin, COLUMNS, &mut report, |row, report| {
        if let Some(circuit) = reader.circuit(row, report) {
            circuits.push(circuit);
            starts.push(u32::try_from(row.start).unwrap_or(u32::MAX));
        }
    });
    // Only the list without other mistakes has the numbers that its lines have.
    report.check(&table.origin)?;
    let mut listing = Listing { circuits: Arc::default(), table, starts, reserves: RESERVES };
    match Circuits::new(circuits) {
        Ok(circuits) => listing.circuits = Arc::new(circuits),
        Err(twice) => {
            twice.into_iter().for_each(|twice| reader.given_twice(&listing, twice, &mut report));
        }
    }
    report.check(&listing.table.origin)?;
    Ok(listing)
}

impl Listing {
    /// A mistake in a circuit's line, at its reservation if the line has one.
    pub(super) fn error_at_reserve(
        &self,
        circuit: u32,
        direction: Direction,
        complaint: Complaint,
    ) -> FormatError {
        let column = self.reserves[direction as usize];
        self.table.origin.error(self.place(circuit, Some(column)), complaint)
    }

    fn place(&self, circuit: u32, column: Option<usize>) -> Place {
        self.table.place(self.start(circuit), column)
    }

    /// First byte of a circuit's line.
    fn start(&self, circuit: u32) -> usize {
        self.starts.get(circuit as usize).map_or(0, |start| *start as usize)
    }
}

struct Reader<'a> {
    flow: &'a GateFlow,
    classes: BTreeMap<&'a str, usize>,
    /// Classes that have classes in them.
    parents: Vec<usize>,
    /// Start of each name's line.
    names: BTreeMap<String, usize>,
}

impl Reader<'_> {
    /// The circuit of a line; `None` after something was reported.
    fn circuit(&mut self, row: Row<'_>, report: &mut Report) -> Option<Circuit> {
        let name = row.field(NAME);
        let named = self.name(name, row, report);
        let addresses = addresses(row, report);
        let class = match row.field(CLASS) {
            "" => Some(None),
            class => self.class(class, row, report).map(Some),
        };
        let mut rates = [None; 4];
        let mut sound = true;
        for (ix, rate) in rates.iter_mut().enumerate() {
            match row.field(FIRST_RATE + ix) {
                "" => {}
                text => match parse_rate(text) {
                    Ok(bits) => *rate = Some(bits),
                    Err(complaint) => {
                        sound = false;
                        report.add(row.place(Some(FIRST_RATE + ix)), complaint);
                    }
                },
            }
        }
        let [up_reserve, up_ceiling, down_reserve, down_ceiling] = rates;
        let own = [
            DirectionTerms { reserve: up_reserve, ceiling: up_ceiling },
            DirectionTerms { reserve: down_reserve, ceiling: down_ceiling },
        ];
        let place = |side: usize, has_ceiling: bool| {
            row.place(Some(FIRST_RATE + 2 * side + usize::from(has_ceiling)))
        };
        check(&own, &self.flow.terms, place, report);
        named.filter(|()| sound)?;
        let rate = |bits: Option<u64>| bits.and_then(Rate::from_bits_per_second);
        Some(Circuit {
            name: name.to_owned(),
            addresses: addresses?,
            terms: circuits::CircuitTerms {
                class: class?.map(|class| class as u16),
                reserve: own.map(|terms| rate(terms.reserve)),
                ceiling: own.map(|terms| rate(terms.ceiling)),
            },
        })
    }

    fn name(&mut self, name: &str, row: Row<'_>, report: &mut Report) -> Option<()> {
        let place = row.place(Some(NAME));
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            let complaint = Complaint::new("this is not the name of a circuit")
                .help(format!("a name has 1 to {LONGEST_NAME} bytes in one line"));
            report.add(place, complaint);
            return None;
        }
        if let Some(before) = self.names.insert(name.to_owned(), row.start) {
            let message =
                format!("there is already a circuit `{}` in line {}", brief(name), row.line(before));
            report.add(place, Complaint::new(message));
            return None;
        }
        Some(())
    }

    fn class(&self, name: &str, row: Row<'_>, report: &mut Report) -> Option<usize> {
        let place = row.place(Some(CLASS));
        let Some(class) = self.classes.get(name).copied() else {
            let mut complaint = Complaint::new(format!("there is no class `{}`", brief(name)));
            complaint.help = did_you_mean(name, self.classes.keys().copied())
                .or_else(|| Some("add a [[class]] to the gate file".to_owned()));
            report.add(place, complaint);
            return None;
        };
        if self.parents.contains(&class) {
            let complaint =
                Complaint::new(format!("class `{name}` has classes in it, so no circuit can be in it"))
                    .help("put the circuit into one of those classes");
            report.add(place, complaint);
            return None;
        }
        Some(class)
    }

    fn given_twice(&self, listing: &Listing, twice: GivenTwice, report: &mut Report) {
        let GivenTwice { prefix, owners: [first, second] } = twice;
        let message = if first == second {
            format!("{prefix} is listed twice")
        } else {
            let at = listing.start(first);
            let owner = self.names.iter().find(|(_, start)| **start == at).map(|(name, _)| brief(name));
            format!(
                "{prefix} is already `{}`'s, in line {}",
                owner.unwrap_or_default(),
                listing.table.line(at)
            )
        };
        report.add(listing.place(second, Some(ADDRESSES)), Complaint::new(message));
    }
}

/// Checks the terms of a circuit, of which those of its flow are part; a mistake is at the `place` of
/// a direction, and of a circuit with or without a ceiling of its own there.
fn check(
    own: &[DirectionTerms; 2],
    common: &[DirectionTerms; 2],
    place: impl Fn(usize, bool) -> Place,
    report: &mut Report,
) {
    for (side, (own, common)) in own.iter().zip(common).enumerate() {
        let whole = DirectionTerms {
            reserve: own.reserve.or(common.reserve),
            ceiling: own.ceiling.or(common.ceiling),
        };
        whole.check(place(side, own.ceiling.is_some()), report);
    }
}

fn addresses(row: Row<'_>, report: &mut Report) -> Option<Vec<Prefix>> {
    let place = row.place(Some(ADDRESSES));
    let (addresses, complaints) = prefixes(row.field(ADDRESSES));
    let sound = complaints.is_empty();
    complaints.into_iter().for_each(|complaint| report.add(place, complaint));
    if sound && addresses.is_empty() {
        report.add(place, Complaint::new("a circuit without an address would never receive a packet"));
        return None;
    }
    sound.then_some(addresses)
}

#[cfg(test)]
#[path = "circuits_tests.rs"]
mod tests;
