"""The measurements of runs as data: tables, and what they are of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tidegate.result_tables import ResultTables
from tidegate.tables import Table

NO_INTERVAL = "no interval from one run"
"""The note for figures that come from a single replication."""

DRAWN = (
    "to have runs that differ, let a flow's source be `poisson` or `on-off`, its starts follow `every`, or a "
    "link have a `loss`"
)
"""Advice that names the keys of a scenario whose values are drawn from the seed."""


@dataclass(frozen=True, eq=False)
class Measurements(ResultTables):
    """The data of `tidegate.Results`, which documents them."""

    tables: dict[str, Table[Any]]
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
        tables: dict[str, Table[Any]] = {name: Table(table) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", tables)

    @property
    def replications(self) -> int:
        """Number of runs."""
        return len(self.seeds)

    @cached_property
    def scenario_hash(self) -> str:
        """SHA-256 of the scenario's text, overrides applied, as 64 hexadecimal digits."""
        return hashlib.sha256(self.scenario_toml.encode()).hexdigest()

    @property
    def identical(self) -> bool:
        """True if several replications are all equal, to the packet, and so say no more than one."""
        return self.replications > 1 and len(set(self.fingerprints)) == 1

    @property
    def has_intervals(self) -> bool:
        """True if figures come with intervals: there are several replications, and they differ."""
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
