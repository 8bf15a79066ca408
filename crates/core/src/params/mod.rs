//! The parameters of a policy, and the facts about it that users and other modules need.
//!
//! The macro `parameters!` writes a policy's parameters as a struct. Each field has its type,
//! range, default and help, once. Scenario files, gate files, the JSON Schema, `--set`, the Python
//! types and the reference page are all read from it; the policy reads fields.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::dropper::DropperKind;
//!
//! // Names, ranges, defaults and help of a policy's parameters, as files and pages show them.
//! let kind = DropperKind::named("red").unwrap();
//! let weight = kind.record().params.iter().find(|param| param.name == "weight").unwrap();
//! assert!(!weight.help.is_empty());
//! ```

mod check;
mod consists;
pub mod contract;
mod facts;
mod fault;
mod kind;
mod line;
pub(crate) mod outside;
mod policy;
mod record;
mod role;
mod run_time;
mod table;
mod value;

pub use check::{Guarantee, Member, NodeContext, Supply, Traffic};
pub use consists::{Consists, Scope};
pub use contract::CONTRACT;
pub use facts::PolicyFacts;
pub use fault::{Fault, Key};
pub(crate) use kind::registry;
pub use kind::{Factory, NamedPolicy, NoBuiltIn, PolicyKind};
pub use line::{FixedPort, Line, NoLine, Sharer};
pub use policy::{KeepsRates, PolicyParams};
pub use record::{Carry, MarkResponse, Marking, PolicyRecord, ReceiverWindow, Stamps};
pub use role::{Role, Service};
pub use run_time::RunTimeFacts;
pub use table::{Parameter, Parameters, parameters, words};
pub use value::{Kind, Limit, Param, PolicyValue, Value};
