//! What is written from the records: schema, reference page, Python types.

mod catalogue;
mod python;
mod reference;
mod schema;

pub use python::python_types;
pub use reference::reference;
pub use schema::schema;

#[cfg(test)]
mod tests;
