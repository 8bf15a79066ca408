//! The Python bindings: they carry values across and decide nothing.

mod run;
mod scenario;
mod suggest;
mod table;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    _tidegate,
    TidegateError,
    PyValueError,
    "Something that was given to tidegate cannot be used; the message says what, where, and what would be right."
);

/// The JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    serde_json::to_string_pretty(&tidegate_spec::schema()).unwrap_or_default()
}

/// The scenario reference, as Markdown.
#[pyfunction]
fn reference() -> String {
    tidegate_spec::reference()
}

/// The source text of `tidegate/policies.py`.
#[pyfunction]
fn python_types() -> String {
    tidegate_spec::python_types()
}

#[pymodule]
fn _tidegate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("TidegateError", module.py().get_type::<TidegateError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(reference, module)?)?;
    module.add_function(wrap_pyfunction!(python_types, module)?)?;
    module.add_function(wrap_pyfunction!(suggest::suggest, module)?)?;
    Ok(())
}
