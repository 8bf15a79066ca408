//! A column of a result table: the type of its values, its unit and its help.

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text that repeats.
    Text,
    /// A whole number, 0 to 2⁶³ − 1: differences of two have a sign.
    Whole,
    /// A 64-bit float; null where nothing was measured.
    Number,
}

/// One column of a result table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    pub column_type: ColumnType,
    /// True if values may be null.
    pub optional: bool,
    /// Unit of its values, as `bit/s`; empty for counts, names and ratios.
    pub unit: &'static str,
    /// One sentence for a person.
    pub help: &'static str,
}

/// The value of one column in one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// In a column of [`ColumnType::Text`].
    Text(&'a str),
    /// In a column of [`ColumnType::Whole`].
    Whole(u64),
    /// In a column of [`ColumnType::Number`].
    Number(Option<f64>),
}

/// A type that a column may have.
pub trait ColumnValue {
    /// Type of the column's values.
    const COLUMN_TYPE: ColumnType;

    /// True if a row may be without a value.
    const OPTIONAL: bool = false;

    /// The value that a row gives.
    type Given<'a>: Copy + core::fmt::Debug + Into<Cell<'a>>;
}

impl ColumnValue for str {
    const COLUMN_TYPE: ColumnType = ColumnType::Text;
    type Given<'a> = &'a str;
}

impl ColumnValue for u64 {
    const COLUMN_TYPE: ColumnType = ColumnType::Whole;
    type Given<'a> = u64;
}

impl ColumnValue for f64 {
    const COLUMN_TYPE: ColumnType = ColumnType::Number;
    type Given<'a> = f64;
}

impl ColumnValue for Option<f64> {
    const COLUMN_TYPE: ColumnType = ColumnType::Number;
    const OPTIONAL: bool = true;
    type Given<'a> = Option<f64>;
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Whole(number)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Number(Some(number))
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(number: Option<f64>) -> Self {
        Cell::Number(number)
    }
}

/// Unit and help of a column.
pub(super) struct Description {
    unit: &'static str,
    help: &'static str,
}

impl Description {
    pub(super) const fn new(unit: &'static str, help: &'static str) -> Description {
        Description { unit, help }
    }
}

impl Column {
    pub(super) const fn new<T: ColumnValue + ?Sized>(name: &'static str, description: Description) -> Column {
        let Description { unit, help } = description;
        Column { name, column_type: T::COLUMN_TYPE, optional: T::OPTIONAL, unit, help }
    }
}
