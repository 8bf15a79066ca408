"""The measurements of runs as data: tables, and what they are of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidegate.tables import Table

NO_INTERVAL = "no interval from one run"
"""The note for figures that come from a single replication."""

DRAWN = (
    "to have runs that differ, let a flow's source be `poisson` or `on-off`, its starts follow `every`, or a "
    "link have a `loss`"
)
"""Advice that names the keys of a scenario whose values are drawn from the seed."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """The data of `tidegate.Results`, which documents them."""

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
        """Packets that ports dropped and marked, by link, reason and replication."""
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
        """Frequency of each delay, by group and replication."""
        return self.tables["histogram"]

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
