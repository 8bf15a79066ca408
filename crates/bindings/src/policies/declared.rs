//! The declaration of a policy by its class in Python, of which its record is made.

use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_core::params::{
    Carry, Fault, Kind, MarkResponse, Marking, Param, PolicyRecord, Role, RunTimeFacts, Stamps, Value,
};

/// A policy as its class declares it.
pub(super) struct Declared {
    pub(super) record: &'static PolicyRecord,
    /// Its parameters, with their defaults.
    defaults: Vec<(&'static str, Value)>,
    marking: Marking,
    mark_response: MarkResponse,
}

impl Declared {
    /// `defaults` are its parameters; a default's type is the type of the values.
    pub(super) fn new(
        role: Role,
        name: String,
        about: String,
        defaults: &Bound<'_, PyDict>,
        reads: Vec<String>,
        marking: Marking,
    ) -> PyResult<Declared> {
        let declared = defaults.iter().map(|(key, default)| parameter(leaked(key.extract()?), &default));
        let (params, defaults): (Vec<_>, Vec<_>) =
            declared.collect::<PyResult<Vec<_>>>()?.into_iter().unzip();
        let reads: Vec<&'static str> = reads.into_iter().map(leaked).collect();
        let record: &'static PolicyRecord = Box::leak(Box::new(PolicyRecord {
            name: leaked(name),
            title: leaked(about.clone()),
            role,
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
        Ok(Declared { record, defaults, marking, mark_response: MarkResponse::Loss })
    }

    /// A congestion control that responds to marks in this way.
    pub(super) fn responding(self, mark_response: MarkResponse) -> Declared {
        Declared { mark_response, ..self }
    }

    /// The facts about a policy that a file gives these values.
    pub(super) fn facts(&self, given: &[(&'static str, Value)]) -> RunTimeFacts {
        let value = |(name, default): &(&'static str, Value)| {
            let own = given.iter().find(|(key, _)| key == name);
            (*name, own.map_or_else(|| default.clone(), |(_, value)| value.clone()))
        };
        let values = self.defaults.iter().map(value).collect();
        RunTimeFacts { record: self.record, values, marking: self.marking, mark_response: self.mark_response }
    }
}

/// The fault of a policy whose maker raises.
pub(super) fn refused(why: String) -> Fault {
    Fault::at("kind", why)
}

/// The declaration of a parameter, and its default.
fn parameter(name: &'static str, default: &Bound<'_, PyAny>) -> PyResult<(Param, (&'static str, Value))> {
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
    Ok((param, (name, value)))
}

/// Text that lasts as long as the process, as names of policies do.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
