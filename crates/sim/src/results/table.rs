//! A result table: columns of values, filled row by row and by column name.

use std::collections::BTreeMap;
use tidegate_formats::{ColumnType, TABLES, TableRecord};

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

    /// Returns the number of rows.
    fn len(&self) -> usize {
        match self {
            Values::Text { keys, .. } => keys.len(),
            Values::Whole(values) => values.len(),
            Values::Number(values) => values.len(),
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

/// The value of one column in one row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Text(&'a str),
    Whole(u64),
    Number(Option<f64>),
}

/// The rows of a table of one replication. The code that fills them and the table's record both
/// list the names of the columns: any difference is a panic, at the first row.
#[derive(Debug)]
pub(super) struct Rows {
    table: Table,
    /// The key of each word, by column.
    keys: Vec<BTreeMap<String, u32>>,
    rows: usize,
    replication: u64,
    seed: u64,
}

impl Rows {
    /// Creates the table `name` without rows.
    ///
    /// # Panics
    /// There is no table of that name.
    pub(super) fn new(name: &str, replication: u64, seed: u64) -> Rows {
        let Some(record) = TABLES.iter().find(|record| record.name == name) else {
            panic!("there is no table `{name}`");
        };
        let columns = record.columns.iter().map(|column| Values::new(column.column_type)).collect();
        let keys = vec![BTreeMap::new(); record.columns.len()];
        Rows { table: Table { record, columns }, keys, rows: 0, replication, seed }
    }

    /// Adds a row: the replication, its seed, and these cells in any order; in the order of the
    /// columns no search is needed.
    ///
    /// # Panics
    /// A column is unknown, missing, filled twice, or of another type.
    pub(super) fn row<const N: usize>(&mut self, cells: [(&str, Cell<'_>); N]) {
        let run = [("replication", Cell::Whole(self.replication)), ("seed", Cell::Whole(self.seed))];
        for (expected, (name, cell)) in run.into_iter().chain(cells).enumerate() {
            self.fill(expected, name, cell);
        }
        self.rows += 1;
        if let Some(at) = self.table.columns.iter().position(|values| values.len() != self.rows) {
            let Table { record, columns } = &self.table;
            let often = if columns[at].len() < self.rows { "not filled" } else { "filled twice" };
            panic!("column `{}` of table `{}` is {often}", record.columns[at].name, record.name);
        }
    }

    /// Puts a cell into the column `name`, which is probably the one at `expected`.
    fn fill(&mut self, expected: usize, name: &str, cell: Cell<'_>) {
        let record = self.table.record;
        let at = match record.columns.get(expected) {
            Some(column) if column.name == name => Some(expected),
            _ => record.columns.iter().position(|column| column.name == name),
        };
        let Some(at) = at else { panic!("table `{}` has no column `{name}`", record.name) };
        match (&mut self.table.columns[at], cell) {
            (Values::Text { keys, words }, Cell::Text(text)) => {
                let known = &mut self.keys[at];
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
            (_, cell) => panic!("column `{name}` of table `{}` does not hold {cell:?}", record.name),
        }
    }

    /// Returns the table.
    pub(super) fn finish(self) -> Table {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cell::{Number, Text, Whole};

    type Cells<'a> = [(&'a str, Cell<'a>); 5];

    /// Returns a row of the table `histogram`.
    fn cells(count: u64) -> Cells<'static> {
        [
            ("group", Text("voice")),
            ("metric", Text("delay")),
            ("lower", Number(Some(0.5))),
            ("upper", Number(None)),
            ("count", Whole(count)),
        ]
    }

    fn table(rows: &[Cells<'_>]) -> Table {
        let mut made = Rows::new("histogram", 3, 7);
        rows.iter().for_each(|cells| made.row(*cells));
        made.finish()
    }

    #[test]
    fn a_value_is_found_under_the_name_with_which_it_was_filled_in_any_order() {
        let mut turned = cells(2);
        for _ in 0..turned.len() {
            turned.rotate_left(1);
            let table = table(&[cells(1), turned]);
            let words = |word: &str| Values::Text { keys: vec![0, 0], words: vec![word.to_owned()] };
            let expected = [
                ("replication", Values::Whole(vec![3, 3])),
                ("seed", Values::Whole(vec![7, 7])),
                ("group", words("voice")),
                ("metric", words("delay")),
                ("lower", Values::Number(vec![Some(0.5); 2])),
                ("upper", Values::Number(vec![None; 2])),
                ("count", Values::Whole(vec![1, 2])),
            ];
            assert_eq!(expected.len(), table.columns.len());
            for (name, values) in expected {
                assert_eq!(table.column(name), Some(&values), "{name}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "table `histogram` has no column `counts`")]
    fn an_unknown_column_is_refused() {
        let mut cells = cells(1);
        cells[4].0 = "counts";
        table(&[cells]);
    }

    #[test]
    #[should_panic(expected = "column `count` of table `histogram` is not filled")]
    fn a_missing_column_is_refused() {
        let [group, metric, lower, upper, _] = cells(1);
        Rows::new("histogram", 0, 1).row([group, metric, lower, upper]);
    }

    #[test]
    #[should_panic(expected = "column `lower` of table `histogram` is filled twice")]
    fn a_column_that_is_filled_twice_is_refused() {
        let mut cells = cells(1);
        cells[3] = cells[2];
        table(&[cells]);
    }

    #[test]
    #[should_panic(expected = "column `count` of table `histogram` does not hold Number(None)")]
    fn a_value_of_another_type_is_refused() {
        let mut cells = cells(1);
        cells[4].1 = Number(None);
        table(&[cells]);
    }
}
