//! Result tables, handed over as the buffers of Arrow arrays.
//!
//! Python makes the arrays with pyarrow, which it has anyway: crates that make them here are a
//! sixth of what `make demo` would compile. Values are copied once, column by column.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tidegate_formats::columns::ColumnType;
use tidegate_sim::results::{Table, Values};

/// The word for a type of column.
pub fn word(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Whole => "whole",
        ColumnType::Number => "number",
        ColumnType::Text => "text",
    }
}

/// The table as a dictionary: its `description` and its `columns`.
pub fn handed_over<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyList::empty(py);
    for (record, values) in table.record.columns.iter().zip(table.columns) {
        let column = arrays(py, values)?;
        column.set_item("name", record.name)?;
        column.set_item("unit", record.unit)?;
        column.set_item("description", record.help)?;
        columns.append(column)?;
    }
    let made = PyDict::new(py);
    made.set_item("description", table.record.help)?;
    made.set_item("columns", columns)?;
    Ok(made)
}

/// The `type` and the `values` of a column. For numbers there is also a bitmap, `valid`; for text,
/// the values are indexes into `words`.
fn arrays(py: Python<'_>, values: Values) -> PyResult<Bound<'_, PyDict>> {
    let column = PyDict::new(py);
    match values {
        Values::Whole(values) => {
            column.set_item("type", word(ColumnType::Whole))?;
            column.set_item(
                "values",
                bytes(py, &values, |value| i64::try_from(value).unwrap_or(i64::MAX).to_ne_bytes())?,
            )?;
        }
        Values::Number(values) => {
            column.set_item("type", word(ColumnType::Number))?;
            column.set_item("values", bytes(py, &values, |value| value.unwrap_or(0.0).to_ne_bytes())?)?;
            column.set_item("valid", PyBytes::new(py, &bitmap(&values)))?;
        }
        Values::Text { keys, words } => {
            column.set_item("type", word(ColumnType::Text))?;
            column.set_item("values", bytes(py, &keys, |key| key.to_ne_bytes())?)?;
            column.set_item("words", words)?;
        }
    }
    Ok(column)
}

/// The bytes of the values, one value behind the other.
fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    of: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, N * values.len(), |buffer| {
        for (place, value) in buffer.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&of(*value));
        }
        Ok(())
    })
}

/// A bit for each value, set when there is one; the first is the least significant of the first
/// byte.
fn bitmap(values: &[Option<f64>]) -> Vec<u8> {
    let byte = |eight: &[Option<f64>]| {
        eight.iter().enumerate().fold(0, |byte, (nth, value)| byte | u8::from(value.is_some()) << nth)
    };
    values.chunks(8).map(byte).collect()
}
