//! Detectors that are written in Python. The flows that they have named are kept in Python
//! (`tidegate/detector.py`).

use super::declared::{Declared, refused};
use super::object::Object;
use super::seen::{PyContract, PyPacket};
use super::verdict::verdict;
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use tidegate_core::context::{Ctx, Effect, Finding, Reason, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::detector::{Detector, DetectorKind};
use tidegate_core::packet::{FlowIx, Packet, PortIx};
use tidegate_core::params::{Marking, Role, Value};
use tidegate_core::policies;

/// A detector that calls an object in Python.
struct PythonDetector {
    object: Object,
    /// True if the object's class looks at packets that arrive.
    sees_arrivals: bool,
}

impl PythonDetector {
    /// Shows the object a packet, and reports what it finds; returns its verdict.
    fn show(&self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet, method: &str, inner: &str) -> Verdict {
        let now = cx.now;
        let said = self.object.call(method, Some(packet), now, |object| {
            let seen = PyPacket::of(packet);
            let (said, found): (Bound<'_, PyAny>, Vec<(u32, bool)>) =
                object.call_method1(inner, (now.ticks(), seen))?.extract()?;
            Ok((verdict(&said, "detector", &[Reason::NonResponsive])?, found))
        });
        let Some((verdict, found)) = said else { return Verdict::Accept };
        for (flow, is_named) in found {
            let finding = if is_named { Finding::NonResponsive } else { Finding::BackedOff };
            cx.out.push(Effect::Finding { port, flow: FlowIx(flow), body: packet.body, finding });
        }
        verdict
    }
}

impl Detector for PythonDetector {
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        self.object.call("opened", None, None, |object| {
            object.call_method1("opened", (flow.0, PyContract(*contract))).map(drop)
        });
    }

    fn forget(&mut self, flow: FlowIx) {
        self.object.call("closed", None, None, |object| object.call_method1("_close", (flow.0,)).map(drop));
    }

    fn dropped(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) {
        self.show(cx, port, packet, "dropped", "_dropped");
    }

    fn sees_arrivals(&self) -> bool {
        self.sees_arrivals
    }

    fn arrive(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) -> Verdict {
        self.show(cx, port, packet, "arrived", "_arrived")
    }
}

/// Registers a detector whose objects `make(name, parameters)` returns. `defaults` are its
/// parameters; a default's type is the type of the values.
#[pyfunction]
pub fn register_detector(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
) -> PyResult<()> {
    let declared = Declared::new(Role::Detector, name, about, defaults, reads, Marking::Never)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let object = move || Object::made("detector", record.name, &make, &values);
        // A value that it refuses is found when the file is read.
        object().map_err(refused)?;
        Ok(DetectorKind::of_facts(Arc::new(facts), move || {
            let object = object().map_err(Refused)?;
            let sees_arrivals = object.read(|object| object.getattr("_sees_arrivals")?.extract());
            Ok(Box::new(PythonDetector { sees_arrivals: sees_arrivals.map_err(Refused)?, object }))
        }))
    };
    policies::register_detector_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
