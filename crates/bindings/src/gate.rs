//! The gate's command line, for `tidegate gate`.

use pyo3::prelude::*;

#[cfg(all(target_os = "linux", feature = "gate"))]
#[global_allocator]
static ALLOCATOR: tidegate_gate::Allocator = tidegate_gate::Allocator;

/// Runs `tidegate-gate` with these arguments, the program's name first, and returns its exit code.
#[cfg(all(target_os = "linux", feature = "gate"))]
#[pyfunction]
pub(crate) fn gate(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| tidegate_gate::cli(arguments.into_iter().map(Into::into)))
}

#[cfg(not(all(target_os = "linux", feature = "gate")))]
#[pyfunction]
pub(crate) fn gate(arguments: Vec<String>) -> PyResult<u8> {
    let _ = arguments;
    let message = if cfg!(target_os = "linux") {
        "this package was built for the demo, without the gate\n  help: `make wheel` builds the package with the gate"
    } else {
        "a gate runs on Linux only"
    };
    Err(crate::error::TidegateError::new_err(message))
}
