"""The results of runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidegate import _tidegate, summary
from tidegate.rows import Rows
from tidegate.summary import NO_INTERVAL, GateSummary, GroupSummary, LinkSummary, UsageSummary, Values
from tidegate.tables import Table
from tidegate.warned import brief

__all__ = ["Results"]

TABLES = (
    "flows",
    "groups",
    "links",
    "drops",
    "usage",
    "non_responsive",
    "aal5",
    "credit",
    "credit_vcs",
    "stalls",
    "series",
    "signals",
    "gate",
    "workahead",
    "histogram",
)
"""Names of the tables, in the order in which they are stored."""

DRAWN = (
    "to have runs that differ, let a flow's source be `poisson` or `on-off`, its starts follow `every`, or a "
    "link have a `loss`"
)
"""What makes replications differ: keys of a scenario whose values are drawn from the seed."""


TYPES = {"whole": pa.int64(), "number": pa.float64(), "text": pa.string()}
"""What columns of a type are in Arrow. Only numbers may be null, where nothing was measured."""


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
            return pa.array(column["words"], pa.string()).take(keys)
        case unknown:
            raise TypeError(f"there is no column type {unknown!r}")


def joined(runs: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables of all runs, one below the other."""
    return {name: pa.concat_tables([run[name] for run in runs]) for name in TABLES}


@dataclass(frozen=True, eq=False)
class Results:
    """The measurements of one or more replications of a scenario.

    Each table is a `tidegate.tables.Table`: it has everything that a `pyarrow.Table` has, and pandas and
    polars take it as it is. Text is plain text, counters are 64-bit integers with a sign, and every column
    carries its unit and a description in its metadata. Where figures come with an interval, it is the 95 %
    interval of the mean over replications (Student t); from one replication there is none.

    Attributes:
        tables: Every table of `TABLES` by its name, with the rows of all replications.
        scenario_name: Name of the scenario.
        scenario_toml: Its text, overrides applied.
        base_dir: Folder at which relative paths in the text start.
        overrides: Values set over the text of the scenario, as (path, value).
        duration: Simulated time of one replication in seconds.
        warmup: Seconds at its start that were not measured.
        seeds: Seed of each replication.
        fingerprints: Outcome of each replication in one number, as 16 hexadecimal digits.
        packet_hops: Packets that left an output port, in all replications.
        wall_seconds: Seconds that the runs took together.
        version: Version of tidegate that ran it.
        inputs: SHA-256 of each file that the scenario names, as it was then, by its name there.
        warnings: Settings of the scenario that are seldom intended, each with its place, as `tidegate check`
            shows them.
    """

    tables: dict[str, Table]
    scenario_name: str
    scenario_toml: str
    base_dir: Path
    overrides: tuple[tuple[str, str], ...]
    duration: float
    warmup: float
    seeds: tuple[int, ...]
    fingerprints: tuple[str, ...]
    packet_hops: int
    wall_seconds: float
    version: str
    inputs: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        tables = {name: Table(table) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", tables)

    @property
    def flows(self) -> Table:
        """One row for each flow and replication."""
        return self.tables["flows"]

    @property
    def links(self) -> Table:
        """One row for each direction of a link and replication."""
        return self.tables["links"]

    @property
    def drops(self) -> Table:
        """What ports dropped and marked, by link, reason and replication."""
        return self.tables["drops"]

    @property
    def usage(self) -> Table:
        """Usage of each profile at each meter that reports it; empty without such meters."""
        return self.tables["usage"]

    @property
    def non_responsive(self) -> Table:
        """Flows that were found not to respond to congestion, where and when; empty without a `detector`."""
        return self.tables["non_responsive"]

    @property
    def aal5(self) -> Table:
        """Packets of flows that are sent as ATM cells, one row for each flow and replication."""
        return self.tables["aal5"]

    @property
    def credit(self) -> Table:
        """One row for each direction of a link with credit-based flow control; empty without such links."""
        return self.tables["credit"]

    @property
    def credit_vcs(self) -> Table:
        """One row for each VC of a link with credit-based flow control; empty without such links."""
        return self.tables["credit_vcs"]

    @property
    def stalls(self) -> Table:
        """VCs that had packets to send and no credit for 100 RTT and more, with nothing at the receiver."""
        return self.tables["stalls"]

    @property
    def series(self) -> Table:
        """Queues, utilisation, in-traffic and throughput over time; without rows unless asked for."""
        return self.tables["series"]

    @property
    def signals(self) -> Table:
        """Outcomes of requests to set up flows and to change them; empty without `admission`."""
        return self.tables["signals"]

    @property
    def gate(self) -> Table:
        """Results of the flows of a gate's file in each direction; empty without a gate."""
        return self.tables["gate"]

    @property
    def workahead(self) -> Table:
        """Exact maximum workahead W of each reserved flow along its route; without rows unless asked for."""
        return self.tables["workahead"]

    @property
    def histogram(self) -> Table:
        """How often each delay occurred, by group and replication."""
        return self.tables["histogram"]

    @property
    def replications(self) -> int:
        """Number of runs."""
        return len(self.seeds)

    @cached_property
    def scenario_hash(self) -> str:
        """SHA-256 of the scenario's text, overrides applied, as 64 hexadecimal digits."""
        return hashlib.sha256(self.scenario_toml.encode()).hexdigest()

    def scenario(self) -> _tidegate.Scenario:
        """Return the scenario that was run, overrides applied, as `tidegate.load` returns one.

        Raises:
            TidegateError: It has a mistake for this version, or a file that it names has gone.
        """
        return _tidegate.Scenario.parse(self.scenario_toml, self.scenario_name, self.base_dir)

    @property
    def identical(self) -> bool:
        """Whether several replications are all the same, to the packet, and so say no more than one."""
        return self.replications > 1 and len(set(self.fingerprints)) == 1

    @property
    def has_intervals(self) -> bool:
        """Whether figures come with intervals: there are several replications, and they differ."""
        return self.replications > 1 and not self.identical

    @property
    def notes(self) -> list[str]:
        """Remarks for a reader of the figures, one sentence each."""
        if self.identical:
            return [
                f"all {self.replications} runs are identical: nothing here is drawn at random, so there is "
                f"no interval; {DRAWN}"
            ]
        return [] if self.has_intervals else [NO_INTERVAL]

    def groups(self) -> Rows[GroupSummary]:
        """Return one summary for each group of flows, in the order of the scenario."""
        return summary.groups(*self._runs("groups"))

    def group_figures(self) -> dict[tuple[str, int], dict[str, Values]]:
        """Return every figure of `groups` in each replication, by (group, number of its flows).

        Of identical replications there is one.
        """
        return summary.group_figures(*self._runs("groups"))

    def link_rows(self) -> Rows[LinkSummary]:
        """Return one summary for each direction of a link, in the order of the scenario."""
        return summary.links(*self._runs("links"), self.duration - self.warmup)

    def usage_rows(self) -> Rows[UsageSummary]:
        """Return one summary for each profile at each meter that reports it."""
        return summary.usage(*self._runs("usage"))

    def gate_rows(self) -> Rows[GateSummary]:
        """Return one summary for each flow of a gate's file and direction; none without a gate."""
        return summary.gate(*self._runs("gate"), self.duration - self.warmup)

    def flow_rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each flow: means over replications, and half intervals in `ci95`."""
        return summary.flows(*self._runs("flows"))

    def workahead_rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each flow, place on its route and factor of `workahead`.

        They hold means over replications, and half intervals in `ci95`.
        """
        return summary.workahead(*self._runs("workahead"))

    def _runs(self, name: str) -> tuple[Table, int]:
        """Return a table, and the number of replications in it; identical ones are there once."""
        table = self.tables[name]
        if not self.identical:
            return table, self.replications
        return table.slice(0, table.num_rows // self.replications), 1

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write everything to `directory`, whole or not at all; return its path.

        A directory that holds earlier results of the same scenario is replaced; with `force`, also one with
        results of another scenario.

        Raises:
            TidegateError: It holds something else, or cannot be written.
        """
        from tidegate import outdir

        return outdir.write(self, directory, force=force)

    @staticmethod
    def load(directory: str | os.PathLike[str]) -> Results:
        """Read what `save` or `tidegate run --out` wrote.

        Raises:
            TidegateError: `directory` holds no results, or cannot be read.
        """
        from tidegate import outdir

        return outdir.read(directory)

    def __repr__(self) -> str:
        runs = "1 replication" if self.replications == 1 else f"{self.replications} replications"
        rows = ", ".join(f"{name} {table.num_rows}" for name, table in self.tables.items())
        notes = "".join(f"; {note}" for note in [*self.notes, *map(brief, self.warnings)])
        return f"<Results of {self.scenario_name!r}: {runs} from seed {self.seeds[0]}; rows: {rows}{notes}>"

    def _repr_html_(self) -> str:
        from tidegate import notebook

        return notebook.results(self)
