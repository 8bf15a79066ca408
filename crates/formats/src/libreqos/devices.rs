//! `ShapedDevices.csv`: the devices of each circuit, and what the circuit may send.

use super::mbps::Mbps;
use super::queues::Queues;
use crate::csv_table::{Columns, CsvTable, Row};
use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place, Report};
use crate::keys::gate::Within;
use crate::prefix::prefixes;
use crate::suggest::brief;
use crate::units::show_rate;
use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Prefix;

const COLUMNS: Columns = Columns {
    names: &[
        "Circuit ID",
        "Parent Node",
        "IPv4",
        "IPv6",
        "Upload Min Mbps",
        "Download Min Mbps",
        "Upload Max Mbps",
        "Download Max Mbps",
        "Circuit Name",
        "Device ID",
        "Device Name",
        "MAC",
        "Comment",
        "sqm",
    ],
    needed: 8,
};
/// Column of the circuit's ID.
pub(crate) const CIRCUIT: usize = 0;
const PARENT: usize = 1;
const ADDRESSES: [usize; 2] = [2, 3];
/// Columns of the least rates, up first.
pub(crate) const LEAST: [usize; 2] = [4, 5];
/// Columns of the most rates, up first.
pub(crate) const MOST: [usize; 2] = [6, 7];
const SQM: usize = 13;

/// The longest ID of a circuit, in bytes.
const LONGEST_ID: usize = 128;

/// A circuit, which may have several devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Circuit {
    /// Its ID.
    pub(super) name: String,
    /// The node that it is part of; empty for none.
    pub(super) parent: String,
    pub(super) addresses: Vec<Prefix>,
    /// The rates that it has at least and at most in each direction, up first, in bit/s; 0 for no
    /// least rate.
    pub(super) least: [u64; 2],
    pub(super) most: [u64; 2],
    /// First byte of its first line.
    pub(super) start: usize,
    /// The place at which the first of its devices asks for FQ-CoDel.
    pub(super) fq_codel: Option<Place>,
}

/// A list of circuits.
pub(super) struct Devices {
    pub(super) circuits: Vec<Circuit>,
    queues: Queues,
    pub(super) table: CsvTable,
}

/// Returns true for the text of a `ShapedDevices.csv`: its first line has a column `Circuit ID`.
pub(crate) fn is_list(text: &str) -> bool {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = bare.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let unquoted = |field: &str| field.trim().trim_matches('"').trim() == COLUMNS.names[CIRCUIT];
    first.is_some_and(|line| line.split(',').any(unquoted))
}

impl Devices {
    /// Reads a `ShapedDevices.csv`.
    pub(super) fn parse(text: &str, file_name: &str) -> Result<Devices, FormatErrors> {
        let mut reader = Reader::default();
        let mut report = Report::default();
        let origin = Origin::new(file_name, text, &[]);
        let table = CsvTable::read(origin, COLUMNS, &mut report, |row, report| reader.device(row, report));
        report.check(&table.origin)?;
        let Reader { circuits, queues, .. } = reader;
        Ok(Devices { circuits, queues, table })
    }

    /// The division of circuits that is nearest to the list's queue management.
    pub(super) fn within(&self) -> Within {
        self.queues.within()
    }

    /// Devices whose queue management is another in circuits that are divided in this way.
    pub(super) fn losses(&self, within: Within) -> Vec<FormatError> {
        let circuits = self.circuits.iter().map(|circuit| (circuit.addresses.as_slice(), circuit.fq_codel));
        let losses = self.queues.losses(within, circuits).into_iter();
        losses.map(|(place, loss)| self.table.origin.error(place, loss)).collect()
    }

    /// A mistake in the line of a circuit, at its parent.
    pub(super) fn error_at_parent(&self, circuit: &Circuit, complaint: Complaint) -> FormatError {
        self.table.origin.error(self.table.place(circuit.start, Some(PARENT)), complaint)
    }

    /// A mistake of the list as a whole.
    pub(super) fn error(&self, complaint: Complaint) -> FormatError {
        self.table.origin.error(Place::File, complaint)
    }
}

#[derive(Default)]
struct Reader {
    circuits: Vec<Circuit>,
    /// Index of each circuit.
    by_name: BTreeMap<String, usize>,
    /// First byte of the line that has each prefix.
    owners: BTreeMap<Prefix, usize>,
    queues: Queues,
}

impl Reader {
    /// Reads the line of a device.
    fn device(&mut self, row: Row<'_>, report: &mut Report) {
        let name = row.field(CIRCUIT);
        if name.is_empty() || name.len() > LONGEST_ID || name.contains(|c: char| c == '#' || c.is_control()) {
            let complaint = Complaint::new("this is not the ID of a circuit").help(format!(
                "an ID is a number or a word of at most {LONGEST_ID} bytes without `#`, and each circuit has one \
                 of its own"
            ));
            return report.add(row.place(Some(CIRCUIT)), complaint);
        }
        let addresses = self.addresses(row, report);
        let mut rate = |column: usize, may_be_none: bool| {
            let text = row.field(column);
            if may_be_none && text.parse() == Ok(0.0) {
                return Some(0);
            }
            let read = Mbps::read(text).map_err(|complaint| report.add(row.place(Some(column)), complaint));
            read.ok().map(|rate| rate.0)
        };
        let least = LEAST.map(|column| rate(column, true));
        let most = MOST.map(|column| rate(column, false));
        let ([Some(up), Some(down)], [Some(most_up), Some(most_down)]) = (least, most) else { return };
        let (least, most) = ([up, down], [most_up, most_down]);
        for direction in [0, 1] {
            if least[direction] > most[direction] {
                let message = format!(
                    "the least rate, {}, is above the most, {}",
                    show_rate(least[direction]),
                    show_rate(most[direction])
                );
                return report.add(row.place(Some(LEAST[direction])), Complaint::new(message));
            }
        }
        let fq_codel = self.queues.read(row.field(SQM), row.place(Some(SQM)), report);
        let parent = row.field(PARENT).to_owned();
        match self.by_name.get(name).copied() {
            Some(known) => {
                if let Some(complaint) = self.differs(known, &parent, least, most, row) {
                    return report.add(row.place(Some(CIRCUIT)), complaint);
                }
                let known = &mut self.circuits[known];
                known.addresses.extend(addresses);
                known.fq_codel = known.fq_codel.or(fq_codel);
            }
            None => {
                self.by_name.insert(name.to_owned(), self.circuits.len());
                let (name, start) = (name.to_owned(), row.start);
                self.circuits.push(Circuit { name, parent, addresses, least, most, start, fq_codel });
            }
        }
    }

    /// A complaint if a further device of a circuit has other terms than the first.
    fn differs(
        &self,
        known: usize,
        parent: &str,
        least: [u64; 2],
        most: [u64; 2],
        row: Row<'_>,
    ) -> Option<Complaint> {
        let first = &self.circuits[known];
        let what = if first.parent != parent {
            "another `Parent Node`"
        } else if (first.least, first.most) != (least, most) {
            "other rates"
        } else {
            return None;
        };
        let message = format!(
            "circuit `{}` has {what} here than in line {}",
            brief(&first.name),
            row.line(first.start)
        );
        Some(
            Complaint::new(message)
                .help("the devices of a circuit share what it has; others need another ID"),
        )
    }

    fn addresses(&mut self, row: Row<'_>, report: &mut Report) -> Vec<Prefix> {
        let mut all = Vec::new();
        for column in ADDRESSES {
            let place = row.place(Some(column));
            let (addresses, complaints) = prefixes(row.field(column));
            complaints.into_iter().for_each(|complaint| report.add(place, complaint));
            for prefix in addresses {
                match self.owners.insert(prefix, row.start) {
                    None => all.push(prefix),
                    Some(before) if before == row.start => {
                        report.add(place, Complaint::new(format!("{prefix} is listed twice")));
                    }
                    Some(before) => {
                        let message = format!("{prefix} is already in line {}", row.line(before));
                        report.add(place, Complaint::new(message));
                    }
                }
            }
        }
        if ADDRESSES.iter().all(|column| row.field(*column).is_empty()) {
            let complaint = Complaint::new("a device without an address would never receive a packet")
                .help("a MAC address is not enough");
            report.add(row.place(None), complaint);
        }
        all
    }
}
