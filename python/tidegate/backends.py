"""What runs a scenario: the simulator, or what another distribution adds.

A distribution names its backend in the entry points of the group `tidegate.backends`, in
`pyproject.toml`:

    [project.entry-points."tidegate.backends"]
    linux = "tidegate_lab.testbed.backend:run"

It is a function that takes what `run` takes here and returns results of the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Protocol

from tidegate import replications as simulator
from tidegate._tidegate import TidegateError
from tidegate.replications import Progress
from tidegate.results import Results
from tidegate.source import Source

GROUP = "tidegate.backends"
"""The group of their entry points."""

SIMULATOR = "sim"
"""The name of the simulator."""

DISTRIBUTIONS = {"linux": "tidegate-lab"}
"""Backends of the distributions that are released together with this one."""


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
    if name in DISTRIBUTIONS:
        distribution = DISTRIBUTIONS[name]
        raise TidegateError(
            f"`{name}` is in {distribution}, which is not installed\n  help: pip install {distribution}"
        )
    known = ", ".join([SIMULATOR, *points, *(one for one in DISTRIBUTIONS if one not in points)])
    raise TidegateError(f"nothing runs scenarios on `{name}`\n  help: it is one of {known}")


def find_all(names: Sequence[str]) -> dict[str, Backend]:
    """Return backends by their names.

    Raises:
        TidegateError: One is unknown, or named twice.
    """
    for name in names:
        if names.count(name) > 1:
            raise TidegateError(f"`{name}` is named twice")
    return {name: find(name) for name in names}
