//! Policies that are written in Python: their records are made when their classes are defined.

mod congestion;
mod declared;
mod detector;
mod dropper;
pub(crate) mod failure;
mod meter;
mod object;
mod passing;
mod rank;
mod rank_function;
mod scheduler;
mod seen;
mod source;
mod stage;
mod verdict;

use pyo3::prelude::*;

/// Adds the classes and functions of this module to the package's.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<seen::PyContract>()?;
    module.add_class::<seen::PyMeteredPacket>()?;
    module.add_class::<seen::PyPacket>()?;
    module.add_class::<passing::PyPassingPacket>()?;
    module.add_class::<seen::PyQueue>()?;
    module.add_class::<congestion::PyWindows>()?;
    module.add_class::<congestion::PyAcknowledgement>()?;
    module.add_function(wrap_pyfunction!(congestion::register_congestion_control, module)?)?;
    module.add_function(wrap_pyfunction!(detector::register_detector, module)?)?;
    module.add_function(wrap_pyfunction!(dropper::register_dropper, module)?)?;
    module.add_function(wrap_pyfunction!(meter::register_meter, module)?)?;
    module.add_function(wrap_pyfunction!(scheduler::register_scheduler, module)?)?;
    module.add_function(wrap_pyfunction!(rank::register_rank_scheduler, module)?)?;
    module.add_function(wrap_pyfunction!(source::register_source, module)?)?;
    module.add_function(wrap_pyfunction!(stage::register_stage, module)?)?;
    Ok(())
}
