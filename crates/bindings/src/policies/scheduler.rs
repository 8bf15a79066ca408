//! Schedulers that are written in Python. The queues that their authors see are kept in Python
//! (`tidegate/scheduler.py`).

use super::declared::{Declared, refused};
use super::object::Object;
use super::seen::{PyContract, PyPacket};
use super::verdict::shown;
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use tidegate_core::context::Ctx;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{Marking, Role, Service, Value};
use tidegate_core::policies;
use tidegate_core::queues::{Participation, Queues};
use tidegate_core::scheduler::{Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::units::{Rate, Time};

/// A scheduler that calls an object in Python.
struct PythonScheduler {
    object: Object,
}

impl PythonScheduler {
    /// The flow that the object selects, checked.
    fn selected(&self, now: Time, queues: &Queues) -> Option<Select> {
        let may_be_sent =
            |flow: FlowIx| flow.0 < queues.flows() && queues.len(flow) > 0 && queues.takes_part(flow);
        self.object.call("select", None, now, |object| {
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
                let shown = shown(&selected);
                TidegateError::new_err(format!("it returned {shown}, which is no flow: an `int` or None"))
            })?;
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
        self.object.call("rate_set", None, now, |object| {
            object.call_method1("rate_set", (now.ticks(), rate)).map(drop)
        });
    }

    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.object.call("opened", None, now, |object| {
            object.call_method1("opened", (now.ticks(), flow.0, PyContract(*contract))).map(drop)
        });
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, _: &Queues) {
        let seen = PyPacket::of(packet);
        let now = cx.now;
        self.object.call("arrived", Some(packet), now, |object| {
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
        self.object.call("served", Some(packet), now, |object| {
            object.call_method1("_dequeue", (now.ticks(), packet.flow.0)).map(drop)
        });
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Queues, why: Removal) {
        let (now, is_last) = (cx.now, why == Removal::PushedOut);
        self.object.call("lost", Some(packet), now, |object| {
            object.call_method1("_remove", (now.ticks(), packet.flow.0, is_last)).map(drop)
        });
    }

    fn loses_by_length(&self) -> bool {
        true
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        let takes_part = queues.takes_part(flow);
        self.object.call("_take_part", None, now, |object| {
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
    let role = Role::Scheduler { service: Service::WorkConserving };
    let declared = Declared::new(role, name, about, defaults, reads, Marking::Never)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let object = move || Object::made("scheduler", record.name, &make, &values);
        // A value that it refuses is found when the file is read.
        object().map_err(refused)?;
        Ok(SchedulerKind::of_facts(Arc::new(facts), move || {
            let object = object().map_err(Refused)?;
            Ok(Box::new(PythonScheduler { object }))
        }))
    };
    policies::register_scheduler_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
