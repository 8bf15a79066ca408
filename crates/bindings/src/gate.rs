//! The gate's command line, for `tidegate gate`.

use pyo3::prelude::*;

/// Does what `tidegate-gate` would do with these arguments, the program's name first: its exit code.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn gate(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| tidegate_gate::cli(arguments.into_iter().map(Into::into)))
}

#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub(crate) fn gate(arguments: Vec<String>) -> PyResult<u8> {
    let _ = arguments;
    Err(crate::TidegateError::new_err("a gate runs on Linux only"))
}
