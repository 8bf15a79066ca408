//! The outputs that are written from the records: schema, reference page, Python types.

mod catalogue;
mod python;
mod python_tables;
mod reference;
mod schema;

pub use python::python_types;
pub use python_tables::python_tables;
pub use reference::{gate_reference, reference};
pub use schema::{gate_schema, schema};

#[cfg(test)]
mod tests;
