//! Schedulers that are written in Python. The queues that their authors see are kept in Python
//! (`tidegate/scheduler.py`); times are ticks of 10 ps.

use crate::error::TidegateError;
use crate::failure::{self, Failure};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::sync::Arc;
use tidegate_core::context::Ctx;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{
    Carry, Fault, Kind, Param, PolicyRecord, Role, RunTimeFacts, Service, Stamps, Value,
};
use tidegate_core::policies;
use tidegate_core::queues::{Participation, Queues};
use tidegate_core::scheduler::{Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::units::{Rate, Time};

/// A packet as a scheduler in Python sees it. Other attributes are the scheduler's own.
#[pyclass(dict, name = "Packet", module = "tidegate._tidegate")]
pub struct PyPacket {
    /// The flow's index at the port.
    #[pyo3(get)]
    flow: u32,
    /// Length in bytes.
    #[pyo3(get)]
    length: u32,
    /// Time of arrival, in ticks.
    #[pyo3(get)]
    arrived: u64,
    /// Differentiated services code point (RFC 2474).
    #[pyo3(get)]
    dscp: u8,
    /// ECN codepoint (RFC 3168).
    #[pyo3(get)]
    ecn: u8,
}

#[pymethods]
impl PyPacket {
    fn __repr__(&self) -> String {
        format!("Packet(flow={}, length={}, arrived={})", self.flow, self.length, self.arrived)
    }
}

/// The contract of a flow with every port on its way.
#[pyclass(frozen, name = "Contract", module = "tidegate._tidegate")]
pub struct PyContract(Contract);

#[pymethods]
impl PyContract {
    /// Reserved average rate in bit/s; `None` for a datagram flow.
    #[getter]
    fn reserve(&self) -> Option<f64> {
        self.0.reserve.map(Rate::bits_per_second)
    }

    /// Average interval in ticks.
    #[getter]
    fn interval(&self) -> Option<u64> {
        self.0.interval.map(|span| span.ticks())
    }

    /// Head start in ticks.
    #[getter]
    fn head_start(&self) -> u64 {
        self.0.head_start.ticks()
    }

    /// Priority level, 0 the most urgent.
    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }

    /// Maximum workahead in bytes.
    #[getter]
    fn workahead(&self) -> Option<u64> {
        self.0.max_workahead()
    }

    /// Peak rate in bit/s.
    #[getter]
    fn peak(&self) -> Option<f64> {
        self.0.peak.map(Rate::bits_per_second)
    }

    /// Local delay bound in ticks.
    #[getter]
    fn deadline(&self) -> Option<u64> {
        self.0.deadline.map(|span| span.ticks())
    }

    /// Ticks that `length` bytes take at the reserved rate, rounded to the nearest; `None` without
    /// one.
    fn time_for(&self, length: u32) -> Option<u64> {
        self.0.reserve.map(|rate| rate.time_for(length).ticks())
    }
}

/// A scheduler that calls an object in Python.
struct PythonScheduler {
    name: &'static str,
    object: Py<PyAny>,
    /// True once a call has raised: the port sends nothing more, and the run reports it.
    failed: Cell<bool>,
}

impl PythonScheduler {
    /// Calls the object. `about` is the packet in question.
    fn call<R>(
        &self,
        method: &str,
        about: Option<&Packet>,
        now: Option<Time>,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        if self.failed.get() {
            return None;
        }
        Python::attach(|py| match call(py, self.object.bind(py)) {
            Ok(result) => Some(result),
            Err(error) => {
                self.failed.set(true);
                let packet = about.map_or(String::new(), |packet| {
                    format!(", at a packet of {} bytes of the port's flow {}", packet.len, packet.flow.0)
                });
                let at = now.map_or(String::new(), |now| {
                    format!(", {} s after the start", now.since(Time::ORIGIN).as_secs_f64())
                });
                let place = format!("scheduler `{}`, `{method}`{packet}{at}", self.name);
                failure::keep(Failure { place, error });
                None
            }
        })
    }

    /// The flow that the object selects, checked.
    fn selected(&self, now: Time, queues: &Queues) -> Option<Select> {
        let may_be_sent =
            |flow: FlowIx| flow.0 < queues.flows() && queues.len(flow) > 0 && queues.takes_part(flow);
        self.call("select", None, Some(now), |py, object| {
            let selected = object.call_method1("select", (now.ticks(),))?;
            if selected.is_none() {
                let waiting = (0..queues.flows()).map(FlowIx).find(|flow| may_be_sent(*flow));
                return match waiting {
                    Some(flow) => Err(TidegateError::new_err(format!(
                        "it returned None, and flow {} has a packet that may be sent",
                        flow.0
                    ))),
                    None => Ok(Select::Idle),
                };
            }
            let flow = selected.extract::<u32>().map_err(|_| {
                let shown = selected.repr().map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
                TidegateError::new_err(format!("it returned {shown}, which is no flow: an `int` or None"))
            })?;
            let _ = py;
            match may_be_sent(FlowIx(flow)) {
                true => Ok(Select::Flow(FlowIx(flow))),
                false => Err(TidegateError::new_err(format!(
                    "it returned flow {flow}, which has no packet that may be sent"
                ))),
            }
        })
    }
}

impl Scheduler for PythonScheduler {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let rate = rate.map(Rate::bits_per_second);
        self.call("rate_set", None, Some(now), |_, object| {
            object.call_method1("rate_set", (now.ticks(), rate)).map(drop)
        });
    }

    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.call("opened", None, Some(now), |_, object| {
            object.call_method1("opened", (now.ticks(), flow.0, PyContract(*contract))).map(drop)
        });
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, _: &Queues) {
        let seen = PyPacket {
            flow: packet.flow.0,
            length: packet.len,
            arrived: packet.arrived.ticks(),
            dscp: packet.mark.dscp(),
            ecn: packet.mark.ecn(),
        };
        let now = cx.now;
        self.call("arrived", Some(packet), Some(now), |_, object| {
            object.call_method1("_enqueue", (now.ticks(), seen)).map(drop)
        });
    }

    fn select(&self, now: Time, queues: &Queues) -> Select {
        if queues.is_empty() {
            return Select::Idle;
        }
        self.selected(now, queues).unwrap_or(Select::Idle)
    }

    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, _: &Queues) {
        let now = cx.now;
        self.call("served", Some(packet), Some(now), |_, object| {
            object.call_method1("_dequeue", (now.ticks(), packet.flow.0)).map(drop)
        });
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Queues, why: Removal) {
        let (now, is_last) = (cx.now, why == Removal::PushedOut);
        self.call("lost", Some(packet), Some(now), |_, object| {
            object.call_method1("_remove", (now.ticks(), packet.flow.0, is_last)).map(drop)
        });
    }

    fn loses_by_length(&self) -> bool {
        true
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        let takes_part = queues.takes_part(flow);
        self.call("_take_part", None, Some(now), |_, object| {
            object.call_method1("_take_part", (flow.0, takes_part)).map(drop)
        });
    }

    fn memory(&self) -> usize {
        size_of::<PythonScheduler>()
    }
}

/// Registers a scheduler whose objects `make(name, parameters)` returns. `defaults` are its
/// parameters; a default's type is the type of the values.
#[pyfunction]
pub fn register_scheduler(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
) -> PyResult<()> {
    let mut params = Vec::new();
    let mut usual = Vec::new();
    for (key, default) in defaults {
        let (param, value) = parameter(leaked(key.extract()?), &default)?;
        usual.push((param.name, value));
        params.push(param);
    }
    let reads: Vec<&'static str> = reads.into_iter().map(leaked).collect();
    let record: &'static PolicyRecord = Box::leak(Box::new(PolicyRecord {
        name: leaked(name),
        title: leaked(about.clone()),
        role: Role::Scheduler { service: Service::WorkConserving },
        help: leaked(about),
        source: "written in Python",
        params: Vec::leak(params),
        reads: Vec::leak(reads),
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    }));
    let make = Arc::new(make);
    let read = move |given: &[(&'static str, Value)]| {
        let value = |(name, default): &(&'static str, Value)| {
            let own = given.iter().find(|(key, _)| key == name);
            (*name, own.map_or_else(|| default.clone(), |(_, value)| value.clone()))
        };
        let values: Vec<_> = usual.iter().map(value).collect();
        // A value that it refuses is found when the file is read.
        made(record, &make, &values).map_err(|why| Fault::at("kind", why))?;
        let (make, facts) = (Arc::clone(&make), Arc::new(RunTimeFacts { record, values: values.clone() }));
        Ok(SchedulerKind::of_facts(facts, move || match made(record, &make, &values) {
            Ok(scheduler) => Ok(Box::new(scheduler)),
            Err(why) => Err(Refused(why)),
        }))
    };
    policies::register_scheduler_at_run_time(record, read)
        .map_err(|refused| TidegateError::new_err(refused.to_string()))
}

/// Makes a scheduler of a record with these values.
fn made(
    record: &'static PolicyRecord,
    make: &Py<PyAny>,
    values: &[(&'static str, Value)],
) -> Result<PythonScheduler, String> {
    Python::attach(|py| {
        let object = || {
            let parameters = PyDict::new(py);
            for (name, value) in values {
                match value {
                    Value::Integer(whole) => parameters.set_item(name, whole)?,
                    Value::Number(number) => parameters.set_item(name, number)?,
                    Value::Text(text) => parameters.set_item(name, text)?,
                    _ => unreachable!("no other parameter is declared"),
                }
            }
            make.call1(py, (record.name, parameters))
        };
        let object = object().map_err(|error| failure::in_words(py, &error))?;
        Ok(PythonScheduler { name: record.name, object, failed: Cell::new(false) })
    })
}

/// The declaration of a parameter, and its default.
fn parameter(name: &'static str, default: &Bound<'_, PyAny>) -> PyResult<(Param, Value)> {
    let (kind, value) = if let Ok(whole) = default.extract::<i64>() {
        (Kind::Integer(i64::MIN, i64::MAX), Value::Integer(whole))
    } else if let Ok(number) = default.extract::<f64>() {
        (Kind::Number(f64::MIN, f64::MAX), Value::Number(number))
    } else if let Ok(text) = default.extract::<String>() {
        (Kind::Text, Value::Text(text))
    } else {
        return Err(TidegateError::new_err(format!(
            "the default of the parameter `{name}` is {}; it is a whole number, a number or text",
            default.repr()?
        )));
    };
    let help = leaked(format!("Parameter of its author's; by default {default}"));
    let param = Param { name, kind, default: || None, in_gate: || None, required: false, help };
    Ok((param, value))
}

/// Text that lasts as long as the process, as names of policies do.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
