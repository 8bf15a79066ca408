"""The tables of a run as Arrow tables, under fixed names and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate._tidegate import table_columns
from tidegate.arrow_arrays import text_array

COLUMNS = dict(table_columns())
"""The columns of each table: name, type, and whether values may be null."""

TABLES = tuple(COLUMNS)
"""Names of the tables, in the order in which they are stored."""

TYPES = {"whole": pa.int64(), "number": pa.float64(), "text": pa.string()}
"""Arrow's types of columns."""


def as_arrow(
    tables: Mapping[str, Mapping[str, Any]], metrics: Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """Return the tables of one run as Arrow tables; their buffers are not copied.

    Args:
        tables: The tables of one run.
        metrics: Metrics of which the table `series` keeps the samples; None for all.
    """
    return {name: table_of(tables, name, metrics if name == "series" else None) for name in TABLES}


def table_of(
    tables: Mapping[str, Mapping[str, Any]], name: str, metrics: Sequence[str] | None = None
) -> pa.Table:
    """Return one of the tables of one run, as `as_arrow` returns all of them."""
    table = tables[name]
    kept = None if metrics is None else _rows_of(table["columns"], metrics)
    arrays = [_array(column, kept) for column in table["columns"]]
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


def _rows_of(columns: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> pa.Array:
    """Return True for each row of one of the metrics."""
    (metric,) = (column for column in columns if column["name"] == "metric")
    wanted = [number for number, word in enumerate(metric["words"]) if word in metrics]
    return pc.is_in(_keys(metric), pa.array(wanted, pa.uint32()))


def _keys(column: Mapping[str, Any]) -> pa.Array:
    """Return the place of each row's word in a column of text."""
    values = pa.py_buffer(column["values"])
    return pa.Array.from_buffers(pa.uint32(), values.size // 4, [None, values])


def _array(column: Mapping[str, Any], kept: pa.Array | None) -> pa.Array:
    """Return a column as an array, of the rows that are kept; None for all."""
    if column["type"] == "text":
        keys = _keys(column)
        # Plain text: many programs have no text functions for dictionaries.
        return text_array(column["words"]).take(keys if kept is None else keys.filter(kept))
    whole = _numbers(column)
    return whole if kept is None else whole.filter(kept)


def _numbers(column: Mapping[str, Any]) -> pa.Array:
    values = pa.py_buffer(column["values"])
    match column["type"]:
        case "whole":
            return pa.Array.from_buffers(pa.int64(), values.size // 8, [None, values])
        case "number":
            valid = pa.py_buffer(column["valid"])
            return pa.Array.from_buffers(pa.float64(), values.size // 8, [valid, values])
        case unknown:
            raise TypeError(f"there is no column type {unknown!r}")


def joined(runs: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables of all runs, one below the other."""
    return {name: pa.concat_tables([run[name] for run in runs]) for name in TABLES}
