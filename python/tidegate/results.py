"""The results of runs."""

from __future__ import annotations

import dataclasses
import os
from functools import cached_property
from pathlib import Path
from typing import Any

from tidegate import _tidegate, notebook, outdir, summary, transfer_sizes
from tidegate.averages import Averages
from tidegate.measurements import Measurements
from tidegate.rows import Rows
from tidegate.scenario_warnings import brief
from tidegate.summary import ClassSummary, GateSummary, GroupSummary, LinkSummary, UsageSummary, Values
from tidegate.tables import Table
from tidegate.transfer_sizes import TransferSummary

__all__ = ["Results"]

GROUP = {
    "throughput": "bit/s",
    "lost": "share",
    "delay_mean": "s",
    "delay_p99": "s",
    "delay_max": "s",
    "queueing_mean": "s",
}
"""Figures of a group that a notebook shows, with their units."""

LINK = {
    "throughput": "bit/s",
    "utilisation": "share",
    "queue_mean": "count",
    "queue_max": "count",
    "dropped": "count",
    "wait_mean": "s",
}
"""Figures of a link that a notebook shows, with their units."""


class Groups(Rows[GroupSummary]):
    """The summaries of groups of flows; `results.groups()` is `results.groups`."""

    def __call__(self) -> Groups:
        """Return itself."""
        return self


@dataclasses.dataclass(frozen=True, eq=False)
class Results(Measurements):
    """The measurements of one or more replications of a scenario.

    Each table is a `tidegate.tables.Table`: it has everything that a `pyarrow.Table` has, and
    pandas and polars take it as it is. Text is plain text, counters are 64-bit integers with a
    sign, and every column carries its unit and a description in its metadata. Where figures come
    with an interval, it is the 95 % interval of the mean over replications (Student t); from one
    replication there is none.

    Attributes:
        tables: Every table by its name, with the rows of all replications.
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
        warnings: Settings of the scenario that are seldom intended, each with its place, as
            `tidegate check` shows them.
    """

    def scenario(self) -> _tidegate.Scenario:
        """Return the scenario that was run, overrides applied, as `tidegate.load` returns one.

        Raises:
            TidegateError: It has a mistake for this version, or a file that it names has gone.
        """
        return _tidegate.Scenario.parse(self.scenario_toml, self.scenario_name, self.base_dir)

    @cached_property
    def groups(self) -> Groups:
        """One summary for each group of flows, in the order of the scenario: `groups["voice"].delay_p99`."""
        return Groups(self.averages("groups").rows(GroupSummary))

    def __getitem__(self, table: str) -> Table[Any]:
        """Return a table by its name, as `results["groups"]`.

        Raises:
            KeyError: There is none of this name.
        """
        if table not in self.tables:
            raise KeyError(f"there is no table {table!r}; there are {', '.join(self.tables)}")
        return self.tables[table]

    def group_figures(self) -> dict[tuple[str, int], dict[str, Values]]:
        """Return every figure of `groups` in each replication, by (group, number of its flows).

        Of identical replications there is one.
        """
        return summary.group_figures(*self._runs("groups"))

    def link_rows(self) -> Rows[LinkSummary]:
        """Return one summary for each direction of a link, in the order of the scenario."""
        return Rows(self.averages("links").rows(LinkSummary))

    def class_rows(self) -> Rows[ClassSummary]:
        """Return one summary for each class and direction of a link; none without classes."""
        return Rows(self.averages("classes").rows(ClassSummary))

    def usage_rows(self) -> Rows[UsageSummary]:
        """Return one summary for each profile at each meter that reports it."""
        return Rows(self.averages("usage").rows(UsageSummary))

    def gate_rows(self) -> Rows[GateSummary]:
        """Return one summary for each flow of a gate's file and direction; none without a gate."""
        return Rows(self.averages("gate").rows(GateSummary))

    def flow_rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each flow: means over replications, and half intervals in `ci95`."""
        return self.averages("flows").dictionaries()

    def transfer_rows(self) -> Rows[TransferSummary]:
        """Return completion times and slowdowns of the transfers of each group, by size."""
        return Rows(transfer_sizes.by_size(self))

    def workahead_rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each flow, place on its route and factor of `workahead`.

        They hold means over replications, and half intervals in `ci95`.
        """
        return self.averages("workahead").dictionaries()

    def averages(self, name: str) -> Averages:
        """Return the means over replications of a table of `tidegate.summary.SUMMARIES`, by column."""
        return summary.SUMMARIES[name](*self._runs(name), self.duration - self.warmup)

    def _runs(self, name: str) -> tuple[Table[Any], int]:
        """Return a table, and the number of replications in it; identical ones are there once."""
        table = self.tables[name]
        if not self.identical:
            return table, self.replications
        return table.slice(0, table.num_rows // self.replications), 1

    def save(self, directory: str | os.PathLike[str], *, csv: bool = False, force: bool = False) -> Path:
        """Write everything to `directory`, whole or not at all; return its path.

        A directory that holds earlier results of the same scenario is replaced; with `force`, also
        one with results of another scenario. With `csv` each table is written as CSV, too.

        Raises:
            TidegateError: It holds something else, or cannot be written.
        """
        return outdir.write(self, directory, csv=csv, force=force)

    @staticmethod
    def load(directory: str | os.PathLike[str]) -> Results:
        """Read what `save` or `tidegate run --out` wrote.

        Raises:
            TidegateError: `directory` holds no results, or cannot be read.
        """
        read = outdir.read(directory)
        return Results(**{field.name: getattr(read, field.name) for field in dataclasses.fields(read)})

    def __repr__(self) -> str:
        runs = "1 replication" if self.replications == 1 else f"{self.replications} replications"
        rows = ", ".join(f"{name} {table.num_rows}" for name, table in self.tables.items())
        notes = "".join(f"; {note}" for note in [*self.notes, *map(brief, self.warnings)])
        return f"<Results of {self.scenario_name!r}: {runs} from seed {self.seeds[0]}; rows: {rows}{notes}>"

    def _repr_html_(self) -> str:
        runs = "1 run" if self.replications == 1 else f"{self.replications} runs"
        links = [row for row in self.link_rows() if row.packets.mean or row.dropped.mean]
        return "".join(
            [
                notebook.paragraph(
                    f"{self.scenario_name}: {runs} of {self.duration:g} s from seed {self.seeds[0]}"
                ),
                notebook.figures(self.groups(), ("group", "flows"), GROUP),
                notebook.figures(links, ("link",), LINK),
                *map(notebook.paragraph, [*self.notes, *map(brief, self.warnings)]),
            ]
        )
