//! The values read from a file, by the names of their keys; each fits its record.

use crate::error::Place;
use crate::record::Section;
use tidegate_core::classifier::matching::PortRange;
use tidegate_core::params::Value;

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

impl Values {
    /// The value of a key; `None` when the key was neither given nor has a default.
    pub(crate) fn held(&self, name: &str) -> Option<&Held> {
        self.held.iter().find(|held| held.name == name)
    }
}
