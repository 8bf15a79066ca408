//! The result tables as a Python module.

use super::python::{camel, escape, literal_alias, wrap};
use crate::columns::{Column, TABLES, TableRecord};

/// Table whose name in Python is taken by its summaries.
const SUMMARISED: &str = "groups";

/// The source of a Python module with the names of each table's columns as a type, and a property
/// for each table.
pub fn python_tables() -> String {
    let mut module = String::from(HEAD);
    module.push_str(&public());
    for table in TABLES {
        let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        module.push_str(&format!("{}\n\n", literal_alias(&columns_alias(table), &names)));
    }
    module.push_str(CLASS);
    for table in TABLES.iter().filter(|table| table.name != SUMMARISED) {
        module.push_str(&property(table));
    }
    module
}

const HEAD: &str = r#""""The result tables and their columns, written from the records: do not edit."""

from __future__ import annotations

from typing import Any, Literal

from tidegate.tables import Table

"#;

const CLASS: &str = r#"
class ResultTables:
    """The tables of runs by name, each as an attribute."""

    tables: dict[str, Table[Any]]
"#;

/// The module's public names, in order.
fn public() -> String {
    let mut names: Vec<_> = TABLES.iter().map(|table| columns_alias(table)).collect();
    names.push("ResultTables".to_owned());
    names.sort();
    let lines: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    format!("__all__ = [\n{lines}]\n\n")
}

fn columns_alias(table: &TableRecord) -> String {
    format!("{}Column", camel(table.name))
}

fn property(table: &TableRecord) -> String {
    let mut lines = Vec::new();
    wrap(table.help, "        ", &mut lines);
    lines.extend([String::new(), "        Columns:".to_owned()]);
    for column in table.columns {
        wrap(&describe(column), "            ", &mut lines);
    }
    let name = table.name;
    format!(
        "\n    @property\n    def {name}(self) -> Table[{}]:\n        \"\"\"Table `{name}`.\n\n{}\n        \"\"\"\n        \
         return self.tables[\"{name}\"]\n",
        columns_alias(table),
        escape(&lines.join("\n")),
    )
}

/// Describes a column as `name (unit): help.`
fn describe(Column { name, unit, help, .. }: &Column) -> String {
    match unit.is_empty() {
        true => format!("{name}: {help}."),
        false => format!("{name} ({unit}): {help}."),
    }
}
