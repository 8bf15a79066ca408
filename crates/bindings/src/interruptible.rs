//! Long work without the interpreter, which Ctrl-C ends.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which signals are checked.
const EVERY: Duration = Duration::from_millis(50);

/// Runs `work` on a separate thread without the interpreter's lock, and returns its result.
///
/// # Errors
/// The exception that a signal's handler raises meanwhile, such as `KeyboardInterrupt`. The thread
/// is then left to itself: it owns its data, and its result is discarded.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, work, |_| Ok(()))
}

/// Like [`interruptible`]; `show` is called repeatedly meanwhile.
///
/// # Errors
/// As for [`interruptible`], and the exceptions that `show` raises.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    show: impl Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    // The receiver is gone only after an interrupt.
    let worker = thread::Builder::new().spawn(move || drop(sender.send(work())))?;
    loop {
        let (received, again) = py.detach(move || (receiver.recv_timeout(EVERY), receiver));
        receiver = again;
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                show(py)?;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match worker.join() {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => Err(PyRuntimeError::new_err("the work ended without a result")),
    }
}
