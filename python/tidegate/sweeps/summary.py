"""Means over the runs of each point of a sweep, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidegate.estimates import RARE, Estimate, Values, estimate, share
from tidegate.stopping import LEAST, estimate_after
from tidegate.sweeps.rows import UNITS, UNTIL, parameters_of
from tidegate.tables import Table


@dataclass(frozen=True)
class Summary:
    """One group of flows at one point.

    Attributes:
        point: Number of the point, from 0.
        settings: Value of each parameter there.
        group: Name of the group.
        runs: Number of runs.
        identical: True if several runs are all equal, to the packet.
        figures: Mean of every figure over the runs, with its 95 % interval.
    """

    point: int
    settings: dict[str, Any]
    group: str
    runs: int
    identical: bool
    figures: dict[str, Estimate]


def summaries(table: Table[str] | pa.Table) -> list[Summary]:
    """Return one summary for each point and group of flows of a sweep's table, in its order."""
    return list(_summaries(table))


def summary(table: Table[str] | pa.Table) -> Table[str]:
    """Return a table with a row for each point and group of flows of a sweep.

    A figure is its mean over the runs, and half its 95 % interval is in the column of its name with
    `_ci95`; null where there is none.

    Args:
        table: What `tidegate.sweep` returned, or some of its rows.
    """
    found = summaries(table)
    parameters = parameters_of(table)
    fields = [table.schema.field(name) for name in ("point", *parameters, "group")]
    columns: list[list[Any]] = [
        [one.point for one in found],
        *([one.settings[name] for one in found] for name in parameters),
        [one.group for one in found],
        [one.runs for one in found],
    ]
    fields.append(pa.field("runs", pa.int64()))
    for name, unit in UNITS.items():
        for ending, part in (("", 0), ("_ci95", 1)):
            fields.append(pa.field(name + ending, pa.float64(), metadata={"unit": unit}))
            columns.append([one.figures[name][part] for one in found])
    arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return Table(pa.table(arrays, schema=pa.schema(fields, metadata=table.schema.metadata)))


def _summaries(table: Table[str] | pa.Table) -> Iterator[Summary]:
    parameters = parameters_of(table)
    two_stages = bool((table.schema.metadata or {}).get(UNTIL))
    rows: dict[tuple[int, str], list[int]] = {}
    keys = zip(table["point"].to_pylist(), table["group"].to_pylist(), strict=True)
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    columns = {name: table[name].to_pylist() for name in (*parameters, "fingerprint", *UNITS)}
    for (point, group), of_group in rows.items():
        prints = [columns["fingerprint"][row] for row in of_group]
        identical = len(prints) > 1 and len(set(prints)) == 1
        # Identical runs say no more than one.
        counted = of_group[:1] if identical else of_group
        values = {name: [columns[name][row] for row in counted] for name in UNITS}
        yield Summary(
            point=point,
            settings={name: columns[name][of_group[0]] for name in parameters},
            group=group,
            runs=len(of_group),
            identical=identical,
            figures={name: _estimate(name, values, two_stages=two_stages) for name in UNITS},
        )


def _estimate(name: str, values: dict[str, Values], *, two_stages: bool) -> Estimate:
    """Return the mean of a figure; after two stages with the interval that the spread of the first gives."""
    of_figure = values[name]
    if two_stages and len(of_figure) > LEAST:
        found = estimate_after(of_figure[:LEAST], of_figure)
        if name != "lost" or found.mean is None or found.mean > RARE:
            return found
    return share(of_figure, values["due"]) if name == "lost" else estimate(of_figure)
