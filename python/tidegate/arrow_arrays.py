"""Arrays of Arrow from Python and numpy, and back, by their buffers.

`pyarrow.array`, `pyarrow.scalar` and `to_numpy` import pandas where that is installed, which takes
longer than a short run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def text_array(texts: Sequence[str]) -> pa.Array:
    """Return an array of texts."""
    encoded = [text.encode() for text in texts]
    ends = np.fromiter(accumulate(map(len, encoded), initial=0), np.int32, len(encoded) + 1)
    data = pa.py_buffer(b"".join(encoded))
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, pa.py_buffer(ends), data])


def text_scalar(text: str) -> pa.Scalar:
    """Return a text as a value of Arrow."""
    return text_array([text])[0]


def number_array(numbers: npt.NDArray[Any]) -> pa.Array:
    """Return an array of whole numbers, or of numbers that are null where they are NaN."""
    values = pa.py_buffer(np.ascontiguousarray(numbers))
    if numbers.dtype == np.int64:
        return pa.Array.from_buffers(pa.int64(), len(numbers), [None, values])
    valid = pa.py_buffer(np.packbits(~np.isnan(numbers), bitorder="little"))
    return pa.Array.from_buffers(pa.float64(), len(numbers), [valid, values])


def numbers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a column of numbers, with NaN for null; it may be read only."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    part = slice(array.offset, array.offset + len(array))
    valid, data = array.buffers()
    values = np.frombuffer(data, np.int64 if pa.types.is_integer(array.type) else np.float64)[part]
    if not array.null_count:
        return values
    known = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[part]
    return np.where(known, values, math.nan)
