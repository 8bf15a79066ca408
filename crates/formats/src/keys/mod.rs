//! Every section of a file and every key in it, declared once.

pub(crate) mod abr;
pub(crate) mod application;
pub(crate) mod connection;
pub(crate) mod contract;
pub(crate) mod credit;
pub(crate) mod flow;
pub(crate) mod gate;
pub(crate) mod loss;
pub(crate) mod matching;
pub(crate) mod matrix;
pub(crate) mod network;
pub(crate) mod policies;
pub(crate) mod port;
pub(crate) mod routing;
pub(crate) mod scenario;
pub(crate) mod source;
pub(crate) mod stage;
pub(crate) mod topology;
pub(crate) mod wire;

use crate::record::{Field, Section, Shape};
use crate::section::Table;
use std::sync::{Mutex, PoisonError};
use tidegate_core::params::Kind;
use tidegate_core::policies::registered;

/// The version of both formats that is read.
pub(crate) const VERSION: i64 = 1;

/// The record of a whole scenario file.
pub fn scenario() -> &'static Section {
    static SCENARIO: Whole = Whole::new();
    SCENARIO.of_all_policies(|| with_version("Version of the scenario format", scenario::Scenario::section()))
}

/// The record of a whole gate file.
pub fn gate() -> &'static Section {
    static GATE: Whole = Whole::new();
    GATE.of_all_policies(|| with_version("Version of the gate format", gate::File::section()))
}

/// The record of a whole file. It is made once, and again when policies have been registered since;
/// the one before stays, since a file may be read by it at the moment.
struct Whole(Mutex<Option<(usize, &'static Section)>>);

impl Whole {
    const fn new() -> Whole {
        Whole(Mutex::new(None))
    }

    fn of_all_policies(&self, make: impl FnOnce() -> Section) -> &'static Section {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = registered().len();
        match *made {
            Some((of, section)) if of == count => section,
            _ => made.insert((count, Box::leak(Box::new(make())))).1,
        }
    }
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
