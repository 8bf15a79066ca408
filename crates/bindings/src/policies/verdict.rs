//! Verdicts of policies that are written in Python.

use crate::error::TidegateError;
use pyo3::prelude::*;
use tidegate_core::context::{Reason, Verdict};

/// The verdict that an object stands for: None, `Drop(reason)` or `Congested(reason)`, where the
/// policy of this role may have these reasons.
pub(super) fn verdict(said: &Bound<'_, PyAny>, role: &str, reasons: &[Reason]) -> PyResult<Verdict> {
    if said.is_none() {
        return Ok(Verdict::Accept);
    }
    let (name, may_mark) = said.extract::<(String, bool)>().map_err(|_| {
        TidegateError::new_err(format!(
            "it returned {}, which is no verdict: None, `Drop` or `Congested`",
            shown(said)
        ))
    })?;
    let Some(reason) = reasons.iter().copied().find(|reason| reason.name() == name) else {
        let names: Vec<&str> = reasons.iter().copied().map(Reason::name).collect();
        let known = match names.as_slice() {
            [only] => format!("it is {only}"),
            several => format!("it is one of {}", several.join(", ")),
        };
        return Err(TidegateError::new_err(format!("`{name}` is no reason of a {role}: {known}")));
    };
    Ok(if may_mark { Verdict::Congested(reason) } else { Verdict::Drop(reason) })
}

/// A value as Python shows it, for messages.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "?".to_owned(), |repr| repr.to_string())
}
