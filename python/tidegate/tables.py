"""Result tables, as pyarrow, pandas and polars take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tidegate._tidegate import TidegateError, parse_time

if TYPE_CHECKING:
    import polars as pl

Column = TypeVar("Column", bound=str)
"""The names of a table's columns, as a literal type."""


TIMES = ("time", "start", "arrived")
"""Columns that hold the time of a row, each in tables that do not have those before it."""


class Table(dict[str, Any], Generic[Column]):
    """A table of results: a `pyarrow.Table` that is also the dictionary of its columns.

    pandas makes frames of dictionaries (`pandas.DataFrame(results.flows)`), and polars and others
    take Arrow tables. Every attribute of a `pyarrow.Table` is here, too, and so is its class.
    Functions of pyarrow that are not written in Python get `arrow`.

    Attributes:
        arrow: The table itself, as in `pyarrow.parquet.write_table(results.flows.arrow,
            "flows.parquet")`.
    """

    arrow: pa.Table

    def __init__(self, table: pa.Table | Table[Any]) -> None:
        self.arrow = getattr(table, "arrow", table)
        super().__init__(zip(self.arrow.column_names, self.arrow.columns, strict=True))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        table: type = pa.Table
        return table

    def __getattr__(self, name: str) -> Any:
        # polars makes a column of structures of what has an Arrow stream and is not of pyarrow
        # itself.
        if name.startswith("__") and name != "__dataframe__":
            raise AttributeError(name)
        return getattr(self.arrow, name)

    def __getitem__(self, column: Column | int) -> Any:  # type: ignore[override]
        return self.arrow[column]

    if TYPE_CHECKING:

        def filter(self, mask: Any, **settings: Any) -> Table[Column]:
            """Return some rows, as pyarrow does; their columns are the same."""

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of polars; `to_pandas` returns one of pandas.

        Raises:
            ImportError: polars is not installed.
        """
        import polars as pl

        return pl.DataFrame(self.arrow)

    def from_to(self, start: str | float, end: str | float) -> Table[Column]:
        """Return the rows from one time on and before another: seconds, or text such as `5ms`.

        A row's time is its `time`; in the table `transfers` its `start`, and in that of packets its
        arrival.

        Raises:
            TidegateError: The table has none of these columns; or a text is not a time.
        """
        column = next((name for name in TIMES if name in self), None)
        if column is None:
            raise TidegateError(
                f"a table of the columns {', '.join(self)} is of the whole run: measure a part of it by "
                "`warmup` and `duration`"
            )
        first, last = (parse_time(when) if isinstance(when, str) else when for when in (start, end))
        times = self.arrow[column]
        return Table(self.arrow.filter(pc.and_(pc.greater_equal(times, first), pc.less(times, last))))

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self.arrow.column_names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, pa.Table) and self.equals(other)

    def equals(self, other: Any, **settings: Any) -> bool:
        """Return whether another table has equal columns and values, as for a `pyarrow.Table`."""
        return bool(self.arrow.equals(getattr(other, "arrow", other), **settings))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __reduce__(self) -> tuple[type[Table[Any]], tuple[pa.Table]]:
        return Table, (self.arrow,)

    def __repr__(self) -> str:
        return repr(self.arrow)
