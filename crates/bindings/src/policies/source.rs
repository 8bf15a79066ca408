//! Sources that are written in Python.

use super::declared::{Declared, refused};
use super::failure::{self, Failure};
use super::object::Object;
use super::verdict::shown;
use crate::error::TidegateError;
use core::fmt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use std::sync::Arc;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::open_loop::{PacketSource, SourceKind, SourceMaker};
use tidegate_core::params::{Marking, Role, Value};
use tidegate_core::policies;
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_formats::built_in_sources;

/// Makes an object in Python for each flow.
struct PythonSources {
    name: &'static str,
    make: Arc<Py<PyAny>>,
    values: Vec<(&'static str, Value)>,
}

impl fmt::Debug for PythonSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonSources").field("name", &self.name).field("values", &self.values).finish()
    }
}

impl PythonSources {
    fn object(&self) -> Result<Object, String> {
        Object::made("source", self.name, &self.make, &self.values)
    }
}

impl SourceMaker for PythonSources {
    fn make(&self, flow: &str, sizes: &[u32], mut rng: Rng) -> Box<dyn PacketSource> {
        let object = match self.object() {
            Ok(object) => object,
            Err(why) => {
                let place = format!("source `{}` of flow `{flow}`", self.name);
                failure::keep(Failure { place, error: TidegateError::new_err(why) });
                return Box::new(Ended);
            }
        };
        let (high, low) = (rng.bits(), rng.bits());
        let packets = object.call_at(
            || format!(", `packets`, of flow `{flow}`"),
            |object| {
                let packets = object.call_method1("_start", (high, low, sizes.to_vec()))?;
                Ok(packets.cast_into::<PyIterator>()?.unbind())
            },
        );
        let Some(packets) = packets else { return Box::new(Ended) };
        let largest = sizes.iter().copied().max().unwrap_or(0);
        Box::new(PythonSource { object, packets, flow: flow.to_owned(), largest, count: 0 })
    }
}

/// A source without packets.
struct Ended;

impl PacketSource for Ended {
    fn next_packet(&mut self) -> Option<(Span, u32)> {
        None
    }
}

/// The packets that an iterator in Python yields.
struct PythonSource {
    object: Object,
    packets: Py<PyIterator>,
    flow: String,
    /// The largest packet in bytes.
    largest: u32,
    /// Packets so far.
    count: u64,
}

impl PacketSource for PythonSource {
    fn next_packet(&mut self) -> Option<(Span, u32)> {
        let place = || format!(", `packets`, at packet {} of flow `{}`", self.count, self.flow);
        let next = self.object.call_at(place, |object| {
            let Some(next) = self.packets.bind(object.py()).clone().next() else { return Ok(None) };
            let next = next?;
            let (gap, length) = next.extract::<(u64, u32)>().map_err(|_| {
                TidegateError::new_err(format!(
                    "it yielded {}, which is no packet: whole ticks since the one before, and bytes",
                    shown(&next)
                ))
            })?;
            if length == 0 || length > self.largest {
                return Err(TidegateError::new_err(format!(
                    "it yielded a packet of {length} bytes: the flow's have 1 to {} by its `size`",
                    self.largest
                )));
            }
            Ok(Some((Span::from_ticks(gap), length)))
        });
        self.count += 1;
        next.flatten()
    }
}

/// Registers a source whose objects `make(name, parameters)` returns. `defaults` are its
/// parameters; a default's type is the type of the values.
#[pyfunction]
pub fn register_source(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
) -> PyResult<()> {
    let declared = Declared::new(Role::Source, name, about, defaults, reads, Marking::Never)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let sources = move || PythonSources { name: record.name, make: make.clone(), values: values.clone() };
        // A value that it refuses is found when the file is read.
        sources().object().map_err(refused)?;
        Ok(SourceKind::of_facts(Arc::new(facts), move || Ok::<_, Refused>(Box::new(sources()))))
    };
    policies::register_source_at_run_time(record, &built_in_sources(), read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
