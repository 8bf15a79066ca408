//! The privileges that a gate keeps while it runs.

use crate::error::GateError;
use crate::runtime::WaitMode;
use crate::sys::privileges;

/// Drops the privileges of this thread and of those that it starts: to be called before a second
/// thread exists.
pub(super) fn drop_privileges(wait_mode: WaitMode) -> Result<(), GateError> {
    privileges::drop_all(wait_mode == WaitMode::RealTime)
        .map_err(|error| GateError::system("dropping privileges", error))
}
