//! Congestion controls that are written in Python.

use super::declared::{Declared, refused};
use super::object::Object;
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::tcp::congestion::{
    Acknowledged, CongestionControl, CongestionControlKind, Windows,
};
use tidegate_core::params::{MarkResponse, Marking, Role, Value};
use tidegate_core::policies;
use tidegate_core::units::{Span, Time};

/// The windows of a connection, in bytes.
#[pyclass(frozen, name = "Windows", module = "tidegate._tidegate")]
pub struct PyWindows(Windows);

#[pymethods]
impl PyWindows {
    /// Segment size.
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss
    }

    /// Congestion window.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    /// Slow start threshold.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    /// True below the threshold.
    #[getter]
    fn is_slow_start(&self) -> bool {
        self.0.is_slow_start()
    }

    /// The congestion window after an acknowledgement in congestion avoidance (RFC 5681, equation 3).
    fn avoid(&self) -> u64 {
        self.0.avoid()
    }

    /// The congestion window after an acknowledgement of `new` bytes in slow start (RFC 5681,
    /// equation 2).
    fn slow_start(&self, new: u64) -> u64 {
        self.0.slow_start(new)
    }

    fn __repr__(&self) -> String {
        let Windows { mss, cwnd, ssthresh } = self.0;
        format!("Windows(mss={mss}, cwnd={cwnd}, ssthresh={ssthresh})")
    }
}

/// The report of an acknowledgement.
#[pyclass(frozen, name = "Acknowledgement", module = "tidegate._tidegate")]
pub struct PyAcknowledgement {
    /// Bytes that it acknowledges for the first time.
    #[pyo3(get)]
    new: u64,
    /// Segments that it reports as arrived: with `recovery = "rack"` those that are SACKed as well.
    #[pyo3(get)]
    delivered: u64,
    /// Those of them that came with a congestion mark.
    #[pyo3(get)]
    marked: u64,
    /// Bytes acknowledged in all.
    #[pyo3(get)]
    acknowledged: u64,
    /// Bytes sent in all, each once.
    #[pyo3(get)]
    sent: u64,
    /// Smoothed round trip in ticks; `None` before the first.
    #[pyo3(get)]
    round_trip: Option<u64>,
}

#[pymethods]
impl PyAcknowledgement {
    fn __repr__(&self) -> String {
        let PyAcknowledgement { new, delivered, marked, .. } = self;
        format!("Acknowledgement(new={new}, delivered={delivered}, marked={marked})")
    }
}

impl PyAcknowledgement {
    fn of(report: &Acknowledged) -> PyAcknowledgement {
        let Acknowledged { now: _, una, max, new, delivered, marked, srtt } = *report;
        let round_trip = srtt.map(Span::ticks);
        PyAcknowledgement { new, delivered, marked, acknowledged: una, sent: max, round_trip }
    }
}

/// A congestion control that calls an object in Python.
struct PythonControl {
    object: Object,
    /// Names of the methods that its class defines; only they are called.
    defined: Arc<BTreeSet<String>>,
    /// Time of the last call, for messages about one without a time.
    now: Time,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PythonControl")
    }
}

impl PythonControl {
    fn new(object: Object) -> Result<PythonControl, String> {
        let defined = object.read(|object| object.call_method0("_defined")?.extract())?;
        Ok(PythonControl { object, defined: Arc::new(defined), now: Time::ORIGIN })
    }

    /// Calls a method; `None` if the class does not define it, if it has raised, or if it returned
    /// None.
    fn ask(
        &self,
        method: &str,
        now: Time,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Py<PyAny>>,
    ) -> Option<u64> {
        if !self.defined.contains(method) {
            return None;
        }
        let said = self.object.call(method, None, now, |object| {
            let said = call(object)?.into_bound(object.py());
            if said.is_none() {
                return Ok(None);
            }
            said.extract().map(Some).map_err(|_| {
                let shown = said.repr().map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
                TidegateError::new_err(format!(
                    "it returned {shown}, which is not a whole number of 0 or more"
                ))
            })
        });
        said.flatten()
    }

    /// Asks for a window in bytes, which the method must return; `None` as above.
    fn window(
        &self,
        method: &str,
        now: Time,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Py<PyAny>>,
    ) -> Option<u64> {
        self.ask(method, now, |object| {
            let said = call(object)?;
            match said.is_none(object.py()) {
                true => Err(TidegateError::new_err("it returned None, where a window in bytes is expected")),
                false => Ok(said),
            }
        })
    }

    /// Tells the object of an event.
    fn tell(&mut self, method: &str, now: Time, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        self.now = now;
        if self.defined.contains(method) {
            self.object.call(method, None, now, call);
        }
    }
}

impl CongestionControl for PythonControl {
    fn arrived(&mut self, report: &Acknowledged) {
        self.tell("acknowledged", report.now, |object| {
            let arguments = (report.now.ticks(), PyAcknowledgement::of(report));
            object.call_method1("acknowledged", arguments).map(drop)
        });
    }

    fn measured(&mut self, now: Time, rtt: Span) {
        self.tell("measured", now, |object| {
            object.call_method1("measured", (now.ticks(), rtt.ticks())).map(drop)
        });
    }

    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        self.now = report.now;
        let said = self.window("grow", report.now, |object| {
            let arguments = (report.now.ticks(), PyWindows(*windows), PyAcknowledgement::of(report));
            object.call_method1("grow", arguments).map(Bound::unbind)
        });
        said.unwrap_or_else(|| match windows.is_slow_start() {
            true => windows.slow_start(report.new),
            false => self.avoid(windows, report),
        })
    }

    fn avoid(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        let said = self.window("avoid", report.now, |object| {
            let arguments = (report.now.ticks(), PyWindows(*windows), PyAcknowledgement::of(report));
            object.call_method1("avoid", arguments).map(Bound::unbind)
        });
        said.unwrap_or_else(|| windows.avoid())
    }

    fn not_used(&mut self, now: Time) {
        self.tell("not_used", now, |object| object.call_method1("not_used", (now.ticks(),)).map(drop));
    }

    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.now = now;
        let said = self.window("decrease", now, |object| {
            object.call_method1("decrease", (now.ticks(), PyWindows(*windows), flight)).map(Bound::unbind)
        });
        said.unwrap_or(flight / 2)
    }

    fn decrease_marked(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        let said = self.window("decrease_marked", now, |object| {
            let arguments = (now.ticks(), PyWindows(*windows), flight);
            object.call_method1("decrease_marked", arguments).map(Bound::unbind)
        });
        said.unwrap_or_else(|| self.decrease(now, windows, flight))
    }

    fn marked(&mut self, windows: &Windows, report: &Acknowledged) -> Option<u64> {
        self.ask("marked", report.now, |object| {
            let arguments = (report.now.ticks(), PyWindows(*windows), PyAcknowledgement::of(report));
            object.call_method1("marked", arguments).map(Bound::unbind)
        })
    }

    fn interval(&self, windows: &Windows, bytes: u64) -> Option<Span> {
        let said = self.ask("interval", self.now, |object| {
            object.call_method1("interval", (PyWindows(*windows), bytes)).map(Bound::unbind)
        });
        said.map(Span::from_ticks)
    }

    fn recovered(&mut self, now: Time) {
        self.tell("recovered", now, |object| object.call_method1("recovered", (now.ticks(),)).map(drop));
    }

    fn begin_anew(&mut self, now: Time) {
        self.tell("begin_anew", now, |object| object.call_method1("begin_anew", (now.ticks(),)).map(drop));
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        let object = self.object.copied(self.now);
        Box::new(PythonControl { object, defined: Arc::clone(&self.defined), now: self.now })
    }
}

/// Registers a congestion control whose objects `make(name, parameters)` returns. `defaults` are its
/// parameters; a default's type is the type of the values. `responds` says how it responds to
/// congestion marks: `loss` (RFC 3168), `share` (RFC 8257) or `each` (RFC 9331).
#[pyfunction]
#[pyo3(signature = (name, about, defaults, reads, make, responds = "loss"))]
pub fn register_congestion_control(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
    responds: &str,
) -> PyResult<()> {
    let response = match responds {
        "loss" => MarkResponse::Loss,
        "share" => MarkResponse::Share,
        "each" => MarkResponse::Each,
        _ => {
            return Err(TidegateError::new_err(format!(
                "`{name}` responds to `{responds}`: it is one of loss, share, each"
            )));
        }
    };
    let declared = Declared::new(Role::CongestionControl, name, about, defaults, reads, Marking::Never)?;
    let (declared, make) = (declared.responding(response), Arc::new(make));
    let record = declared.record;
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let control = move || {
            let object = Object::made("congestion control", record.name, &make, &values)?;
            PythonControl::new(object)
        };
        // A value that it refuses is found when the file is read.
        control().map_err(refused)?;
        Ok(CongestionControlKind::of_facts(Arc::new(facts), move || {
            Ok(Box::new(control().map_err(Refused)?) as Box<dyn CongestionControl>)
        }))
    };
    policies::register_congestion_control_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
