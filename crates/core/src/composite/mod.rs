//! Which scheduler and which dropper are known by one name?
//!
//! The name of a composite policy stands for everything that its source describes. Its record names
//! its parts ([`Role::Composite`](crate::params::Role)); a plan holds only the parts.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::composite::RECORDS;
//!
//! let names: Vec<&str> = RECORDS.iter().map(|record| record.name).collect();
//! assert_eq!(names, ["fq-codel", "fq-pie", "dualpi2"]);
//! ```

pub mod dualpi2;
pub mod fq_codel;
pub mod fq_pie;
mod parts;
mod registry;

pub use parts::Parts;
pub use registry::{BuiltInComposite, FAIR_DEFAULT, RECORDS, WITHIN_BY_BOTH, WITHIN_BY_HOST, WITHIN_DEFAULT};
