//! Packets or frames, and the contracts (W, r, r̂) that fit them.

use crate::capture::Capture;
use crate::error::TidegateError;
use crate::interruptible::interruptible;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_core::units::Span;
use tidegate_sim::input::contract::{self, AtRate, Fitting};
use tidegate_sim::input::{self, FileKind};

/// The content of the file at `path`: `packets` or `frames`; raises TidegateError for a file that
/// cannot be read.
#[pyfunction]
pub fn detect_format(path: PathBuf) -> PyResult<&'static str> {
    match input::detect_format(&path) {
        Ok(FileKind::Packets) => Ok("packets"),
        Ok(FileKind::Frames) => Ok("frames"),
        Err(error) => Err(TidegateError::new_err(error.to_string())),
    }
}

/// Packets that are taken for one flow, or the frames of a video.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Arrivals {
    arrivals: Arc<contract::Arrivals>,
    cut: Option<String>,
}

#[pymethods]
impl Arrivals {
    /// The packets of flows of a capture, by their places, together.
    #[staticmethod]
    fn of_flows(py: Python<'_>, capture: &Capture, flows: Vec<usize>) -> PyResult<Arrivals> {
        let trace = capture.trace.clone();
        if flows.is_empty() || flows.iter().any(|flow| *flow >= trace.flows.len()) {
            return Err(PyIndexError::new_err("there is no such flow in the capture"));
        }
        let cut = trace.cut.map(|place| place.to_string());
        let arrivals = interruptible(py, move || contract::Arrivals::of_flows(&trace, &flows))?;
        Ok(Arrivals { arrivals: Arc::new(arrivals), cut })
    }

    /// The frames of the video at `path`, `fps` in a second; raises TidegateError for a file that
    /// cannot be used.
    #[staticmethod]
    fn of_video(py: Python<'_>, path: PathBuf, fps: f64) -> PyResult<Arrivals> {
        let read = interruptible(py, move || {
            input::load_video(&path).map(|video| (contract::Arrivals::of_video(&video, fps), video.cut))
        })?;
        let (arrivals, cut) = read.map_err(|error| TidegateError::new_err(error.to_string()))?;
        let arrivals = arrivals.ok_or_else(|| {
            TidegateError::new_err(format!("a video of {fps} frames a second does not end"))
        })?;
        Ok(Arrivals { arrivals: Arc::new(arrivals), cut: cut.map(|place| place.to_string()) })
    }

    /// The packet or line that the end of the file cuts off, and which was left out; `None` for a
    /// whole file.
    #[getter]
    fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// True if some arrivals have the same time.
    #[getter]
    fn has_equal_times(&self) -> bool {
        self.arrivals.has_equal_times()
    }

    /// Observed properties as a dictionary: rates in bit/s, sizes in bytes, times in seconds.
    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arrivals = self.arrivals.clone();
        let (seen, bytes) = interruptible(py, move || (arrivals.observe(), arrivals.bytes()))?;
        let entry = PyDict::new(py);
        entry.set_item("packets", self.arrivals.count())?;
        entry.set_item("bytes", bytes)?;
        entry.set_item("duration", self.arrivals.duration().as_secs_f64())?;
        entry.set_item("mean_rate", seen.mean_rate)?;
        entry.set_item("peak_rate", seen.peak_rate)?;
        entry.set_item("longest_packet", seen.longest)?;
        Ok(entry)
    }

    /// At most `points` rates in bit/s from the mean rate to the peak rate.
    fn rates(&self, py: Python<'_>, points: usize) -> PyResult<Vec<u64>> {
        let arrivals = self.arrivals.clone();
        interruptible(py, move || arrivals.rates(points))
    }

    /// W in bytes, and the longest delay and its 99th percentile in seconds at a server of `rate`
    /// bit/s.
    fn at(&self, py: Python<'_>, rate: u64) -> PyResult<(u64, f64, f64)> {
        let arrivals = self.arrivals.clone();
        let AtRate { workahead, delay_max, delay_p99 } =
            interruptible(py, move || arrivals.at(rate))?.ok_or_else(|| no_rate(rate))?;
        Ok((workahead, Span::as_secs_f64(delay_max), Span::as_secs_f64(delay_p99)))
    }

    /// The contract with a reservation from `rate` bit/s on that the arrivals keep: r in bit/s, W
    /// in bytes and the peak rate in bit/s.
    fn contract(&self, py: Python<'_>, rate: u64) -> PyResult<(u64, u64, u64)> {
        let arrivals = self.arrivals.clone();
        let Fitting { reserve, workahead, peak } =
            interruptible(py, move || arrivals.contract(rate))?.ok_or_else(|| no_rate(rate))?;
        Ok((reserve, workahead, peak))
    }
}

fn no_rate(rate: u64) -> PyErr {
    TidegateError::new_err(format!("{rate} bit/s is not a rate that can be sent"))
}
