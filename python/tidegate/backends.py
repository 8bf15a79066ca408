"""Programs that run scenarios: the simulator, and those that other distributions add.

A distribution names its backend in the entry points of the group `tidegate.backends`, in
`pyproject.toml`:

    [project.entry-points."tidegate.backends"]
    mine = "my_package.module:run"

It is a `Backend`: a function that takes what `Backend.__call__` takes and returns `Results`. The other
functions here are what one is made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from tidegate import _tidegate
from tidegate import replications as simulator
from tidegate._tidegate import TidegateError
from tidegate.replications import Progress, jobs_for, seeds_of
from tidegate.results import Results
from tidegate.run_results import Measured, results_of
from tidegate.run_tables import as_arrow
from tidegate.source import LoadedScenario, Source

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Backend",
    "Measured",
    "PacketLog",
    "Source",
    "find",
    "find_all",
    "jobs_for",
    "logged_run",
    "network",
    "results_of",
    "seeds_of",
]

GROUP = "tidegate.backends"
"""The group of their entry points."""

SIMULATOR = "sim"
"""The name of the simulator."""

ADDED = {"linux": "lab"}
"""Backends of the distributions that are released together with this one, by their commands."""


SLICE = 200_000
"""Events of the simulator between two looks at whether to stop."""


class Backend(Protocol):
    """Runs a scenario.

    Run k, from 0, has the seed `seed` + k, or that of the scenario + k. `progress` is called with
    the share that is done.
    """

    def __call__(
        self,
        source: Source,
        *,
        replications: int,
        jobs: int | None,
        seed: int | None,
        progress: Progress | None,
    ) -> Results:
        """Return the results of all runs."""
        ...


def find(name: str) -> Backend:
    """Return a backend by its name.

    Raises:
        TidegateError: There is none of that name, or it cannot be loaded.
    """
    if name == SIMULATOR:
        return simulator.run
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name in points:
        try:
            backend: Backend = points[name].load()
        except Exception as error:
            raise TidegateError(f"`{name}` cannot be loaded: {type(error).__name__}: {error}") from error
        return backend
    if name in ADDED:
        from tidegate.cli.extensions import DISTRIBUTIONS

        distribution = DISTRIBUTIONS[ADDED[name]]
        raise TidegateError(
            f"`{name}` is in {distribution}, which is not installed\n  help: pip install {distribution}"
        )
    known = ", ".join([SIMULATOR, *points, *(one for one in ADDED if one not in points)])
    raise TidegateError(f"nothing runs scenarios on `{name}`\n  help: it is one of {known}")


def find_all(names: Sequence[str], *, series: bool = False) -> dict[str, Backend]:
    """Return backends by their names; with `series` the simulator records quantities over time.

    Raises:
        TidegateError: One is unknown, or named twice.
    """
    for name in names:
        if names.count(name) > 1:
            raise TidegateError(f"`{name}` is named twice")
    recorded: Backend = partial(simulator.run, series=series)
    return {name: recorded if name == SIMULATOR else find(name) for name in names}


def network(scenario: LoadedScenario) -> dict[str, Any]:
    """Return the network of a scenario: nodes, links with their ports' policies, and flows with their routes.

    Rates are in bit/s, times in s, sizes in bytes; numbers of nodes, links and flows are places in
    the lists. Policies have a `name` and the `values` of all their parameters.
    """
    described: dict[str, Any] = json.loads(scenario.network_json())
    return described


@dataclass(frozen=True)
class PacketLog:
    """The events of packets in a run of the simulator, in order: columns of equal length.

    Attributes:
        time: When, in ns from the start of the run.
        link: The link, or the port in front of it.
        flow: The packet's flow.
        sequence: Its number in the flow, from 0.
        length: Its bytes, where it arrives at a port; else 0.
        event: What happened, as a place in `names`.
        is_marked: 1 where a packet starts with a congestion mark; else 0.
        names: Names of the events.
    """

    time: memoryview
    link: memoryview
    flow: memoryview
    sequence: memoryview
    length: memoryview
    event: memoryview
    is_marked: memoryview
    names: tuple[str, ...]


def logged_run(
    scenario: LoadedScenario, seed: int, progress: Callable[[float], None] | None = None
) -> tuple[PacketLog, dict[str, pa.Table]]:
    """Run a scenario in the simulator; return the log of its packets, and its tables.

    `progress` is called from time to time with the share that is done.
    """
    run = _tidegate.Run.logged(scenario, seed)
    while not run.advance(SLICE):
        if progress is not None:
            progress(run.progress)
    log = run.log()
    whole = ("time", "link", "flow", "sequence", "length")
    columns = {name: memoryview(log[name]).cast("q") for name in whole}
    bytes_of = {name: memoryview(log[name]) for name in ("event", "is_marked")}
    return PacketLog(**columns, **bytes_of, names=tuple(log["names"])), as_arrow(run.tables())
