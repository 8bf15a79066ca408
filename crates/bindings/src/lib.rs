//! The Python bindings: they carry values across and decide nothing.

mod bounds;
mod capture;
mod contract;
mod credit;
mod error;
mod gate;
mod interruptible;
mod network;
mod packet_log;
mod policies;
mod rates;
mod run;
mod scenario;
mod table;

use error::TidegateError;
use pyo3::prelude::*;
use tidegate_core::params::Limit;
use tidegate_formats::columns::{Column, TABLES};
use tidegate_formats::units;
use tidegate_sim::input::suggest;

/// The JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    serde_json::to_string_pretty(&tidegate_formats::schema()).unwrap_or_default()
}

/// The JSON Schema of gate files.
#[pyfunction]
fn gate_schema() -> String {
    serde_json::to_string_pretty(&tidegate_formats::gate_schema()).unwrap_or_default()
}

/// The scenario reference, as Markdown.
#[pyfunction]
fn reference() -> String {
    tidegate_formats::reference()
}

/// The source text of `tidegate/policies.py`.
#[pyfunction]
fn python_types() -> String {
    tidegate_formats::python_types()
}

/// A TOML text as JSON: as scenarios are read, which is newer than what Python's own library reads.
#[pyfunction]
fn toml_as_json(text: &str) -> PyResult<String> {
    let read = tidegate_formats::toml_as_json(text);
    let read = read.map_err(|complaint| TidegateError::new_err(complaint.to_string()))?;
    Ok(read.to_string())
}

/// The name of a column, its type (`whole`, `number` or `text`), and true if its values may be null.
type ColumnEntry = (&'static str, &'static str, bool);

/// The columns of every result table by its name.
#[pyfunction]
fn table_columns() -> Vec<(&'static str, Vec<ColumnEntry>)> {
    let column = |one: &Column| (one.name, table::word(one.column_type), one.optional);
    TABLES.iter().map(|table| (table.name, table.columns.iter().map(column).collect())).collect()
}

/// Half the width of the 95 % interval of the mean of `results` (Student t); `None` of fewer than
/// two.
#[pyfunction]
fn half_width_95(results: Vec<f64>) -> Option<f64> {
    tidegate_core::stats::half_width_95(&results)
}

/// Half the width of a 95 % interval of the share of trials at which a rare event happens (Korn and
/// Graubard 1998), of the (events, trials) of each replication; `None` of fewer than two.
#[pyfunction]
fn rare_half_width_95(runs: Vec<(u64, u64)>) -> Option<f64> {
    tidegate_core::stats::rare_half_width_95(&runs)
}

/// Bits per second of a rate such as `10mbit`.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    units::parse_rate(text).map_err(|complaint| TidegateError::new_err(complaint.to_string()))
}

/// Seconds of a time such as `5ms`.
#[pyfunction]
fn parse_time(text: &str) -> PyResult<f64> {
    let span = units::parse_time(text).map_err(|complaint| TidegateError::new_err(complaint.to_string()))?;
    Ok(span.as_secs_f64())
}

/// Bytes of a size such as `250B`.
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    units::parse_size(text).map_err(|complaint| TidegateError::new_err(complaint.to_string()))
}

/// A limit such as `100p` or `64kB`: a number, and whether it counts packets, not bytes.
#[pyfunction]
fn parse_limit(text: &str) -> PyResult<(u64, bool)> {
    match units::parse_limit(text).map_err(|complaint| TidegateError::new_err(complaint.to_string()))? {
        Limit::Packets(packets) => Ok((packets, true)),
        Limit::Bytes(bytes) => Ok((bytes, false)),
    }
}

/// A rate as a scenario spells it: `10mbit`.
#[pyfunction]
fn show_rate(bits: u64) -> String {
    units::show_rate(bits)
}

#[pymodule]
fn _tidegate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("RESERVABLE_PERCENT", suggest::RESERVABLE_PERCENT)?;
    module.add("MIN_PACKETS", suggest::MIN_PACKETS)?;
    module.add("MIN_LIFE", suggest::MIN_LIFE.as_secs_f64())?;
    module.add("MIN_LIFE_PERCENT", suggest::MIN_LIFE_PERCENT)?;
    module.add("RECORDS_PER_CELL", tidegate_core::credit::RECORDS_PER_CELL)?;
    module.add("ALPHA_OF_SEVERAL_RTTS", tidegate_core::credit::sizing::ALPHA_OF_SEVERAL_RTTS)?;
    module.add("USUAL_NEARNESS", rates::usual())?;
    module.add("TidegateError", module.py().get_type::<TidegateError>())?;
    module.add_class::<capture::Capture>()?;
    module.add_class::<contract::Arrivals>()?;
    module.add_class::<credit::SizedLink>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<run::Run>()?;
    module.add_function(wrap_pyfunction!(capture::buffer_for, module)?)?;
    module.add_function(wrap_pyfunction!(contract::detect_format, module)?)?;
    module.add_function(wrap_pyfunction!(credit::cable_delay, module)?)?;
    module.add_function(wrap_pyfunction!(rates::max_min, module)?)?;
    module.add_function(wrap_pyfunction!(rates::convergence_time, module)?)?;
    module.add_function(wrap_pyfunction!(rates::response_time, module)?)?;
    module.add_function(wrap_pyfunction!(rates::distances, module)?)?;
    policies::add_to(module)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(gate_schema, module)?)?;
    module.add_function(wrap_pyfunction!(gate::gate, module)?)?;
    module.add_function(wrap_pyfunction!(reference, module)?)?;
    module.add_function(wrap_pyfunction!(python_types, module)?)?;
    module.add_function(wrap_pyfunction!(table_columns, module)?)?;
    module.add_function(wrap_pyfunction!(toml_as_json, module)?)?;
    module.add_function(wrap_pyfunction!(half_width_95, module)?)?;
    module.add_function(wrap_pyfunction!(rare_half_width_95, module)?)?;
    module.add_function(wrap_pyfunction!(parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(parse_time, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)?;
    module.add_function(wrap_pyfunction!(parse_limit, module)?)?;
    module.add_function(wrap_pyfunction!(show_rate, module)?)?;
    Ok(())
}
