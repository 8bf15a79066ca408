"""A sweep whose points are all valid: the scenario of each, and the runs that it has."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tidegate import inputs
from tidegate._tidegate import TidegateError, __version__
from tidegate.policy import PolicyFile, files_of
from tidegate.replications import seeds_of
from tidegate.scenario_warnings import UNREAD, brief
from tidegate.source import Source
from tidegate.stopping import LEAST
from tidegate.sweeps.batch import Batch
from tidegate.sweeps.design import Point, points_of
from tidegate.sweeps.request import Request
from tidegate.sweeps.rows import Wanted
from tidegate.sweeps.until import Until, parse

RUNS = 10
"""Runs of each point, where nothing is said."""

MOST = 200
"""Most runs of a point that ends when its interval is narrow enough, where nothing is said."""

Checked = Callable[[int, int], None]
"""Called with the number of points that are checked, and the number of all."""


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep.

    Attributes:
        source: The scenario, with what is set at every point.
        wanted: The runs; with `until` the most of them.
        texts: Text of the scenario of each point, overrides applied.
        policies: Files that define policies in Python, of each point.
        until: When the runs of a point end; None for after a fixed number.
        warnings: Settings of points that are seldom intended.
    """

    source: Source
    wanted: Wanted
    texts: Sequence[str]
    policies: Sequence[tuple[PolicyFile, ...]]
    until: Until | None
    warnings: Sequence[str]

    def batch(self, point: int, replications: Sequence[int]) -> Batch:
        """Return some runs of a point."""
        first, last = replications[0], replications[-1]
        numbers = f"#{first}" if first == last else f"#{first}-{last}"
        return Batch(
            name=self.wanted.name,
            label=" ".join([*map("=".join, self.wanted.points[point]), numbers]),
            text=self.texts[point],
            file=self.source.file or f"{self.wanted.name}.toml",
            base_dir=str(self.source.base_dir),
            seeds=tuple(self.wanted.first_seed + one for one in replications),
            policies=self.policies[point],
        )


def prepare(source: Source, asked: Request, seed: int | None, progress: Checked | None = None) -> Plan:
    """Read the scenario of every point of a sweep.

    Points that come to the same scenario are one.

    Raises:
        TidegateError: One cannot be used, or the number of runs is out of range.
    """
    until = None if asked.until is None else parse(asked.until, source.scenario.groups)
    most = asked.replications
    if most is None:
        most = RUNS if until is None else MOST
    if until is not None and most < LEAST:
        raise TidegateError(f"--until {until.text}: needs at least {LEAST} replications, not {most}")
    first_seed = seeds_of(source, most, seed)[0]
    texts: dict[str, str] = {}
    policies: list[tuple[PolicyFile, ...]] = []
    settings: list[Point] = []
    warnings: list[list[str]] = []
    digests: dict[str, str | None] = {}
    points = points_of(asked.design)
    for number, point in enumerate(points):
        scenario = source.overridden(point).scenario
        files = inputs.digests(scenario, source.base_dir, digests)
        own = files_of(scenario)
        key = _key(scenario.toml, [*files.items(), *(("python", one.text) for one in own)])
        if key not in texts:
            texts[key] = scenario.toml
            policies.append(own)
            settings.append(point)
            warnings.append(scenario.warnings)
        if progress is not None:
            progress(number + 1, len(points))
    runs = [most] * len(texts)
    wanted = Wanted(source.scenario.name, settings, list(texts), first_seed, runs, asked.until)
    return Plan(source, wanted, list(texts.values()), policies, until, _warnings(warnings))


def _key(text: str, files: Iterable[tuple[str, str]]) -> str:
    """Return a digest of all on which the runs of a scenario depend, but for their seeds."""
    whole = "\n".join([__version__, text, *(f"{name} {digest}" for name, digest in files)])
    return hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _warnings(of_points: Sequence[Sequence[str]]) -> list[str]:
    """Return the warnings of points, each once, and at how many points it holds.

    A key that some point reads has its effect there.
    """
    counts = Counter(one for of_point in of_points for one in dict.fromkeys(of_point))
    everywhere = len(of_points)
    return [
        one if count == everywhere else f"at {count} of {everywhere} points: {one}"
        for one, count in counts.items()
        if count == everywhere or UNREAD not in brief(one)
    ]
