//! The circuits of a gate: a CSV file with a line for each, as the operators of networks keep them.

use super::{DirectionTerms, GateClass, GateFlow};
use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place, Report};
use crate::file;
use crate::keys::gate::Flow;
use crate::section::Placed;
use crate::suggest::{brief, did_you_mean};
use crate::units::parse_rate;
use csv::{ReaderBuilder, StringRecord, Trim};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tidegate_core::classifier::addresses::GivenTwice;
use tidegate_core::classifier::circuits::{self, Circuit, Circuits};
use tidegate_core::classifier::rules::{NotAPrefix, Prefix};
use tidegate_core::units::Rate;

/// The columns; the first two are required.
const COLUMNS: [&str; 7] =
    ["name", "addresses", "class", "up_reserve", "up_ceiling", "down_reserve", "down_ceiling"];
const NEEDED: usize = 2;
const NAME: usize = 0;
const ADDRESSES: usize = 1;
const CLASS: usize = 2;
const FIRST_RATE: usize = 3;

/// The largest list, in bytes: room for half a million circuits.
const LARGEST: usize = 64 << 20;
/// The longest name of a circuit, in bytes.
const LONGEST_NAME: usize = 128;

/// Circuits as they were read, with the place of each.
pub(super) struct Listing {
    pub(super) circuits: Arc<Circuits>,
    origin: Origin,
    /// Position of each column in a line.
    columns: [Option<usize>; COLUMNS.len()],
    /// First byte of each circuit's line.
    starts: Vec<u32>,
}

/// Reads the lists of circuits that flows name, and attaches them to the flows. `None` once a
/// mistake was reported.
pub(super) fn attach(
    flows: &mut [GateFlow],
    stated: &[Placed<Flow>],
    classes: &[GateClass],
    base_dir: &Path,
    report: &mut Report,
) -> Option<Vec<Option<Listing>>> {
    let mut listings = Vec::with_capacity(flows.len());
    for (flow, keys) in flows.iter_mut().zip(stated) {
        let listing = match keys.circuits.as_ref() {
            None => Some(None),
            Some(path) => match read(&base_dir.join(path), flow, classes) {
                Ok(listing) => Some(Some(listing)),
                Err(errors) => {
                    report.say_elsewhere(errors);
                    None
                }
            },
        };
        flow.circuits = listing.iter().flatten().next().map(|listing| Arc::clone(&listing.circuits));
        listings.push(listing);
    }
    listings.into_iter().collect()
}

/// Reads the list at `path` for a flow.
fn read(path: &Path, flow: &GateFlow, classes: &[GateClass]) -> Result<Listing, FormatErrors> {
    let name = path.display().to_string();
    match file::read_text(path, "list of circuits", "CSV", LARGEST) {
        Ok(text) => parse(&text, &name, flow, classes),
        Err(complaint) => Err(Origin::new(&name, "", &[]).error(Place::File, complaint).into()),
    }
}

fn parse(
    text: &str,
    file_name: &str,
    flow: &GateFlow,
    classes: &[GateClass],
) -> Result<Listing, FormatErrors> {
    let origin = Origin::new(file_name, text, &[]);
    let listing =
        Listing { circuits: Arc::default(), origin, columns: Default::default(), starts: Vec::new() };
    let by_name =
        classes.iter().enumerate().map(|(index, class)| (class.class.name.as_str(), index)).collect();
    let parents = classes.iter().filter_map(|class| class.class.parent).collect();
    let reader = Reader {
        listing,
        flow,
        classes: by_name,
        parents,
        names: BTreeMap::new(),
        report: Report::default(),
    };
    reader.read(text)
}

impl Listing {
    /// A mistake in a circuit's line, at a column if the line has it.
    pub(super) fn error(&self, circuit: u32, column: &str, complaint: Complaint) -> FormatError {
        let start = self.starts.get(circuit as usize).copied().unwrap_or_default();
        let column = COLUMNS.iter().position(|name| *name == column).and_then(|column| self.columns[column]);
        self.origin.error(self.place(start as usize, column), complaint)
    }

    /// The place of a line's field, or of the line.
    fn place(&self, start: usize, field: Option<usize>) -> Place {
        let text = self.origin.text();
        let rest = text.get(start..).unwrap_or_default();
        let (from, to) = match field {
            Some(field) => field_range(rest, field),
            None => (0, rest.lines().next().map_or(0, str::len)),
        };
        let at = |offset: usize| u32::try_from(start + offset).unwrap_or(u32::MAX);
        Place::Text { start: at(from), end: at(to) }
    }
}

/// Range of the field in the line that `text` starts with.
fn field_range(text: &str, field: usize) -> (usize, usize) {
    let (mut at, mut start, mut quoted) = (0, 0, false);
    for (offset, byte) in text.bytes().chain([b'\n']).enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' | b'\n' if !quoted => {
                if at == field {
                    let raw = &text[start..offset];
                    let from = start + raw.len() - raw.trim_start().len();
                    return (from, from + raw.trim().len());
                }
                if byte == b'\n' {
                    return (start, offset);
                }
                (at, start) = (at + 1, offset + 1);
            }
            _ => {}
        }
    }
    (0, 0)
}

struct Reader<'a> {
    listing: Listing,
    flow: &'a GateFlow,
    classes: BTreeMap<&'a str, usize>,
    /// Classes that have classes in them.
    parents: Vec<usize>,
    /// Start of each name's line.
    names: BTreeMap<String, usize>,
    report: Report,
}

impl Reader<'_> {
    fn read(mut self, text: &str) -> Result<Listing, FormatErrors> {
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let skipped = text.len() - bare.len();
        let mut csv = ReaderBuilder::new();
        let mut csv = csv
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(Trim::All)
            .from_reader(bare.as_bytes());
        let mut circuits = Vec::new();
        let mut record = StringRecord::new();
        let mut width = None;
        loop {
            match csv.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.report.add(Place::File, Complaint::new(format!("is no CSV file: {error}")));
                    break;
                }
            }
            let start = record.position().map_or(0, |position| position.byte() as usize) + skipped;
            if record.len() == 1 && record[0].is_empty() {
                continue;
            }
            let Some(width) = width else {
                width = Some(record.len());
                self.header(&record, start);
                if self.report.is_full() || self.listing.columns[..NEEDED].contains(&None) {
                    break;
                }
                continue;
            };
            if record.len() != width {
                let message = format!("this line has {} fields, and the first has {width}", record.len());
                let complaint =
                    Complaint::new(message).help("a field that has a comma in it stands in quotes");
                self.report.add(self.listing.place(start, None), complaint);
            } else if let Some(circuit) = self.circuit(&record, start) {
                circuits.push(circuit);
                self.listing.starts.push(u32::try_from(start).unwrap_or(u32::MAX));
            }
            if self.report.is_full() {
                break;
            }
        }
        if width.is_none() {
            let complaint =
                Complaint::new("is empty").help(format!("its first line is {}", COLUMNS.join(",")));
            self.report.add(Place::File, complaint);
        }
        // Only the list without other mistakes has the numbers that its lines have.
        self.report.check(&self.listing.origin)?;
        match Circuits::new(circuits) {
            Ok(circuits) => self.listing.circuits = Arc::new(circuits),
            Err(twice) => twice.into_iter().for_each(|twice| self.given_twice(twice)),
        }
        self.report.check(&self.listing.origin)?;
        Ok(self.listing)
    }

    fn header(&mut self, record: &StringRecord, start: usize) {
        for (field, name) in record.iter().enumerate() {
            let place = self.listing.place(start, Some(field));
            match COLUMNS.iter().position(|known| *known == name) {
                None => {
                    let mut complaint = Complaint::new(format!("there is no column `{}`", brief(name)));
                    complaint.help = did_you_mean(name, COLUMNS);
                    self.report.add(place, complaint);
                }
                Some(column) if self.listing.columns[column].is_some() => {
                    self.report.add(place, Complaint::new(format!("column `{name}` appears twice")));
                }
                Some(column) => self.listing.columns[column] = Some(field),
            }
        }
        for column in (0..NEEDED).filter(|column| self.listing.columns[*column].is_none()) {
            let complaint = Complaint::new(format!("there is no column `{}`", COLUMNS[column]))
                .help(format!("the first line names the columns: {}", COLUMNS.join(",")));
            self.report.add(self.listing.place(start, None), complaint);
        }
    }

    /// The circuit of a line; `None` after something was reported.
    fn circuit(&mut self, record: &StringRecord, start: usize) -> Option<Circuit> {
        let columns = self.listing.columns;
        let field = |column: usize| columns[column].and_then(|field| record.get(field)).unwrap_or_default();
        let name = field(NAME);
        let named = self.name(name, start);
        let addresses = self.addresses(field(ADDRESSES), start);
        let class = match field(CLASS) {
            "" => Some(None),
            class => self.class(class, start).map(Some),
        };
        let mut rates = [None; 4];
        let mut sound = true;
        for (ix, rate) in rates.iter_mut().enumerate() {
            match field(FIRST_RATE + ix) {
                "" => {}
                text => match parse_rate(text) {
                    Ok(bits) => *rate = Some(bits),
                    Err(complaint) => {
                        sound = false;
                        self.complain(start, FIRST_RATE + ix, complaint);
                    }
                },
            }
        }
        let [up_reserve, up_ceiling, down_reserve, down_ceiling] = rates;
        let own = [
            DirectionTerms { reserve: up_reserve, ceiling: up_ceiling },
            DirectionTerms { reserve: down_reserve, ceiling: down_ceiling },
        ];
        for (direction, (own, common)) in own.iter().zip(&self.flow.terms).enumerate() {
            let whole = DirectionTerms {
                reserve: own.reserve.or(common.reserve),
                ceiling: own.ceiling.or(common.ceiling),
            };
            let column = FIRST_RATE + 2 * direction + usize::from(own.ceiling.is_some());
            whole.check(self.listing.place(start, columns[column]), &mut self.report);
        }
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

    fn complain(&mut self, start: usize, column: usize, complaint: Complaint) {
        self.report.add(self.listing.place(start, self.listing.columns[column]), complaint);
    }

    fn name(&mut self, name: &str, start: usize) -> Option<()> {
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            let complaint = Complaint::new("this is not the name of a circuit")
                .help(format!("a name has 1 to {LONGEST_NAME} bytes in one line"));
            self.complain(start, NAME, complaint);
            return None;
        }
        if let Some(before) = self.names.insert(name.to_owned(), start) {
            let message =
                format!("there is already a circuit `{}` in line {}", brief(name), self.line(before));
            self.complain(start, NAME, Complaint::new(message));
            return None;
        }
        Some(())
    }

    /// The number, from 1, of the line that starts there.
    fn line(&self, start: usize) -> usize {
        1 + self.listing.origin.text().bytes().take(start).filter(|byte| *byte == b'\n').count()
    }

    fn addresses(&mut self, field: &str, start: usize) -> Option<Vec<Prefix>> {
        let texts = field.split([' ', ';', ',', '\t', '\n', '\r']).filter(|text| !text.is_empty());
        let mut addresses = Vec::new();
        let mut sound = true;
        for text in texts {
            let complaint = match text.parse() {
                Ok(prefix) => {
                    addresses.push(prefix);
                    continue;
                }
                Err(NotAPrefix::Text) => Complaint::new(format!(
                    "`{}` is neither an address nor a prefix",
                    brief(text)
                ))
                .help(
                    "write it as in 10.0.0.1, 10.0.0.0/24 or 2001:db8::/32, several with spaces between them",
                ),
                Err(NotAPrefix::HostBits(network)) => {
                    Complaint::new(format!("`{}` has bits beyond its prefix", brief(text)))
                        .help(format!("did you mean `{network}`?"))
                }
            };
            sound = false;
            self.complain(start, ADDRESSES, complaint);
        }
        if sound && addresses.is_empty() {
            let complaint = Complaint::new("a circuit without an address would never receive a packet");
            self.complain(start, ADDRESSES, complaint);
            return None;
        }
        sound.then_some(addresses)
    }

    fn class(&mut self, name: &str, start: usize) -> Option<usize> {
        let Some(class) = self.classes.get(name).copied() else {
            let mut complaint = Complaint::new(format!("there is no class `{}`", brief(name)));
            complaint.help = did_you_mean(name, self.classes.keys().copied())
                .or_else(|| Some("add a [[class]] to the gate file".to_owned()));
            self.complain(start, CLASS, complaint);
            return None;
        };
        if self.parents.contains(&class) {
            let complaint =
                Complaint::new(format!("class `{name}` has classes in it, so no circuit can be in it"))
                    .help("put the circuit into one of those classes");
            self.complain(start, CLASS, complaint);
            return None;
        }
        Some(class)
    }

    fn given_twice(&mut self, twice: GivenTwice) {
        if self.report.is_full() {
            return;
        }
        let GivenTwice { prefix, owners: [first, second] } = twice;
        let start = |owner: u32| self.listing.starts.get(owner as usize).map_or(0, |start| *start as usize);
        let message = if first == second {
            format!("{prefix} is listed twice")
        } else {
            let owner = self.names.iter().find(|(_, at)| **at == start(first)).map(|(name, _)| brief(name));
            format!(
                "{prefix} is already `{}`'s, in line {}",
                owner.unwrap_or_default(),
                self.line(start(first))
            )
        };
        self.complain(start(second), ADDRESSES, Complaint::new(message));
    }
}

#[cfg(test)]
#[path = "circuits_tests.rs"]
mod tests;
