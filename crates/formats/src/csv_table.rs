//! A CSV file whose first line names its columns, with the place of every field for messages.

use crate::error::{Complaint, Origin, Place, Report};
use crate::suggest::{brief, did_you_mean};
use csv::{ReaderBuilder, StringRecord, Trim};

/// The columns that a file may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    /// Their names, those that are required first.
    pub(crate) names: &'static [&'static str],
    /// Number of required ones.
    pub(crate) needed: usize,
}

/// A file that is read: its text, and the position of each column in a line.
#[derive(Debug)]
pub(crate) struct CsvTable {
    pub(crate) origin: Origin,
    columns: Columns,
    fields: Vec<Option<usize>>,
}

/// A line of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    table: &'a CsvTable,
    record: &'a StringRecord,
    /// First byte of the line.
    pub(crate) start: usize,
}

impl CsvTable {
    /// Reads a text, and hands each line after the first to `row`, until the report is full.
    pub(crate) fn read(
        origin: Origin,
        columns: Columns,
        report: &mut Report,
        mut row: impl FnMut(Row<'_>, &mut Report),
    ) -> CsvTable {
        let text = origin.text();
        let mut table = CsvTable { origin, columns, fields: vec![None; columns.names.len()] };
        let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let skipped = text.len() - bare.len();
        let mut csv = ReaderBuilder::new();
        let mut csv = csv
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(Trim::All)
            .from_reader(bare.as_bytes());
        let mut record = StringRecord::new();
        let mut width = None;
        loop {
            match csv.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    report.add(Place::File, Complaint::new(format!("is no CSV file: {error}")));
                    break;
                }
            }
            let start = record.position().map_or(0, |position| position.byte() as usize) + skipped;
            if record.len() == 1 && record[0].is_empty() {
                continue;
            }
            let Some(width) = width else {
                width = Some(record.len());
                table.header(&record, start, report);
                if report.is_full() || table.fields[..columns.needed].contains(&None) {
                    break;
                }
                continue;
            };
            if record.len() != width {
                let message = format!("this line has {} fields, and the first has {width}", record.len());
                let complaint =
                    Complaint::new(message).help("a field that has a comma in it stands in quotes");
                report.add(table.place(start, None), complaint);
            } else {
                row(Row { table: &table, record: &record, start }, report);
            }
            if report.is_full() {
                break;
            }
        }
        if width.is_none() {
            let complaint =
                Complaint::new("is empty").help(format!("its first line is {}", columns.names.join(",")));
            report.add(Place::File, complaint);
        }
        table
    }

    fn header(&mut self, record: &StringRecord, start: usize, report: &mut Report) {
        let Columns { names, needed } = self.columns;
        for (field, name) in record.iter().enumerate() {
            let place = self.field_place(start, Some(field));
            match names.iter().position(|known| *known == name) {
                None => {
                    let mut complaint = Complaint::new(format!("there is no column `{}`", brief(name)));
                    complaint.help = did_you_mean(name, names.iter().copied());
                    report.add(place, complaint);
                }
                Some(column) if self.fields[column].is_some() => {
                    report.add(place, Complaint::new(format!("column `{name}` appears twice")));
                }
                Some(column) => self.fields[column] = Some(field),
            }
        }
        for column in (0..needed).filter(|column| self.fields[*column].is_none()) {
            let complaint = Complaint::new(format!("there is no column `{}`", names[column]))
                .help(format!("the first line names the columns: {}", names.join(",")));
            report.add(self.place(start, None), complaint);
        }
    }

    /// The place of a column's field in the line that starts there, or of the line.
    pub(crate) fn place(&self, start: usize, column: Option<usize>) -> Place {
        self.field_place(start, column.and_then(|column| self.fields[column]))
    }

    fn field_place(&self, start: usize, field: Option<usize>) -> Place {
        let text = self.origin.text();
        let rest = text.get(start..).unwrap_or_default();
        let (from, to) = match field {
            Some(field) => field_range(rest, field),
            None => (0, rest.lines().next().map_or(0, str::len)),
        };
        let at = |offset: usize| u32::try_from(start + offset).unwrap_or(u32::MAX);
        Place::Text { start: at(from), end: at(to) }
    }

    /// The number, from 1, of the line that starts there.
    pub(crate) fn line(&self, start: usize) -> usize {
        1 + self.origin.text().bytes().take(start).filter(|byte| *byte == b'\n').count()
    }
}

impl<'a> Row<'a> {
    /// The text of a column; empty where the file does not have it.
    pub(crate) fn field(&self, column: usize) -> &'a str {
        self.table.fields[column].and_then(|field| self.record.get(field)).unwrap_or_default()
    }

    /// The place of a column's field, or of the line.
    pub(crate) fn place(&self, column: Option<usize>) -> Place {
        self.table.place(self.start, column)
    }

    /// The number, from 1, of the line that starts there.
    pub(crate) fn line(&self, start: usize) -> usize {
        self.table.line(start)
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
