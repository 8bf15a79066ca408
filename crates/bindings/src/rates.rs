//! Convergence of rates, and their optima.

use crate::error::TidegateError;
use pyo3::prelude::*;
use tidegate_core::maxmin::{self, Demand, Exact};
use tidegate_core::stats::convergence::{self, Course, Nearness};
use tidegate_core::units::Span;

/// The criterion of convergence, as window in seconds, tolerance as a share of the optimum, and
/// packets in the queue: the defaults of [`Nearness`].
pub fn usual() -> (f64, f64, f64) {
    let Nearness { window, tolerance, queue, .. } = Nearness::usual(Span::ZERO);
    (window.as_secs_f64(), tolerance, queue)
}

/// The max-min fair rate of each flow, of links with these capacities; a flow is the indexes of its
/// links.
#[pyfunction]
pub fn max_min(capacities: Vec<u64>, flows: Vec<Vec<usize>>) -> PyResult<Vec<f64>> {
    let capacities: Vec<Exact> =
        capacities.into_iter().map(|capacity| Exact::from_integer(capacity.into())).collect();
    let demands: Vec<Demand> = flows.iter().map(|links| Demand::of(links)).collect();
    let rates = maxmin::allocate(&capacities, &demands);
    let rates = rates.map_err(|why| TidegateError::new_err(why.to_string()))?;
    Ok(rates.into_iter().map(|rate| *rate.numer() as f64 / *rate.denom() as f64).collect())
}

/// Seconds until averages of all rates over a window in seconds stay within a tolerance of their
/// optima, and the queue stays below a number of packets; `near` is these three.
#[pyfunction]
pub fn convergence_time(
    spacing: f64,
    rates: Vec<Vec<f64>>,
    optima: Vec<f64>,
    queue: Vec<f64>,
    near: (f64, f64, f64),
) -> PyResult<Option<f64>> {
    let (window, tolerance, short) = near;
    let near =
        Nearness { window: Span::from_secs_f64(window), queue: short, ..nearness(spacing, tolerance)? };
    Ok(near.convergence(&courses(&rates, &optima)?, &queue).map(Span::as_secs_f64))
}

/// Seconds until each rate has come to within `tolerance` of its optimum, or has passed it.
#[pyfunction]
pub fn response_time(
    spacing: f64,
    rates: Vec<Vec<f64>>,
    optima: Vec<f64>,
    tolerance: f64,
) -> PyResult<Option<f64>> {
    Ok(nearness(spacing, tolerance)?.response(&courses(&rates, &optima)?).map(Span::as_secs_f64))
}

/// At each sample the greatest |rate − optimum| / optimum.
#[pyfunction]
pub fn distances(rates: Vec<Vec<f64>>, optima: Vec<f64>) -> PyResult<Vec<f64>> {
    Ok(convergence::distance(&courses(&rates, &optima)?))
}

fn nearness(spacing: f64, tolerance: f64) -> PyResult<Nearness> {
    match Span::from_secs_f64(spacing) {
        Span::ZERO => Err(TidegateError::new_err("samples are spaced by more than 0 s")),
        spacing => Ok(Nearness { tolerance, ..Nearness::usual(spacing) }),
    }
}

fn courses<'a>(rates: &'a [Vec<f64>], optima: &[f64]) -> PyResult<Vec<Course<'a>>> {
    if rates.len() != optima.len() {
        return Err(TidegateError::new_err("every rate has one optimum"));
    }
    Ok(rates.iter().zip(optima).map(|(rates, optimum)| Course { rates, optimum: *optimum }).collect())
}
