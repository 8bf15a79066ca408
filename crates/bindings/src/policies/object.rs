//! An object of Python that a policy calls, until a call raises.

use super::failure::{self, Failure};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_core::packet::Packet;
use tidegate_core::params::Value;
use tidegate_core::units::Time;

/// The object behind a policy.
pub(super) struct Object {
    /// The policy's role and name, for messages.
    what: String,
    object: Py<PyAny>,
    /// True once a call has raised: nothing is called any more, and the run reports it.
    failed: AtomicBool,
}

impl Object {
    /// The object that `make(name, parameters)` returns.
    ///
    /// # Errors
    /// The exception in words.
    pub(super) fn made(
        role: &str,
        name: &'static str,
        make: &Py<PyAny>,
        values: &[(&'static str, Value)],
    ) -> Result<Object, String> {
        Python::attach(|py| {
            let object = || {
                let parameters = PyDict::new(py);
                for (key, value) in values {
                    match value {
                        Value::Integer(whole) => parameters.set_item(key, whole)?,
                        Value::Number(number) => parameters.set_item(key, number)?,
                        Value::Text(text) => parameters.set_item(key, text)?,
                        _ => unreachable!("no other parameter is declared"),
                    }
                }
                make.call1(py, (name, parameters))
            };
            let object = object().map_err(|error| failure::in_words(py, &error))?;
            Ok(Object { what: format!("{role} `{name}`"), object, failed: AtomicBool::new(false) })
        })
    }

    /// Returns what the object says about itself when it is new.
    ///
    /// # Errors
    /// The exception in words.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>) -> Result<R, String> {
        Python::attach(|py| read(self.object.bind(py)).map_err(|error| failure::in_words(py, &error)))
    }

    /// A copy of the object with its state.
    pub(super) fn copied(&self, now: Time) -> Object {
        let copied = self.call("__deepcopy__", None, now, |object| {
            let copy = object.py().import("copy")?.getattr("deepcopy")?;
            Ok(copy.call1((object,))?.unbind())
        });
        let failed = AtomicBool::new(copied.is_none());
        let object = copied.unwrap_or_else(|| Python::attach(|py| py.None()));
        Object { what: self.what.clone(), object, failed }
    }

    /// Calls the object; `None` once it has raised. `about` is the packet in question, and `now` the
    /// time, where the policy knows them.
    pub(super) fn call<R>(
        &self,
        method: &str,
        about: Option<&Packet>,
        now: impl Into<Option<Time>>,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        let place = || {
            let packet = about.map_or(String::new(), |packet| {
                format!(", at a packet of {} bytes of the port's flow {}", packet.len, packet.flow.0)
            });
            let after = now.into().map_or(String::new(), |now| {
                format!(", {} s after the start", now.since(Time::ORIGIN).as_secs_f64())
            });
            format!(", `{method}`{packet}{after}")
        };
        self.call_at(place, call)
    }

    /// Calls the object; `None` once it has raised. `place` names the call after the policy.
    pub(super) fn call_at<R>(
        &self,
        place: impl FnOnce() -> String,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| match call(self.object.bind(py)) {
            Ok(result) => Some(result),
            Err(error) => {
                self.failed.store(true, Ordering::Relaxed);
                failure::keep(Failure { place: format!("{}{}", self.what, place()), error });
                None
            }
        })
    }
}
