//! What the flows of a capture should reserve.

use crate::TidegateError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use tidegate_core::units::Span;
use tidegate_sim::input;
use tidegate_sim::input::suggest::{Outcome, Reason, Suggestion};

/// Reads the capture or trace at `path` and suggests what its flows should reserve on a link of
/// `rate` bit/s, so that 99 % of each one's packets are promised a delay of `target` seconds.
#[pyfunction]
pub fn suggest(py: Python<'_>, path: PathBuf, rate: u64, target: f64) -> PyResult<Bound<'_, PyDict>> {
    let (trace, plan) = py
        .detach(|| {
            let trace = input::load(&path)?;
            let plan = input::suggest::suggest(&trace, rate, Span::from_secs_f64(target));
            Ok::<_, input::InputError>((trace, plan))
        })
        .map_err(|error| TidegateError::new_err(error.to_string()))?;
    let plan =
        plan.ok_or_else(|| TidegateError::new_err(format!("a link of {rate} bit/s cannot be simulated")))?;
    let answer = PyDict::new(py);
    answer.set_item("packets", trace.packets)?;
    answer.set_item("bytes", trace.bytes)?;
    answer.set_item("span", trace.span.as_secs_f64())?;
    answer.set_item("reordered", trace.reordered)?;
    answer.set_item("target", plan.target.as_secs_f64())?;
    answer.set_item("target_met", plan.target_met())?;
    answer.set_item("reserved", plan.reserved)?;
    answer.set_item("longest_packet", plan.longest_packet.as_secs_f64())?;
    answer.set_item(
        "outcome",
        match plan.outcome {
            Outcome::Met => "met",
            Outcome::Relaxed => "relaxed",
            Outcome::MeanRatesDoNotFit => "mean-rates-do-not-fit",
            Outcome::NothingToReserve => "nothing-to-reserve",
        },
    )?;
    let flows = PyList::empty(py);
    for flow in &plan.flows {
        flows.append(describe(py, flow)?)?;
    }
    answer.set_item("flows", flows)?;
    Ok(answer)
}

fn describe<'py>(py: Python<'py>, flow: &Suggestion) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("flow", &flow.flow)?;
    entry.set_item("packets", flow.packets)?;
    entry.set_item("bytes", flow.bytes)?;
    entry.set_item("mean_rate", flow.mean_rate)?;
    entry.set_item("peak_rate", flow.peak_rate)?;
    entry.set_item("workahead", flow.workahead)?;
    entry.set_item("reserve", flow.reserve)?;
    entry.set_item("promised_p99", flow.promised_p99.map(Span::as_secs_f64))?;
    entry.set_item(
        "reason",
        match flow.reason {
            Reason::Target => "target",
            Reason::MeanRate => "mean-rate",
            Reason::FewPackets => "few-packets",
            Reason::ShortLife => "short-life",
            Reason::NoRoom => "no-room",
        },
    )?;
    Ok(entry)
}
