"""The subjects of reports: runs, a comparison, a sweep or a paper, each with its origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidegate.results import Results


@dataclass(frozen=True)
class Origin:
    """The command that made results, and when.

    Attributes:
        command: The command; None for results that were made in Python.
        written: When the directory was written, as ISO 8601; None if it was not.
        backend: What ran it where it was not the simulator.
    """

    command: str | None = None
    written: str | None = None
    backend: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """Results of one scenario."""

    results: Results
    origin: Origin


@dataclass(frozen=True)
class Compared:
    """Results of a scenario under several policies or settings, which have the same seeds.

    Attributes:
        results: The results by the name of what differs.
        origin: How they were made.
        same_traffic: Whether all of them got the same packets.
    """

    results: Mapping[str, Results]
    origin: Origin
    same_traffic: bool


@dataclass(frozen=True)
class Swept:
    """A sweep.

    Attributes:
        table: A row for each run and group of flows.
        text: Text of its scenario; empty if it is not known.
        base_dir: Folder at which relative paths in the text start; None if it is not known.
        version: Version of tidegate.
        first_seed: Seed of the first run of each point.
        until: When runs were to end, as it was asked; None for a fixed number.
        complete: Whether all runs are there.
        warnings: Settings that are seldom intended.
        origin: How it was made.
    """

    table: pa.Table
    text: str
    base_dir: Path | None
    version: str
    first_seed: int
    until: str | None
    complete: bool
    warnings: Sequence[str]
    origin: Origin


@dataclass(frozen=True)
class Paper:
    """A paper's claims.

    Attributes:
        document: The claims and figures, as the file `claims.json` has them.
        curves: The panels of each experiment, as the file `curves.json` has them.
        origin: How they were made.
    """

    document: Mapping[str, Any]
    curves: Mapping[str, Sequence[Mapping[str, Any]]]
    origin: Origin


Study = Run | Compared | Swept | Paper
