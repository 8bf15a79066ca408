//! Policies that are written in Python: their records are made when their classes are defined.

mod congestion;
mod declared;
mod dropper;
pub(crate) mod failure;
mod object;
mod rank;
mod rank_function;
mod scheduler;
mod seen;

use pyo3::prelude::*;

/// Adds the classes and functions of this module to the package's.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<seen::PyContract>()?;
    module.add_class::<seen::PyPacket>()?;
    module.add_class::<seen::PyQueue>()?;
    module.add_class::<congestion::PyWindows>()?;
    module.add_class::<congestion::PyAcknowledgement>()?;
    module.add_function(wrap_pyfunction!(congestion::register_congestion_control, module)?)?;
    module.add_function(wrap_pyfunction!(dropper::register_dropper, module)?)?;
    module.add_function(wrap_pyfunction!(scheduler::register_scheduler, module)?)?;
    module.add_function(wrap_pyfunction!(rank::register_rank_scheduler, module)?)?;
    Ok(())
}
