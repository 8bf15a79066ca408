"""Summaries as lists that notebooks and pandas take."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from tidegate import notebook

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Row = TypeVar("Row")


class Rows(list[Row]):
    """Summaries of one kind: a list, also by name, a data frame, and a table in a notebook."""

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...

    def __getitem__(self, key: SupportsIndex | slice | str) -> Row | list[Row]:
        """Return a row by its place, or by its name, which is its first field.

        Raises:
            KeyError: No row has this name, or several have.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        names = [getattr(row, fields(row)[0].name) for row in self]  # type: ignore[arg-type]
        if names.count(key) != 1:
            which = f"{names.count(key)} rows are" if key in names else "no row is"
            raise KeyError(f"{which} named {key!r}; there are {', '.join(dict.fromkeys(names))}")
        return super().__getitem__(names.index(key))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row: a mean under its name, and its half interval under NAME_ci95."""
        return [_flat(row) for row in self]

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame: a column for each figure, and NAME_ci95 for the half interval of a mean.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self.to_dicts())

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of polars, with the columns of `to_pandas`.

        Raises:
            ImportError: polars is not installed.
        """
        import polars as pl

        return pl.DataFrame(self.to_dicts(), infer_schema_length=None)

    def _repr_html_(self) -> str:
        return notebook.rows(self)


def _flat(row: Any) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, tuple):
            flat[field.name], flat[f"{field.name}_ci95"] = value
        else:
            flat[field.name] = value
    return flat
