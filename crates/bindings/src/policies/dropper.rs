//! Droppers that are written in Python.

use super::declared::{Declared, refused};
use super::object::Object;
use super::seen::{PyContract, PyPacket, PyQueue};
use super::verdict::verdict;
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::dropper::{Dropper, DropperKind, Left, Occupancy};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{Marking, Role, Value};
use tidegate_core::policies;
use tidegate_core::units::{Rate, Time};

/// The reasons of a dropper.
const REASONS: &[Reason] = &[Reason::QueueLimit, Reason::EarlyDrop, Reason::ForcedDrop, Reason::SojournTime];

/// A dropper that calls an object in Python.
struct PythonDropper {
    object: Object,
    /// Packets that it has admitted, by their bodies, as the object knows them.
    admitted: BTreeMap<u32, Py<PyPacket>>,
}

impl PythonDropper {
    /// Asks a method of the object for its verdict.
    fn judge(
        &self,
        method: &str,
        now: Time,
        packet: &Packet,
        at: &Occupancy,
        seen: impl FnOnce(Python<'_>) -> PyResult<Py<PyPacket>>,
    ) -> Option<(Verdict, Py<PyPacket>)> {
        self.object.call(method, Some(packet), now, |object| {
            let seen = seen(object.py())?;
            let said = object.call_method1(method, (now.ticks(), &seen, PyQueue(*at)))?;
            Ok((verdict(&said, "dropper", REASONS)?, seen))
        })
    }

    fn known(&self, py: Python<'_>, packet: &Packet) -> PyResult<Py<PyPacket>> {
        match self.admitted.get(&packet.body.0) {
            Some(seen) => Ok(seen.clone_ref(py)),
            // It was queued before the dropper was set up.
            None => Py::new(py, PyPacket::of(packet)),
        }
    }
}

impl Dropper for PythonDropper {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let rate = rate.map(Rate::bits_per_second);
        self.object.call("rate_set", None, now, |object| {
            object.call_method1("rate_set", (now.ticks(), rate)).map(drop)
        });
    }

    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract) {
        self.object.call("opened", None, now, |object| {
            object.call_method1("opened", (now.ticks(), flow.0, PyContract(*contract))).map(drop)
        });
    }

    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let judged = self.judge("arrived", cx.now, packet, at, |py| Py::new(py, PyPacket::of(packet)));
        let Some((verdict, seen)) = judged else { return Verdict::Accept };
        if !matches!(verdict, Verdict::Drop(_)) {
            self.admitted.insert(packet.body.0, seen);
        }
        verdict
    }

    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let judged = self.judge("selected", cx.now, packet, at, |py| self.known(py, packet));
        judged.map_or(Verdict::Accept, |(verdict, _)| verdict)
    }

    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Occupancy, how: Left) {
        let now = cx.now;
        let how = match how {
            Left::Sent => "sent",
            Left::PushedOut => "pushed-out",
            Left::DroppedAtHead => "dropped",
            Left::Refused => "refused",
            Left::Moved => "moved",
        };
        self.object.call("left", Some(packet), now, |object| {
            let seen = self.known(object.py(), packet)?;
            object.call_method1("left", (now.ticks(), seen, how)).map(drop)
        });
        self.admitted.remove(&packet.body.0);
    }
}

/// Registers a dropper whose objects `make(name, parameters)` returns. `defaults` are its
/// parameters; a default's type is the type of the values. It marks packets if `marks`.
#[pyfunction]
#[pyo3(signature = (name, about, defaults, reads, make, marks = false))]
pub fn register_dropper(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
    marks: bool,
) -> PyResult<()> {
    let marking = if marks { Marking::EcnCapable { by: None } } else { Marking::Never };
    let declared = Declared::new(Role::Dropper, name, about, defaults, reads, marking)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let object = move || Object::made("dropper", record.name, &make, &values);
        // A value that it refuses is found when the file is read.
        object().map_err(refused)?;
        Ok(DropperKind::of_facts(Arc::new(facts), move || {
            let object = object().map_err(Refused)?;
            Ok(Box::new(PythonDropper { object, admitted: BTreeMap::new() }))
        }))
    };
    policies::register_dropper_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
