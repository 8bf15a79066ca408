//! Every section of a file and every key in it, declared once.

pub(crate) mod application;
pub(crate) mod connection;
pub(crate) mod contract;
pub(crate) mod flow;
pub(crate) mod gate;
pub(crate) mod matching;
pub(crate) mod network;
pub(crate) mod policies;
pub(crate) mod port;
pub(crate) mod scenario;
pub(crate) mod source;
pub(crate) mod topology;

use crate::record::{Field, Section, Shape};
use crate::section::Table;
use std::sync::LazyLock;
use tidegate_core::params::Kind;

/// The version of both formats that is read.
pub(crate) const VERSION: i64 = 1;

static SCENARIO: LazyLock<Section> =
    LazyLock::new(|| with_version("Version of the scenario format", scenario::Scenario::section()));

static GATE: LazyLock<Section> =
    LazyLock::new(|| with_version("Version of the gate format", gate::File::section()));

/// The record of a whole scenario file.
pub fn scenario() -> &'static Section {
    &SCENARIO
}

/// The record of a whole gate file.
pub fn gate() -> &'static Section {
    &GATE
}

/// A file with the key that comes first. Its value is checked before all others are read.
fn with_version(help: &'static str, mut file: Section) -> Section {
    let shape = Shape::Value(Kind::Integer(VERSION, VERSION));
    let version = Field { name: "version", shape, default: Some("1".into()), required: true, help };
    file.fields.insert(0, version);
    file
}

#[cfg(test)]
mod tests;
