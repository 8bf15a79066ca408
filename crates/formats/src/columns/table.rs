//! A result table as a row struct: its columns, and the cells of a row.

use super::column::{Cell, Column, Description};

/// One result table.
#[derive(Clone, Copy, Debug)]
pub struct TableRecord {
    /// Its name.
    pub name: &'static str,
    /// One sentence for a person.
    pub help: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

/// A row of a result table; written by `table!`.
pub trait Row {
    /// The table: the columns of its replication, then those of the row.
    const TABLE: &'static TableRecord;

    /// The row with texts of another lifetime.
    type With<'a>: Row;

    /// Returns the row's cells in the order of its columns.
    fn cells(&self) -> impl Iterator<Item = Cell<'_>>;
}

pub(super) const REPLICATION: Column =
    Column::new::<u64>("replication", Description::new("", "Replication, from 0: one seed of one scenario"));
pub(super) const SEED: Column = Column::new::<u64>("seed", Description::new("", "Seed of the replication"));

/// Writes the struct of a table's rows. The struct's comment is the table's help, and a field's
/// comment is the column's. The type is one of [`ColumnValue`]; `as "s"` is the unit. `= SHARED` is
/// a [`Description`] that several tables have. Every table begins with the columns of its
/// replication, which a row does not give.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        pub struct $row:ident = $table:literal {
            $(
                $(#[doc = $help:literal])*
                $column:ident: $type:ty $(as $unit:literal)? $(= $shared:path)?,
            )+
        }
    ) => {
        #[doc = concat!(" A row of the table `", $table, "`.\n")]
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        pub struct $row<'a> {
            $(
                $(#[doc = $help])*
                $(#[doc = concat!(" Described by `", stringify!($shared), "`.")])?
                pub $column: <$type as $crate::columns::column::ColumnValue>::Given<'a>,
            )+
        }

        impl $crate::columns::table::Row for $row<'_> {
            const TABLE: &'static $crate::columns::table::TableRecord = &$crate::columns::table::TableRecord {
                name: $table,
                help: concat!($($about),+).trim_ascii_start(),
                columns: &[
                    $crate::columns::table::REPLICATION,
                    $crate::columns::table::SEED,
                    $($crate::columns::column::Column::new::<$type>(
                        stringify!($column),
                        $crate::columns::table::table!(@describe [$($help)*] $(as $unit)? $(= $shared)?),
                    ),)+
                ],
            };

            type With<'a> = $row<'a>;

            fn cells(&self) -> impl Iterator<Item = $crate::columns::column::Cell<'_>> {
                [$($crate::columns::column::Cell::from(self.$column)),+].into_iter()
            }
        }
    };
    (@describe [] = $shared:path) => { $shared };
    (@describe [$($help:literal)+] $(as $unit:literal)?) => {
        $crate::columns::column::Description::new(
            concat!($($unit)?),
            concat!($($help),+).trim_ascii_start(),
        )
    };
}

pub(super) use table;
