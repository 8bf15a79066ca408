//! Result tables, handed over by the Arrow C stream interface.

use crate::TidegateError;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;
use tidegate_sim::results::Values;

/// A result table. Anything that takes an Arrow C stream takes it as it is.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Table(RecordBatch);

impl Table {
    pub(crate) fn new(table: tidegate_sim::results::Table) -> PyResult<Table> {
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (column, values) in table.record.columns.iter().zip(table.columns) {
            let array: ArrayRef = match values {
                Values::Whole(values) => Arc::new(UInt64Array::from(values)),
                Values::Number(values) => Arc::new(Float64Array::from(values)),
                Values::Text { keys, words } => {
                    let words = Arc::new(StringArray::from(words));
                    Arc::new(DictionaryArray::try_new(UInt32Array::from(keys), words).map_err(broken)?)
                }
            };
            let nullable = *array.data_type() == DataType::Float64;
            fields.push(
                Field::new(column.name, array.data_type().clone(), nullable)
                    .with_metadata([("description", column.help), ("unit", column.unit)]),
            );
            arrays.push(array);
        }
        let schema = Schema::new(fields).with_metadata([("description", table.record.help)]);
        RecordBatch::try_new(Arc::new(schema), arrays).map(Table).map_err(broken)
    }
}

fn broken(error: arrow_schema::ArrowError) -> PyErr {
    TidegateError::new_err(format!("a result table could not be made: {error}"))
}

#[pymethods]
impl Table {
    /// Rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The Arrow PyCapsule interface; `requested_schema` is not acted upon, as it allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}
