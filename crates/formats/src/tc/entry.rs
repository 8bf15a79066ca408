//! One object of `tc`, of which every key must be read.

use super::quantities;
use super::value::Value;
use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place};
use crate::suggest::brief;
use std::sync::Arc;

/// An object in the configuration, as messages name it.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) file: Arc<str>,
    /// `class 1:10`.
    pub(super) name: String,
}

impl At {
    /// A mistake in the object, or a difference from it.
    pub(super) fn says(&self, message: impl AsRef<str>, help: Option<String>) -> FormatError {
        // The handle of a qdisc ends with a colon itself.
        let name = self.name.strip_suffix(':').unwrap_or(&self.name);
        let complaint = Complaint { message: format!("{name}: {}", message.as_ref()), help };
        Origin::new(&self.file, "", &[]).error(Place::File, complaint)
    }

    pub(super) fn refuse<T>(&self, message: impl AsRef<str>) -> Result<T, FormatErrors> {
        Err(self.says(message, None).into())
    }

    pub(super) fn refuse_with<T>(
        &self,
        message: impl AsRef<str>,
        help: impl Into<String>,
    ) -> Result<T, FormatErrors> {
        Err(self.says(message, Some(help.into())).into())
    }
}

/// The keys of an object that nobody has read yet.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: At,
    keys: Vec<(String, Value)>,
}

impl Entry {
    pub(super) fn new(at: At, keys: Vec<(String, Value)>) -> Entry {
        Entry { at, keys }
    }

    /// Removes the first of the keys with this name.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.keys.iter().position(|(name, _)| name == key)?;
        Some(self.keys.remove(at).1)
    }

    /// Adds a key.
    pub(super) fn put(&mut self, key: &str, text: String) {
        self.keys.push((key.to_owned(), Value::Text(text)));
    }

    /// Removes a scalar and returns it as text.
    pub(super) fn shown(&mut self, key: &str) -> Option<String> {
        Some(match self.take(key)? {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => brief(&text),
            Value::Flag(flag) => flag.to_string(),
            Value::Null | Value::List(_) | Value::Object(_) => String::new(),
        })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| name == key)
    }

    /// Removes keys that change nothing which a gate does: counters, and numbers of the kernel's.
    pub(super) fn ignore(&mut self, keys: &[&str]) {
        self.keys.retain(|(name, _)| !keys.contains(&name.as_str()));
    }

    /// Removes sizes, which mean nothing if they are zero, and returns one that is not.
    pub(super) fn any_size(&mut self, keys: &[&str]) -> Result<Option<u64>, FormatErrors> {
        let mut found = None;
        for key in keys {
            while let Some(size) = self.size(key)? {
                found = found.or(Some(size).filter(|size| *size != 0));
            }
        }
        Ok(found)
    }

    fn wrong<T>(&self, key: &str, expected: &str) -> Result<T, FormatErrors> {
        self.at.refuse(format!("`{key}` is not {expected}"))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, FormatErrors> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => self.wrong(key, "text"),
        }
    }

    pub(super) fn needed_text(&mut self, key: &str) -> Result<String, FormatErrors> {
        match self.text(key)? {
            Some(text) => Ok(text),
            None => self.at.refuse(format!("`{key}` is missing")),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<bool, FormatErrors> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Flag(flag)) => Ok(flag),
            Some(_) => self.wrong(key, "true or false"),
        }
    }

    /// A whole number, from `least` on.
    pub(super) fn whole(&mut self, key: &str, least: i64) -> Result<Option<i64>, FormatErrors> {
        let number = match self.take(key) {
            None => return Ok(None),
            Some(Value::Number(number)) => Some(number),
            // As text of `tc class show` has it.
            Some(Value::Text(text)) => text.parse().ok(),
            Some(_) => None,
        };
        match number.filter(|number| number.fract() == 0.0 && number.abs() < 2f64.powi(53)) {
            Some(number) if number as i64 >= least => Ok(Some(number as i64)),
            _ => self.wrong(key, &format!("a whole number from {least} on")),
        }
    }

    /// A whole number that is not negative.
    pub(super) fn count(&mut self, key: &str) -> Result<Option<u64>, FormatErrors> {
        Ok(self.whole(key, 0)?.map(i64::unsigned_abs))
    }

    /// A rate in bit/s: a number in bytes per second, or text as `9500Kbit`.
    pub(super) fn rate(&mut self, key: &str) -> Result<Option<u64>, FormatErrors> {
        let rate = match self.take(key) {
            None => return Ok(None),
            Some(Value::Number(bytes)) => quantities::rate_of_bytes(bytes),
            Some(Value::Text(text)) => quantities::rate(&text),
            Some(_) => None,
        };
        rate.map_or_else(|| self.wrong(key, "a rate, from 1bit to 10tbit"), |rate| Ok(Some(rate)))
    }

    /// A size in bytes: a number, or text as `4Kb`.
    pub(super) fn size(&mut self, key: &str) -> Result<Option<u64>, FormatErrors> {
        let size = match self.take(key) {
            None => return Ok(None),
            Some(Value::Number(bytes)) => Some(bytes).filter(|bytes| *bytes >= 0.0).map(|bytes| bytes as u64),
            Some(Value::Text(text)) => quantities::size(&text),
            Some(_) => None,
        };
        size.map_or_else(|| self.wrong(key, "a size"), |size| Ok(Some(size)))
    }

    /// The object under a key; an empty one without it.
    pub(super) fn inner(&mut self, key: &str) -> Result<Entry, FormatErrors> {
        match self.take(key) {
            None => Ok(Entry::new(self.at.clone(), Vec::new())),
            Some(Value::Object(keys)) => Ok(Entry::new(self.at.clone(), keys)),
            Some(_) => self.wrong(key, "an object"),
        }
    }

    /// The keys that are left.
    pub(super) fn rest(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|(name, _)| name.as_str())
    }

    /// Refuses a key that nobody has read: its effect is not known.
    pub(super) fn end(&self) -> Result<(), FormatErrors> {
        match self.rest().next() {
            None => Ok(()),
            Some(key) => self.at.refuse_with(
                format!("`{}` is not known here", brief(key)),
                "it is not known what it does, so nothing is translated",
            ),
        }
    }
}
