//! A result table: columns of values, filled row by row.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use tidegate_formats::columns::{Cell, ColumnType, Row, TableRecord};

/// One column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text that repeats: an index into `words` for each row.
    Text {
        /// For each row.
        keys: Vec<u32>,
        /// The words, in order of first appearance.
        words: Vec<String>,
    },
    /// Whole numbers.
    Whole(Vec<u64>),
    /// Numbers; `None` where nothing was measured.
    Number(Vec<Option<f64>>),
}

impl Values {
    fn new(column_type: ColumnType) -> Values {
        match column_type {
            ColumnType::Text => Values::Text { keys: Vec::new(), words: Vec::new() },
            ColumnType::Whole => Values::Whole(Vec::new()),
            ColumnType::Number => Values::Number(Vec::new()),
        }
    }
}

/// A result table: columns as its record describes them.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name and columns.
    pub record: &'static TableRecord,
    /// Values, by column.
    pub columns: Vec<Values>,
}

impl Table {
    /// Returns the values of a column; `None` when the table has no column of that name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        let at = self.record.columns.iter().position(|column| column.name == name)?;
        self.columns.get(at)
    }
}

/// The rows of a table of one replication, each an `R`.
#[derive(Debug)]
pub(super) struct Rows<R> {
    table: Table,
    /// The key of each word, by column.
    keys: Vec<BTreeMap<String, u32>>,
    replication: u64,
    seed: u64,
    row: PhantomData<R>,
}

impl<R: Row> Rows<R> {
    /// Creates the table of these rows without one.
    pub(super) fn new(replication: u64, seed: u64) -> Rows<R> {
        let columns = R::TABLE.columns.iter().map(|column| Values::new(column.column_type)).collect();
        let keys = vec![BTreeMap::new(); R::TABLE.columns.len()];
        Rows { table: Table { record: R::TABLE, columns }, keys, replication, seed, row: PhantomData }
    }

    /// Adds a row, behind the columns of its replication.
    pub(super) fn row(&mut self, row: R::With<'_>) {
        let run = [Cell::Whole(self.replication), Cell::Whole(self.seed)];
        let columns = self.table.columns.iter_mut().zip(&mut self.keys);
        for ((values, keys), cell) in columns.zip(run.into_iter().chain(row.cells())) {
            put(values, keys, cell);
        }
    }

    /// Returns the table.
    pub(super) fn finish(self) -> Table {
        self.table
    }
}

/// Appends a cell to its column; `known` has the keys of the column's words.
fn put(values: &mut Values, known: &mut BTreeMap<String, u32>, cell: Cell<'_>) {
    match (values, cell) {
        (Values::Text { keys, words }, Cell::Text(text)) => {
            let key = known.get(text).copied().unwrap_or_else(|| {
                let key = words.len() as u32;
                words.push(text.to_owned());
                known.insert(text.to_owned(), key);
                key
            });
            keys.push(key);
        }
        (Values::Whole(values), Cell::Whole(value)) => values.push(value),
        (Values::Number(values), Cell::Number(value)) => values.push(value),
        // One declaration gives both types.
        (values, cell) => unreachable!("{cell:?} in a column of {values:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_formats::columns::SeriesRow;

    #[test]
    fn a_value_is_found_under_the_name_with_which_it_was_given() {
        let mut rows = Rows::<SeriesRow<'_>>::new(3, 7);
        let row = SeriesRow { subject: "voice", time: 0.5, metric: "queue", value: None };
        rows.row(row);
        rows.row(SeriesRow { value: Some(0.75), ..row });
        rows.row(SeriesRow { subject: &String::from("data"), time: 1.5, ..row });
        let text = |keys: [u32; 3], words: &[&str]| Values::Text {
            keys: keys.to_vec(),
            words: words.iter().map(|word| String::from(*word)).collect(),
        };
        let expected = [
            ("replication", Values::Whole(vec![3; 3])),
            ("seed", Values::Whole(vec![7; 3])),
            ("subject", text([0, 0, 1], &["voice", "data"])),
            ("time", Values::Number(vec![Some(0.5), Some(0.5), Some(1.5)])),
            ("metric", text([0, 0, 0], &["queue"])),
            ("value", Values::Number(vec![None, Some(0.75), None])),
        ];
        let table = rows.finish();
        assert_eq!(expected.len(), table.columns.len());
        for (name, values) in expected {
            assert_eq!(table.column(name), Some(&values), "{name}");
        }
        assert_eq!(table.column("values"), None);
    }
}
