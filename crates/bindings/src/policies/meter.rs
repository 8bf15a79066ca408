//! Meters that are written in Python.

use super::declared::{Declared, refused};
use super::object::Object;
use super::seen::{PyContract, PyMeteredPacket};
use super::verdict::verdict;
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading, Usage};
use tidegate_core::packet::{Colour, Packet};
use tidegate_core::params::{Marking, Role, Value};
use tidegate_core::policies;

/// A meter that calls an object in Python.
struct PythonMeter {
    object: Object,
    /// The bytes of each profile by the colours that the object wrote; `None` where it wrote none.
    usage: Vec<Option<Usage>>,
}

impl PythonMeter {
    /// Counts a packet of a profile in the colour that was written on it.
    fn count(&mut self, profile: ProfileIx, colour: Colour, len: u32) {
        if self.usage.len() <= profile.ix() {
            self.usage.resize(profile.ix() + 1, None);
        }
        let usage = self.usage[profile.ix()].get_or_insert(Usage::NOTHING);
        usage.coloured[colour as usize] += u64::from(len);
    }
}

impl Meter for PythonMeter {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        self.object.call("opened", None, None, |object| {
            object.call_method1("opened", (profile.0, PyContract(*terms))).map(drop)
        });
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let (now, before) = (cx.now, *packet);
        let said = self.object.call("arrived", Some(&before), now, |object| {
            let seen = Py::new(object.py(), PyMeteredPacket::of(&before))?;
            let said = object.call_method1("arrived", (now.ticks(), profile.0, &seen))?;
            let verdict = verdict(&said, "meter", &[Reason::Meter])?;
            Ok((verdict, seen.borrow(object.py()).written))
        });
        let Some((verdict, written)) = said else { return Verdict::Accept.into() };
        if let Some(colour) = written {
            packet.mark = packet.mark.coloured(colour);
            self.count(profile, colour, packet.len);
        }
        verdict.into()
    }

    fn forget(&mut self, profile: ProfileIx) {
        if let Some(usage) = self.usage.get_mut(profile.ix()) {
            *usage = None;
        }
        self.object
            .call("closed", None, None, |object| object.call_method1("closed", (profile.0,)).map(drop));
    }

    fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        self.usage.get(profile.ix()).copied().flatten()
    }

    fn memory(&self) -> usize {
        self.usage.capacity() * size_of::<Option<Usage>>()
    }
}

/// Registers a meter whose objects `make(name, parameters)` returns. `defaults` are its parameters;
/// a default's type is the type of the values. It divides packets by `colours`, or does not.
#[pyfunction]
pub fn register_meter(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
    colours: bool,
) -> PyResult<()> {
    let role = Role::Meter { colours };
    let declared = Declared::new(role, name, about, defaults, reads, Marking::Never)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let object = move || Object::made("meter", record.name, &make, &values);
        // A value that it refuses is found when the file is read.
        object().map_err(refused)?;
        Ok(MeterKind::of_facts(Arc::new(facts), move || {
            let object = object().map_err(Refused)?;
            Ok(Box::new(PythonMeter { object, usage: Vec::new() }))
        }))
    };
    policies::register_meter_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
