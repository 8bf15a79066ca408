"""Some runs of one point of a sweep, carried out in one go, in whatever process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.estimates import Values
from tidegate.policy import PolicyFile, define
from tidegate.run_tables import table_of
from tidegate.summary import group_figures

KEPT = 32
"""Scenarios that a process keeps, so that it reads each of them once and not once a run."""

SLICE = 1_000_000
"""Events of one call into the simulator."""


@dataclass(frozen=True)
class Batch:
    """Some runs of one scenario.

    Attributes:
        name: Name of the scenario.
        label: Its point and the replications in a few words, for people.
        text: Text of the scenario, overrides applied.
        file: Name of its file.
        base_dir: Folder at which relative paths in it start.
        seeds: Seed of each run.
        policies: Files that define its policies in Python.
        version: Version of tidegate that is to run it.
    """

    name: str
    label: str
    text: str
    file: str
    base_dir: str
    seeds: tuple[int, ...]
    policies: tuple[PolicyFile, ...] = ()
    version: str = _tidegate.__version__


@dataclass(frozen=True)
class Outcome:
    """The measurements of one run.

    Attributes:
        seed: Its seed.
        fingerprint: Its outcome in one number, as 16 hexadecimal digits.
        groups: Names of the groups of flows.
        flows: Numbers of their flows.
        figures: Each figure of `tidegate.summary.GroupSummary` by group, and the copies that were due.
        seconds: Seconds that it took.
    """

    seed: int
    fingerprint: str
    groups: Sequence[str]
    flows: Sequence[int]
    figures: dict[str, Values]
    seconds: float


def carry_out(batch: Batch) -> list[Outcome]:
    """Carry out the runs of a batch.

    Raises:
        TidegateError: This is another version of tidegate, or a file that the scenario names has gone.
    """
    if batch.version != _tidegate.__version__:
        raise TidegateError(
            f"a worker has tidegate {_tidegate.__version__}, and the sweep is one of {batch.version}"
        )
    began = time.perf_counter()
    for file in batch.policies:
        define(file)
    scenario = _scenario(batch.text, batch.file, batch.base_dir)
    outcomes = []
    for seed in batch.seeds:
        run = _tidegate.Run(scenario, seed)
        while not run.advance(SLICE):
            pass
        figures = group_figures(table_of(run.tables(), "groups"), 1)
        ended = time.perf_counter()
        outcomes.append(
            Outcome(
                seed,
                run.fingerprint,
                [group for group, _ in figures],
                [flows for _, flows in figures],
                {
                    name: [of_group[name][0] for of_group in figures.values()]
                    for name in next(iter(figures.values()))
                },
                ended - began,
            )
        )
        began = ended
    return outcomes


@lru_cache(KEPT)
def _scenario(text: str, file: str, base_dir: str) -> _tidegate.Scenario:
    return _tidegate.Scenario.parse(text, file, base_dir)
