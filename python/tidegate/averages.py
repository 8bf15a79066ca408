"""Averages over replications, computed by column: one value for each flow, group or link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate import json_rows
from tidegate._tidegate import half_width_95
from tidegate.arrow_arrays import number_array, numbers
from tidegate.estimates import RARE, Estimate, Values, widened

Array = npt.NDArray[np.float64]
"""Figures by replication and subject, or by subject; NaN where nothing was measured."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Averages:
    """Every figure of some subjects, with one entry for each subject in a column.

    Attributes:
        fixed: Columns that are the same in all replications, as their names and numbers.
        means: Means over the replications in which something was measured; NaN for none.
        half_widths: Half the widths of their 95 % intervals; NaN from fewer than two replications.
    """

    fixed: dict[str, pa.Array]
    means: dict[str, Array]
    half_widths: dict[str, Array]

    def rows(self, kind: Callable[..., Row]) -> list[Row]:
        """Return a record of a dataclass for each subject, with estimates."""
        columns = self._fixed() | {
            name: _estimates(mean, self.half_widths[name]) for name, mean in self.means.items()
        }
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        return [kind(*row) for row in zip(*(columns[name] for name in names), strict=True)]

    def dictionaries(self) -> list[dict[str, Any]]:
        """Return a dictionary for each subject: names, means, and half the intervals under `ci95`."""
        columns = self._fixed() | {name: values(mean) for name, mean in self.means.items()}
        half_widths = map(values, self.half_widths.values())
        return [
            {**dict(zip(columns, row, strict=True)), "ci95": dict(zip(self.half_widths, widths, strict=True))}
            for row, widths in zip(
                zip(*columns.values(), strict=True), zip(*half_widths, strict=True), strict=True
            )
        ]

    def json(self) -> Iterator[str]:
        """Yield the parts of what `dictionaries` returns, as JSON text."""
        means, half_widths = (
            {name: number_array(column) for name, column in one.items()}
            for one in (self.means, self.half_widths)
        )
        subjects = len(next(iter(self.fixed.values())))
        return json_rows.of_columns({**self.fixed, **means, "ci95": half_widths}, subjects)

    def _fixed(self) -> dict[str, list[Any]]:
        return {name: column.to_pylist() for name, column in self.fixed.items()}


def average(fixed: Mapping[str, pa.Array], figures: Mapping[str, Array]) -> Averages:
    """Return the averages of figures by replication and subject."""
    estimates = {name: _mean_and_half_width(figure) for name, figure in figures.items()}
    return Averages(
        dict(fixed),
        {name: mean for name, (mean, _) in estimates.items()},
        {name: half_width for name, (_, half_width) in estimates.items()},
    )


def widen(averages: Averages, name: str, shares: Array, trials: Array) -> None:
    """Widen the intervals of a share of `trials` where it is rare."""
    half_widths = averages.half_widths[name]
    rare = ~np.isnan(half_widths) & (averages.means[name] <= RARE)
    for subject in np.flatnonzero(rare):
        of_subject = (values(one[:, subject]) for one in (shares, trials))
        half_widths[subject] = widened(float(half_widths[subject]), *of_subject)


def figure(table: pa.Table, column: str, replications: int) -> Array:
    """Return a column by replication and subject.

    Every replication of a scenario lists the same subjects in the same order.
    """
    of_all: Array = numbers(table[column]).astype(np.float64)
    return of_all.reshape(replications, table.num_rows // replications)


def names(table: pa.Table, columns: Iterable[str], replications: int) -> dict[str, pa.Array]:
    """Return columns that are the same in every replication."""
    subjects = table.num_rows // replications
    return {name: table[name].slice(0, subjects).combine_chunks() for name in columns}


def values(of_subject: Array) -> Values:
    """Return figures as a list, with None for NaN."""
    listed = of_subject.astype(object)
    listed[np.isnan(of_subject)] = None
    found: Values = listed.tolist()
    return found


def _estimates(means: Array, half_widths: Array) -> list[Estimate]:
    if np.isnan(means).all():
        return [Estimate(None, None)] * len(means)
    return list(map(Estimate, values(means), values(half_widths)))


def _mean_and_half_width(figure: Array) -> tuple[Array, Array]:
    """Return the mean of each subject, and half the width of its interval."""
    measured = ~np.isnan(figure)
    count = measured.sum(axis=0)
    # Distances from the least one: equal figures have exactly their value as the mean, and no
    # interval.
    least = np.fmin.reduce(figure, axis=0)
    above = np.where(measured, figure - least, 0.0)
    with np.errstate(invalid="ignore"):
        mean = above.sum(axis=0) / count
        squares = np.where(measured, (above - mean) ** 2, 0.0).sum(axis=0)
    half_width = np.full(count.shape, np.nan)
    for number in range(2, len(figure) + 1):
        several = count == number
        half_width[several] = _student(number) * np.sqrt(squares[several] / (number - 1) / number)
    return least + mean, half_width


@cache
def _student(number: int) -> float:
    """Return the factor of Student's interval: of a single 1 among zeros, half of it is t/n wide."""
    unit = half_width_95([1.0, *[0.0] * (number - 1)])
    assert unit is not None
    return unit * number
