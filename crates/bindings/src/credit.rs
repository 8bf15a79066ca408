//! Sizing of links with credit-based flow control.

use crate::error::TidegateError;
use pyo3::prelude::*;
use tidegate_core::credit::sizing::{self, Exact, Link, Loop, Pool, Unsizable};
use tidegate_core::units::Span;
use tidegate_formats::units;

/// A link with credit-based flow control: its rate in bit/s, its cells in bytes, its times in
/// seconds.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct SizedLink {
    link: Link,
    rtt: Exact,
    /// Rate of the receiver's output in bit/s; `None` for that of the link.
    output: Option<u64>,
}

#[pymethods]
impl SizedLink {
    #[new]
    #[pyo3(signature = (rate, cell, credit_cell, delay, processing, output))]
    fn new(
        rate: u64,
        cell: u32,
        credit_cell: u32,
        delay: f64,
        processing: Option<f64>,
        output: Option<u64>,
    ) -> PyResult<SizedLink> {
        let processing = processing.map(Span::from_secs_f64);
        let link = Link { rate, cell, credit_cell, delay: Span::from_secs_f64(delay), processing };
        Ok(SizedLink { link, rtt: link.rtt().map_err(refused)?, output })
    }

    /// RTT in transmission times of a cell.
    #[getter]
    fn rtt_cells(&self) -> f64 {
        float(self.rtt)
    }

    /// RTT in seconds.
    #[getter]
    fn rtt(&self) -> f64 {
        float(self.rtt) * f64::from(self.link.cell) * 8.0 / self.link.rate as f64
    }

    /// Bytes of credit cells for each byte of data, with `records` records in a credit cell.
    fn overhead(&self, n2: u64, records: u64) -> PyResult<f64> {
        self.link.overhead(n2, records).map(float).map_err(refused)
    }

    /// The least N2 at which credit cells of one record take at most `percent` % of what the data
    /// take.
    fn n2_for_overhead(&self, percent: u32) -> PyResult<u64> {
        self.link.n2_for_overhead(percent).map_err(refused)
    }

    /// The least and the highest rate in bit/s of each of `active` VCs with `buf_alloc` cells each
    /// (equation 2).
    fn rates(&self, n2: u64, buf_alloc: u64, active: u64) -> PyResult<(f64, f64)> {
        let share = self.control(n2)?.share(buf_alloc, active).map_err(refused)?;
        let rate = |share| float(share) * self.link.rate as f64;
        Ok((rate(share.least), rate(share.most)))
    }

    /// The least allocation in cells with which each of `active` VCs has `rate` bit/s.
    fn buffer(&self, n2: u64, rate: u64, active: u64) -> PyResult<u64> {
        let share = Exact::new(rate.into(), self.link.rate.into());
        self.control(n2)?.buffer(share, active).map_err(refused)
    }

    /// The pool M in cells, and the number of queued cells below which a newcomer ramps up
    /// (equations 5 and 6).
    fn pool(&self, alpha: u64, vcs: u64) -> PyResult<(u64, f64)> {
        let pool = Pool::new(self.rtt, alpha, vcs).map_err(refused)?;
        Ok((pool.cells, float(pool.queued_below)))
    }
}

impl SizedLink {
    fn control(&self, n2: u64) -> PyResult<Loop> {
        let control = Loop::new(self.rtt, n2).map_err(refused)?;
        self.output.map_or(Ok(control), |output| control.behind(self.link.rate, output)).map_err(refused)
    }
}

/// Seconds of propagation over a cable such as `2km`, one way.
#[pyfunction]
pub fn cable_delay(length: &str) -> PyResult<f64> {
    let millimetres =
        units::parse_length(length).map_err(|complaint| TidegateError::new_err(complaint.to_string()))?;
    Ok(sizing::propagation(millimetres).as_secs_f64())
}

fn refused(why: Unsizable) -> PyErr {
    TidegateError::new_err(why.to_string())
}

fn float(exact: Exact) -> f64 {
    *exact.numer() as f64 / *exact.denom() as f64
}
