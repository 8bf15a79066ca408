//! Failures of policies that are written in Python: the first one of a thread, until its run reports
//! it. A policy cannot raise through the simulation that calls it.

use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyTraceback;
use std::cell::RefCell;

thread_local! {
    static FIRST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// An exception of a policy, and where it happened.
pub(crate) struct Failure {
    /// The policy and the call, in words.
    pub(crate) place: String,
    pub(crate) error: PyErr,
}

/// Keeps a failure, unless there is one already.
pub(crate) fn keep(failure: Failure) {
    FIRST.with_borrow_mut(|first| {
        first.get_or_insert(failure);
    });
}

/// Returns what a failure on this thread is raised as, if there was one.
pub(crate) fn take(py: Python<'_>) -> Option<PyErr> {
    let Failure { place, error } = FIRST.take()?;
    let message = format!("{place}: {}", in_words(py, &error));
    let raised = TidegateError::new_err(message);
    raised.set_cause(py, Some(error));
    Some(raised)
}

/// An exception with its line: `ZeroDivisionError: division by zero (mine.py, line 12)`.
pub(crate) fn in_words(py: Python<'_>, error: &PyErr) -> String {
    if error.is_instance_of::<TidegateError>(py) {
        return error.value(py).to_string();
    }
    let line = error.traceback(py).and_then(|traceback| innermost(&traceback).ok());
    match line {
        Some((file, line)) => format!("{error} ({file}, line {line})"),
        None => error.to_string(),
    }
}

/// The file and the line in which an exception was raised.
fn innermost(traceback: &Bound<'_, PyTraceback>) -> PyResult<(String, u64)> {
    let mut at = traceback.clone().into_any();
    while let Ok(next) = at.getattr("tb_next")
        && !next.is_none()
    {
        at = next;
    }
    let file: String = at.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
    let name = file.rsplit('/').next().unwrap_or(&file).to_owned();
    Ok((name, at.getattr("tb_lineno")?.extract()?))
}
