//! A capture: its flows, and suggested reservations for them.

use crate::error::TidegateError;
use crate::interruptible::{interruptible, watched};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::bounds;
use tidegate_core::classifier::{FiveTuple, FlowPattern};
use tidegate_core::link::Framing;
use tidegate_core::params::Limit;
use tidegate_core::units::Span;
use tidegate_formats::units;
use tidegate_sim::input::rhythm::{present, rhythm};
use tidegate_sim::input::suggest::{DelayTarget, Link, Reason, Suggestion, observe, suggest};
use tidegate_sim::input::{self, Trace, TraceFlow};

/// The packets of a capture or a list, by flow.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Capture {
    pub(crate) trace: Arc<Trace>,
}

#[pymethods]
impl Capture {
    /// Reads the capture or list at `path`; raises TidegateError for a file that cannot be used.
    /// `progress` is called with the share of the file that is read, 0 to 1.
    #[staticmethod]
    #[pyo3(signature = (path, progress = None))]
    fn load(py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Capture> {
        let size = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let done = Arc::new(AtomicU64::new(0));
        let counted = done.clone();
        let show = move |py: Python<'_>| match &progress {
            Some(progress) if size > 0 => {
                let share = done.load(Ordering::Relaxed) as f64 / size as f64;
                progress.call1(py, (share.min(1.0),)).map(drop)
            }
            _ => Ok(()),
        };
        let read = watched(py, move || input::load_counted(&path, &counted), show)?;
        let trace = read.map_err(|error| TidegateError::new_err(error.to_string()))?;
        Ok(Capture { trace: Arc::new(trace) })
    }

    /// Packets of a capture that were put in order of time.
    #[getter]
    fn reordered(&self) -> u64 {
        self.trace.reordered
    }

    /// Seconds from the first packet to the last.
    #[getter]
    fn span(&self) -> f64 {
        self.trace.span.as_secs_f64()
    }

    /// The packet or line that the end of the file cuts off, and which was left out; `None` for a
    /// whole file.
    #[getter]
    fn cut(&self) -> Option<String> {
        self.trace.cut.map(|place| place.to_string())
    }

    /// Differences of the packets from those of the file: a sentence for each kind of repair.
    #[getter]
    fn mended(&self) -> Vec<String> {
        self.trace.mended.sentences()
    }

    /// The differences as numbers, by name.
    fn mended_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mended = &self.trace.mended;
        let counts = [
            ("super_packets", mended.super_packets),
            ("segments", mended.segments),
            ("copies", mended.copies),
            ("clock_steps", mended.steps.len() as u64 + mended.more_steps),
            ("left_out", mended.left_out.total()),
        ];
        let entry = PyDict::new(py);
        counts.into_iter().try_for_each(|(name, count)| entry.set_item(name, count))?;
        Ok(entry)
    }

    /// The observed behaviour of each flow: dictionaries, in the order of their first packets.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let trace = self.trace.clone();
        let look = |flow: &TraceFlow| (observe(flow), rhythm(&flow.packets), present(&flow.packets));
        let seen: Vec<_> = interruptible(py, move || trace.flows.iter().map(look).collect())?;
        let list = PyList::empty(py);
        for (flow, (seen, rhythm, present)) in self.trace.flows.iter().zip(seen) {
            let entry = PyDict::new(py);
            entry.set_item("flow", &flow.name)?;
            entry.set_item("packets", flow.packets.len())?;
            entry.set_item("bytes", flow.bytes())?;
            entry.set_item("life", flow.life().as_secs_f64())?;
            entry.set_item("mean_rate", seen.mean_rate)?;
            entry.set_item("peak_rate", seen.peak_rate)?;
            entry.set_item("workahead", seen.workahead)?;
            entry.set_item("longest_packet", seen.longest)?;
            entry.set_item("busy_seconds", seen.busy_seconds)?;
            entry.set_item("present", present)?;
            entry.set_item("frame_gap", rhythm.map(|rhythm| rhythm.gap.as_secs_f64()))?;
            entry.set_item("regular", rhythm.map_or(0.0, |rhythm| rhythm.regular))?;
            entry.set_item("frame_packets", rhythm.map(|rhythm| rhythm.packets))?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Returns these packets with the lengths that a link with this framing charges; raises
    /// TidegateError for an overhead or a least size that no link has.
    fn charged(&self, overhead: i32, mpu: u32, atm: bool) -> PyResult<Capture> {
        let framing = Framing::new(overhead, mpu, atm);
        let framing = framing.map_err(|refused| TidegateError::new_err(refused.to_string()))?;
        let mut trace = (*self.trace).clone();
        for (_, len) in trace.flows.iter_mut().flat_map(|flow| &mut flow.packets) {
            *len = framing.charge(*len);
        }
        Ok(Capture { trace: Arc::new(trace) })
    }

    /// The places of the flows that match `pattern`: a name, or a pattern such as
    /// `10.0.0.1:80>*/tcp`.
    fn matching(&self, pattern: &str) -> Vec<usize> {
        let wanted: Option<FlowPattern> = pattern.parse().ok();
        let meant = |name: &str| {
            let tuple = || name.parse::<FiveTuple>().ok();
            name == pattern
                || wanted.as_ref().is_some_and(|wanted| tuple().is_some_and(|flow| wanted.matches(&flow)))
        };
        (0..self.trace.flows.len()).filter(|flow| meant(&self.trace.flows[*flow].name)).collect()
    }

    /// Suggested reservations of flows on a link of `rate` bit/s with packets of up to
    /// `longest_packet` bytes and a queue of up to `buffer` (as a scenario spells it, or `None`),
    /// when the file is played once or `again` and again; `targets` are places of flows and the
    /// delay in seconds that 99 % of their packets should keep. One dictionary per target.
    #[pyo3(signature = (rate, longest_packet, buffer, again, targets))]
    fn suggest<'py>(
        &self,
        py: Python<'py>,
        rate: u64,
        longest_packet: u32,
        buffer: Option<&str>,
        again: bool,
        targets: Vec<(usize, f64)>,
    ) -> PyResult<Bound<'py, PyList>> {
        let buffer: Option<Limit> = buffer
            .map(units::parse_limit)
            .transpose()
            .map_err(|complaint| TidegateError::new_err(complaint.to_string()))?;
        if targets.iter().any(|(flow, _)| *flow >= self.trace.flows.len()) {
            return Err(PyIndexError::new_err("a target names no flow of the capture"));
        }
        let targets: Vec<DelayTarget> = targets
            .into_iter()
            .map(|(flow, seconds)| DelayTarget { flow, delay: Span::from_secs_f64(seconds) })
            .collect();
        let (trace, link) = (self.trace.clone(), Link { rate, longest: longest_packet, buffer });
        let found = interruptible(py, move || suggest(&trace, link, again, &targets))?;
        let found = found
            .ok_or_else(|| TidegateError::new_err(format!("a link of {rate} bit/s cannot be simulated")))?;
        let list = PyList::empty(py);
        for suggestion in &found {
            list.append(describe(py, suggestion)?)?;
        }
        Ok(list)
    }
}

/// Packets and bytes that the buffer of a port must hold for flows that have at most these packets
/// and bytes there, so that push-out takes none of theirs; `largest` is the largest packet of any
/// flow.
#[pyfunction]
pub fn buffer_for(backlogs: Vec<(u64, u64)>, largest: u32) -> (u64, u64) {
    bounds::buffer_for(backlogs, largest)
}

fn describe<'py>(py: Python<'py>, suggestion: &Suggestion) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("reserve", suggestion.reserve)?;
    entry.set_item("needs", suggestion.needs)?;
    entry.set_item("backlog_packets", suggestion.backlog.map(|(packets, _)| packets))?;
    entry.set_item("backlog_bytes", suggestion.backlog.map(|(_, bytes)| bytes))?;
    entry.set_item("best_p99", suggestion.best_p99.map(Span::as_secs_f64))?;
    entry.set_item("promised_p99", suggestion.promised_p99.map(Span::as_secs_f64))?;
    entry.set_item(
        "reason",
        match suggestion.reason {
            Reason::Target => "target",
            Reason::MeanRate => "mean-rate",
            Reason::FewPackets => "few-packets",
            Reason::ShortLife => "short-life",
            Reason::LinkTooSlow => "link-too-slow",
            Reason::NoRoom => "no-room",
            Reason::NoBuffer => "no-buffer",
        },
    )?;
    Ok(entry)
}
