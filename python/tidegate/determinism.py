"""Two runs of one scenario under one seed, which ought to be the same."""

from __future__ import annotations

from tidegate._tidegate import TidegateError
from tidegate.backends import PacketLog, logged_run
from tidegate.source import ScenarioLike, resolve

__all__ = ["check_deterministic"]


def check_deterministic(scenario: ScenarioLike, *, seed: int | None = None) -> None:
    """Run a scenario twice, and compare the runs event by event, and their tables.

    A policy in Python may draw random numbers of its own, or depend on the order of a set or on the
    time of day. Its results then mean nothing.

    Args:
        scenario: As `tidegate.simulate` takes it; its packets' events must fit in memory.
        seed: Seed of both runs, below 2⁶³; by default the scenario's own.

    Raises:
        TidegateError: The scenario has a mistake, or the runs differ. The message has the first
            event that does, or else the first table.
    """
    loaded = resolve(scenario).scenario
    number = loaded.seed if seed is None else seed
    runs = [logged_run(loaded, number) for _ in range(2)]
    first, second = (log for log, _ in runs)
    columns = [(one.time, one.link, one.flow, one.sequence, one.event) for one in (first, second)]
    rows = (zip(*one, strict=True) for one in columns)
    for event, (one, other) in enumerate(zip(*rows, strict=False)):
        if one != other:
            raise TidegateError(
                f"two runs of seed {number} differ from event {event} on: "
                f"{_event(first, event)}, and {_event(second, event)}"
            )
    if len(first.time) != len(second.time):
        shorter = min(len(first.time), len(second.time))
        raise TidegateError(f"two runs of seed {number} differ: one ends after {shorter} events")
    # Findings of detectors and colours of meters need not change a packet's way.
    tables, others = (tables for _, tables in runs)
    for name, table in tables.items():
        # Values that are not a number are equal as text.
        if repr(table.to_pylist()) != repr(others[name].to_pylist()):
            raise TidegateError(f"two runs of seed {number} differ in the table `{name}`")


def _event(log: PacketLog, row: int) -> str:
    """Return an event in words."""
    what = log.names[log.event[row]]
    return f"packet {log.sequence[row]} of flow {log.flow[row]} {what} at {log.time[row] / 1e9} s"
