"""Summaries as lists that notebooks and pandas take."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from tidegate import notebook

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")


class Rows(list[Row]):
    """Summaries of one kind: a list, a data frame where pandas is installed, and a table in a notebook."""

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
