"""The packets of a run as a table: a row for each packet at each link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate import backends
from tidegate.source import Overrides, ScenarioLike, resolve
from tidegate.tables import Table

__all__ = ["packets"]

OUTCOMES = ("dropped", "lost", "absorbed", "departed")
"""Events that end a packet's stay at a link; of two, the earlier one here is stated."""

WAITING = "waiting"
"""The outcome of a packet that is still there when the run is over."""

Numbers = npt.NDArray[np.int64]


def packets(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    sets: Overrides = (),
    progress: Callable[[float], None] | None = None,
) -> Table[Any]:
    """Run a scenario and return what happened to each packet at each link, in the order of arrival.

    The columns are `flow`, `number` (of the packet in its flow, from 0), `link`, `length` in bytes,
    `arrived`, `started` and `departed` (the last bit in, the first bit out, the last bit out, in s;
    null if it did not come to that), `outcome` (`departed`, `dropped`, `lost` on the link behind,
    `absorbed` by the port, or `waiting` at the end of the run) and `marked`. Every packet is kept in
    memory: some 340 bytes for each packet and link.

    Args:
        scenario: A path, TOML text, a `tidegate.Scenario` built in Python, or what `tidegate.load`
            returned.
        seed: Seed of the run; by default the scenario's own.
        sets: Overrides such as `("switch.buffer", "50p")`, applied in order.
        progress: Called from time to time with the share of the run that is done, 0 to 1.

    Raises:
        TidegateError: The scenario cannot be read or has a mistake.
    """
    loaded = resolve(scenario, sets).scenario
    network = backends.network(loaded)
    log, _ = backends.logged_run(loaded, loaded.seed if seed is None else seed, progress)
    events = np.frombuffer(log.event, np.uint8)
    visit, first = _visits(log)
    count = len(first)

    def at(name: str) -> pa.Array:
        """Return the time of an event in each visit, in s; null without one."""
        rows = np.flatnonzero(events == log.names.index(name))
        times = np.zeros(count)
        times[visit[rows]] = np.frombuffer(log.time, np.int64)[rows] / 1e9
        return pa.array(times, mask=~_marks(count, visit[rows]))

    outcome = np.full(count, len(OUTCOMES), np.int32)
    for place in reversed(range(len(OUTCOMES))):
        outcome[visit[events == log.names.index(OUTCOMES[place])]] = place
    order = np.argsort(first, kind="stable")
    table = pa.table(
        {
            "flow": _words([flow["name"] for flow in network["flows"]], _of(log.flow)[first]),
            "number": _of(log.sequence)[first],
            "link": _words([link["name"] for link in network["links"]], _of(log.link)[first]),
            "length": np.maximum.reduceat(_of(log.length)[_sorted(visit)], _starts(visit, count)),
            "arrived": at("arrived"),
            "started": at("started"),
            "departed": at("departed"),
            "outcome": _words([*OUTCOMES, WAITING], outcome),
            "marked": _marks(count, visit[np.frombuffer(log.is_marked, np.uint8) == 1]),
        }
    )
    return Table(table.take(pa.array(order)))


def _of(column: memoryview) -> Numbers:
    return np.frombuffer(column, np.int64)


def _visits(log: backends.PacketLog) -> tuple[Numbers, Numbers]:
    """Return the number of the visit of each event (a packet at a link), and each visit's first event."""
    keys = np.stack([_of(log.flow), _of(log.sequence), _of(log.link)], axis=1)
    _, first, visit = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return visit.reshape(-1), first


def _sorted(visit: Numbers) -> Numbers:
    return np.argsort(visit, kind="stable")


def _starts(visit: Numbers, count: int) -> Numbers:
    """Return where each visit begins among the events in the order of visits."""
    starts: Numbers = np.searchsorted(np.sort(visit), np.arange(count))
    return starts


def _marks(count: int, where: Numbers) -> npt.NDArray[np.bool_]:
    marks = np.zeros(count, bool)
    marks[where] = True
    return marks


def _words(words: list[str], places: Any) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(places))
