//! The exception for input that cannot be used.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;

create_exception!(
    tidegate,
    TidegateError,
    PyValueError,
    "An input of tidegate cannot be used; the message says what, where, and what would be right."
);
