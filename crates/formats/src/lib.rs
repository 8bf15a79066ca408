//! The formats that people write and read: scenarios with their units, the records behind every
//! key, and the columns of result tables.
//!
//! A scenario is TOML. [`Scenario::load`] reads one, checks that its parts fit each other, and
//! answers a mistake with its file, line and column, what was expected and the nearest valid name.
//! Every key is declared once in [`keys`]; from there come also [`schema`], [`reference()`] and
//! [`python_types`].

mod application;
mod colour;
pub mod columns;
mod csv_table;
mod dscp;
mod error;
mod expression;
mod file;
mod gate;
mod graph_file;
mod input_file;
mod json;
pub mod keys;
pub mod libreqos;
mod policy;
mod policy_names;
mod port;
mod prefix;
mod read;
pub mod record;
mod renamed;
mod scalar;
mod scenario;
mod section;
mod set;
mod source;
mod stage_terms;
mod suggest;
pub mod tc;
mod trace_file;
mod tree;
pub mod units;
mod unknown_key;
mod values;
mod wire;
mod write;

pub use application::{Application, Lasts, TransferArrivals, TransferSizes};
pub use error::{Complaint, FormatError, FormatErrors, MAX_REPORTED, Place, in_words, without_numbers};
pub use file::LARGEST_FILE;
pub use gate::{
    DirectionTerms, Fail, GateClass, GateFile, GateFlow, GateOutline, Io, KeyChange, LONGEST_FRAME, Named,
    Operation, Owner, Promise, Within,
};
pub use policy::Chosen;
pub use port::CreditSpec;
pub use port::{Class, ContractSpec, DropperSpec, PortSpec};
pub use scenario::{
    Admission, Assurance, ChangeSpec, Destinations, Flow, FlowGroup, HeadersSpec, Link, Load, Node, NodeKind,
    Paths, Played, Profile, Router, Scenario, StageSpec, WhenWarned, route,
};
pub use scenario::{CreditLinks, LinkCredit, OutputCredit};
pub use source::{Source, built_in_sources};
pub use stage_terms::StageTerms;
pub use tree::toml_as_json;
pub use write::{gate_reference, gate_schema, python_tables, python_types, reference, schema};
