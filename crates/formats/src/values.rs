//! The values read from a file, by the names of their keys; each fits its record.

use crate::error::Place;
use crate::record::Section;
use tidegate_core::classifier::matching::PortRange;
use tidegate_core::params::{Limit, Parameter, Value};
use tidegate_core::units::Span;

/// A section as it was read: its keys in the record's order, defaults included.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub section: &'static Section,
    pub place: Place,
    pub held: Vec<Held>,
}

/// One key's value.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub name: &'static str,
    pub place: Place,
    pub given: bool,
    pub read: Read,
}

/// A value that fits its record.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Value(Value),
    Several(Vec<Value>),
    Ports(Vec<PortRange>),
    Flag(bool),
    Text(String),
    Texts(Vec<(Place, String)>),
    Table(Values),
    Tables(Vec<Values>),
}

/// Getters return `None` when the key was neither given nor has a default.
impl Values {
    fn held(&self, name: &str) -> Option<&Held> {
        self.held.iter().find(|held| held.name == name)
    }

    fn value(&self, name: &str) -> Option<&Value> {
        match &self.held(name)?.read {
            Read::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns true if the key was written, rather than left to its default.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.held(name).is_some_and(|held| held.given)
    }

    /// Place of the key's value; that of the section when the value was not written.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        self.held(name).map_or(self.place, |held| held.place)
    }

    pub(crate) fn rate(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Rate(bits) => Some(*bits),
            _ => None,
        }
    }

    pub(crate) fn time(&self, name: &str) -> Option<Span> {
        match self.value(name)? {
            Value::Time(span) => Some(*span),
            _ => None,
        }
    }

    pub(crate) fn limit(&self, name: &str) -> Option<Limit> {
        match self.value(name)? {
            Value::Limit(limit) => Some(*limit),
            _ => None,
        }
    }

    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// A whole number; its record excludes negative values.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.integer(name).and_then(|number| u64::try_from(number).ok())
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match &self.held(name)?.read {
            Read::Text(text) | Read::Value(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A value that is one of some words.
    pub(crate) fn word<P: Parameter>(&self, name: &str) -> Option<P> {
        P::of(&Value::Text(self.text(name)?.to_owned())).ok()
    }

    pub(crate) fn texts(&self, name: &str) -> Option<&[(Place, String)]> {
        match &self.held(name)?.read {
            Read::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.held(name)?.read {
            Read::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Size(bytes) => Some(*bytes),
            _ => None,
        }
    }

    /// Sizes in bytes: one or several.
    pub(crate) fn sizes(&self, name: &str) -> Option<Vec<u64>> {
        let Read::Several(values) = &self.held(name)?.read else { return None };
        let size = |value: &Value| match value {
            Value::Size(bytes) => Some(*bytes),
            _ => None,
        };
        values.iter().map(size).collect()
    }

    /// Texts: one or several; none when the key was left out.
    pub(crate) fn several_texts(&self, name: &str) -> Vec<&str> {
        let Some(Held { read: Read::Several(values), .. }) = self.held(name) else { return Vec::new() };
        values
            .iter()
            .filter_map(|value| match value {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Whole numbers: one or several; none when the key was left out.
    pub(crate) fn several_integers(&self, name: &str) -> Vec<i64> {
        let Some(Held { read: Read::Several(values), .. }) = self.held(name) else { return Vec::new() };
        let integer = |value: &Value| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        };
        values.iter().filter_map(integer).collect()
    }

    /// Ports; none when the key was left out.
    pub(crate) fn ports(&self, name: &str) -> &[PortRange] {
        match self.held(name) {
            Some(Held { read: Read::Ports(ports), .. }) => ports,
            _ => &[],
        }
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Values> {
        match &self.held(name)?.read {
            Read::Table(values) => Some(values),
            _ => None,
        }
    }

    /// The tables under a key; none when it was left out.
    pub(crate) fn tables(&self, name: &str) -> &[Values] {
        match self.held(name) {
            Some(Held { read: Read::Tables(tables), .. }) => tables,
            _ => &[],
        }
    }

    /// Every plain value, by its key.
    pub(crate) fn settings(&self) -> Vec<(&'static str, Value)> {
        let plain = |held: &Held| match &held.read {
            Read::Value(value) => Some((held.name, value.clone())),
            _ => None,
        };
        self.held.iter().filter_map(plain).collect()
    }
}
