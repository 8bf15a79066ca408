//! The tables that a run returns: one declaration for each, from which come the type of its rows,
//! its columns in Rust and Python, and its page.

mod aal5;
mod assurance;
mod classes;
mod column;
mod credit;
mod drops;
mod flows;
mod gate;
mod groups;
mod histogram;
mod links;
mod non_responsive;
mod series;
mod shared;
mod signals;
mod table;
mod transfers;
mod usage;
mod workahead;

pub use aal5::Aal5Row;
pub use assurance::AssuranceRow;
pub use classes::ClassesRow;
pub use column::{Cell, Column, ColumnType, ColumnValue};
pub use credit::{CreditOutputsRow, CreditRow, CreditVcsRow, StallsRow};
pub use drops::DropsRow;
pub use flows::FlowsRow;
pub use gate::GateRow;
pub use groups::GroupsRow;
pub use histogram::HistogramRow;
pub use links::LinksRow;
pub use non_responsive::NonResponsiveRow;
pub use series::SeriesRow;
pub use signals::SignalsRow;
pub use table::{Row, TableRecord};
pub use transfers::TransfersRow;
pub use usage::UsageRow;
pub use workahead::WorkaheadRow;

/// Every table that a run returns. Only packets sent from `warmup` on are measured.
pub const TABLES: &[&TableRecord] = &[
    FlowsRow::TABLE,
    GroupsRow::TABLE,
    LinksRow::TABLE,
    ClassesRow::TABLE,
    DropsRow::TABLE,
    TransfersRow::TABLE,
    UsageRow::TABLE,
    AssuranceRow::TABLE,
    NonResponsiveRow::TABLE,
    Aal5Row::TABLE,
    CreditRow::TABLE,
    CreditVcsRow::TABLE,
    CreditOutputsRow::TABLE,
    credit::StallsRow::TABLE,
    SeriesRow::TABLE,
    SignalsRow::TABLE,
    GateRow::TABLE,
    WorkaheadRow::TABLE,
    HistogramRow::TABLE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn columns_are_unique_and_explained() {
        for table in TABLES {
            let names: BTreeSet<_> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            assert!(
                table.columns.iter().all(|column| !column.help.is_empty() && !column.help.ends_with('.'))
            );
        }
    }
}
