"""Rows of tables as JSON text, made column by column: fast for 100,000 rows and more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.arrow_arrays import text_array, text_scalar

BLOCK = 5_000
"""Rows whose text is made at a time: a few megabytes."""

NOTHING = text_scalar("")

Columns = Mapping[str, Any]
"""Arrays of Arrow by their names; a mapping of arrays is an object in each row."""


def of_columns(columns: Columns, rows: int) -> Iterator[str]:
    """Yield the parts of a list of objects, one object for each row; null where a value is null.

    Text, whole numbers and finite numbers are supported.
    """
    texts = list(_merged(_pieces(columns)))
    yield "["
    for start in range(0, rows, BLOCK):
        number = min(BLOCK, rows - start)
        yield _block([one if isinstance(one, str) else one.slice(start, number) for one in texts], number)
        yield ", " if start + number < rows else ""
    yield "]"


def of_table(table: pa.Table) -> Iterator[str]:
    """Yield the parts of a list of objects, one object for each row of a table."""
    return of_columns({name: table[name].combine_chunks() for name in table.column_names}, table.num_rows)


def _block(texts: list[Any], rows: int) -> str:
    """Return the objects of some rows, with commas between them."""
    pieces = [text_scalar(one) if isinstance(one, str) else one for one in texts]
    separators = pa.repeat(text_scalar(", "), rows)
    joined = pc.binary_join_element_wise(
        *pieces, separators, NOTHING, null_handling="replace", null_replacement="null"
    )
    # The texts of an array lie one behind the other.
    _, _, characters = joined.buffers()
    return str(memoryview(characters), "utf-8").removesuffix(", ")


def _pieces(columns: Columns) -> Iterator[Any]:
    """Yield the pieces of an object: text that is the same in every row, and arrays of text."""
    before = "{"
    for name, column in columns.items():
        yield f"{before}{json.dumps(name, ensure_ascii=False)}: "
        if isinstance(column, Mapping):
            yield from _pieces(column)
        else:
            yield _text(column)
        before = ", "
    yield "}" if columns else "{}"


def _merged(pieces: Iterator[Any]) -> Iterator[Any]:
    """Join the texts that follow each other."""
    constant = ""
    for piece in pieces:
        if isinstance(piece, str):
            constant += piece
        else:
            yield constant
            yield piece
            constant = ""
    yield constant


def _text(column: pa.Array) -> Any:
    """Return the JSON text of each value; null stays null, and a column of nulls is one text."""
    if column.null_count == len(column):
        return "null"
    if pa.types.is_string(column.type):
        words = column.dictionary_encode()
        quoted = [json.dumps(one, ensure_ascii=False) for one in words.dictionary.to_pylist()]
        return text_array(quoted).take(words.indices)
    text = pc.cast(column, pa.string())
    if not pa.types.is_floating(column.type):
        return text
    # Arrow writes 1.0 as 1, which is a whole number in JSON's readers, and a large one with an
    # exponent.
    fractional = pc.or_(pc.match_substring(text, "."), pc.match_substring(text, "e"))
    return pc.if_else(fractional, text, pc.binary_join_element_wise(text, text_scalar(".0"), NOTHING))
