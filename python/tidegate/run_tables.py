"""The tables of a run as Arrow tables, under fixed names and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tidegate._tidegate import table_columns
from tidegate.arrow_arrays import text_array

COLUMNS = dict(table_columns())
"""The columns of each table: name, type, and whether values may be null."""

TABLES = tuple(COLUMNS)
"""Names of the tables, in the order in which they are stored."""

TYPES = {"whole": pa.int64(), "number": pa.float64(), "text": pa.string()}
"""Arrow's types of columns."""


def as_arrow(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, pa.Table]:
    """Return the tables of one run as Arrow tables; their buffers are not copied."""
    return {name: _table(tables[name]) for name in TABLES}


def _table(table: Mapping[str, Any]) -> pa.Table:
    arrays = [_array(column) for column in table["columns"]]
    fields = [
        pa.field(
            column["name"],
            array.type,
            nullable=column["type"] == "number",
            metadata={"description": column["description"], "unit": column["unit"]},
        )
        for column, array in zip(table["columns"], arrays, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields, metadata={"description": table["description"]}))


def _array(column: Mapping[str, Any]) -> pa.Array:
    values = pa.py_buffer(column["values"])
    match column["type"]:
        case "whole":
            return pa.Array.from_buffers(pa.int64(), values.size // 8, [None, values])
        case "number":
            valid = pa.py_buffer(column["valid"])
            return pa.Array.from_buffers(pa.float64(), values.size // 8, [valid, values])
        case "text":
            keys = pa.Array.from_buffers(pa.uint32(), values.size // 4, [None, values])
            # Plain text: many programs have no text functions for dictionaries.
            return text_array(column["words"]).take(keys)
        case unknown:
            raise TypeError(f"there is no column type {unknown!r}")


def joined(runs: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables of all runs, one below the other."""
    return {name: pa.concat_tables([run[name] for run in runs]) for name in TABLES}
