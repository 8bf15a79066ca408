"""The rows of a sweep: one for each run and group of flows, under fixed names and types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.sweeps.batch import Outcome
from tidegate.sweeps.design import Point
from tidegate.tables import Table

COUNTS = ("sent", "received", "marked", "dropped", "discarded", "due")
"""Figures that are counts of packets in every run."""

UNITS = {
    **dict.fromkeys(("throughput", "throughput_per_flow", "goodput"), "bit/s"),
    **dict.fromkeys(("lost", "warned", "refused"), "share"),
    **dict.fromkeys(("transfer_mean", "transfer_p95", "transfer_p99"), "s"),
    **dict.fromkeys(("delay_mean", "delay_p99", "delay_max", "queueing_mean", "queueing_p99"), "s"),
    **dict.fromkeys(COUNTS, "count"),
    **dict.fromkeys(("retransmissions", "timeouts", "transfers"), "count"),
    "jain": "count",
}
"""Every figure with its unit; they are those of `tidegate.summary.GroupSummary`."""

FIGURES = pa.schema(
    [
        pa.field(name, pa.int64() if name in COUNTS else pa.float64(), metadata={"unit": unit})
        for name, unit in UNITS.items()
    ]
)

SCHEMA = pa.schema(
    [
        pa.field("scenario", pa.string(), metadata={"description": "Key of the scenario at its point"}),
        pa.field("seed", pa.int64()),
        pa.field("fingerprint", pa.string()),
        pa.field("place", pa.int64(), metadata={"description": "Place of the group in the scenario, from 0"}),
        pa.field("group", pa.string()),
        pa.field("flows", pa.int64()),
        *FIGURES,
    ]
)
"""Rows as they are stored, without the columns of the parameters."""

PARAMETERS = b"tidegate.parameters"
UNTIL = b"tidegate.until"
NAME = b"tidegate.scenario"


@dataclass(frozen=True)
class Wanted:
    """The runs that make the table of a sweep.

    Attributes:
        name: Name of the scenario.
        points: The settings of each point.
        keys: Key of each point's scenario, all different.
        first_seed: Seed of replication 0.
        runs: Number of runs of each point.
        until: When runs were to end, as it was asked; None for a fixed number.
    """

    name: str
    points: Sequence[Point]
    keys: Sequence[str]
    first_seed: int
    runs: Sequence[int]
    until: str | None


def of_outcomes(key: str, outcomes: Iterable[Outcome]) -> pa.Table:
    """Return the rows of some runs of one point."""
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA.names}
    for one in outcomes:
        number = len(one.groups)
        columns["scenario"] += [key] * number
        columns["seed"] += [one.seed] * number
        columns["fingerprint"] += [one.fingerprint] * number
        columns["place"] += range(number)
        columns["group"] += one.groups
        columns["flows"] += one.flows
        for name in UNITS:
            columns[name] += one.figures[name]
    arrays = [
        pa.array(columns[field.name]).cast(field.type) if columns[field.name] else pa.array([], field.type)
        for field in SCHEMA
    ]
    return pa.table(arrays, schema=SCHEMA)


def table_of(rows: pa.Table, wanted: Wanted) -> Table[str]:
    """Return the rows of the runs that are wanted, by point, replication and group, with their parameters."""
    numbers = pc.index_in(rows["scenario"], pa.array(wanted.keys, pa.string()))
    replications = pc.subtract(rows["seed"], wanted.first_seed)
    rows = rows.append_column("point", numbers.cast(pa.int64())).append_column("replication", replications)
    rows = rows.filter(pc.is_valid(rows["point"]))
    most = pa.array(wanted.runs, pa.int64()).take(rows["point"])
    rows = rows.filter(pc.and_(pc.greater_equal(rows["replication"], 0), pc.less(rows["replication"], most)))
    rows = rows.sort_by([(name, "ascending") for name in ("point", "replication", "place")]).combine_chunks()
    keys = list(dict.fromkeys(key for point in wanted.points for key, _ in point))
    columns = {
        "point": rows["point"],
        **{
            key: _values([dict(point).get(key) for point in wanted.points]).take(rows["point"])
            for key in keys
        },
        **{name: rows[name] for name in ("replication", "seed", "fingerprint", "group", "flows", *UNITS)},
    }
    fields = [
        FIGURES.field(name) if name in UNITS else pa.field(name, column.type)
        for name, column in columns.items()
    ]
    about = {PARAMETERS: json.dumps(keys), NAME: wanted.name, UNTIL: wanted.until or ""}
    return Table(pa.table(list(columns.values()), schema=pa.schema(fields, metadata=about)))


def parameters_of(table: Table[str] | pa.Table) -> list[str]:
    """Return the columns of a sweep's table that are its parameters."""
    about: Mapping[bytes, bytes] = table.schema.metadata or {}
    found: list[str] = json.loads(about.get(PARAMETERS, b"[]"))
    return found


def name_of(table: Table[str] | pa.Table) -> str:
    """Return the name of the scenario that a table is of."""
    about: Mapping[bytes, bytes] = table.schema.metadata or {}
    return about.get(NAME, b"").decode()


def _values(values: Sequence[str | None]) -> pa.Array:
    """Return the values of a parameter: as numbers where all of them are written so, or as text."""
    for kind, parse in ((pa.int64(), int), (pa.float64(), float)):
        try:
            numbers = [None if value is None else parse(value) for value in values]
        except ValueError:
            continue
        return pa.array(numbers, kind)
    return pa.array(values, pa.string())
