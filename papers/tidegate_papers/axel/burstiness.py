"""The burstiness increase of smooth flows: Tables 9 and 10, by the exact W at 1.02 r and at r."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers.axel.common import POLICIES, SERVERS, SMOOTH, Figures, settings
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs

Row = dict[str, Any]

FACTORS = {"1.02 r": 1.02, "r": 1.0}
"""Rates at which W is taken, as factors on what flows reserve."""

PER_CENT = 100.0

ACCELERATED = ("Axel", "Pulse", "PeakVC")
PLAIN = ("FIFO", "VirtualClock")


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for policy, results in runs.items():
        for at, factor in FACTORS.items():
            figures |= _increases(results, factor, policy, at)
        figures[f"added, {policy}, at r"] = workahead_added(results, SMOOTH)
    end = {policy: figures[f"end to end, {policy}, at 1.02 r"] for policy in runs}
    above = [*product(ACCELERATED, PLAIN), *((one, "FIFO+") for one in PLAIN)]
    return {MAIN: figures | {f"{one} above {other}": minus(end[one], end[other]) for one, other in above}}


def _lowest(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    """Compare the two policies that increase burstiness least."""
    pair = ("VirtualClock", "FIFO+")
    end = {one: _end_to_end(list(_runs(runs[one], 1.02))) for one in pair}
    figures: Figures = {f"end to end, {one}, at 1.02 r": end[one] for one in pair}
    return {MAIN: figures | {"VirtualClock above FIFO+": minus(*end.values())}}


# = pincheira1994 4.2
def _end_to_end(runs: list[list[Row]]) -> Values:
    return [_largest(run, SMOOTH, len(SERVERS), "increase_from_source") for run in runs]


def _increases(results: Results, factor: float, policy: str, at: str) -> Figures:
    """Return the largest increases among smooth flows, in per cent: over all servers, and over each."""
    runs = list(_runs(results, factor))
    figures: Figures = {f"end to end, {policy}, at {at}": _end_to_end(runs)}
    for server in range(len(SERVERS)):
        place = f"{policy}, server {server}"
        figures[f"end, at {at}, {place}"] = [_largest(run, SMOOTH, server + 1, "increase") for run in runs]
        figures[f"cross, at {at}, {place}"] = [
            _largest(run, f"{SMOOTH}-{server}", 1, "increase") for run in runs
        ]
    return figures


def _largest(run: list[Row], group: str, hop: int, column: str) -> float | None:
    values = (row[column] for row in run if row["group"] == group and row["hop"] == hop)
    return max((PER_CENT * value for value in values if value is not None), default=None)


def workahead_added(results: Results, group: str) -> Values:
    """Return by how many bytes the exact W at r grows at most on the way of a flow whose group begins so."""
    added: Values = []
    for run in _runs(results, 1.0):
        rows = [row for row in run if row["group"].startswith(group)]
        at_source = {row["flow"]: row["workahead"] for row in rows if row["hop"] == 0}
        added.append(
            max((row["workahead"] - at_source[row["flow"]] for row in rows if row["hop"]), default=None)
        )
    return added


def _runs(results: Results, factor: float) -> Iterator[list[Row]]:
    """Yield the rows of the table `workahead` at a factor, replication by replication."""
    rows = [row for row in results.workahead.to_pylist() if row["factor"] == factor]
    for number in range(results.replications):
        yield [row for row in rows if row["replication"] == number]


BURSTINESS = Measure(_figures, settings(POLICIES), workahead=tuple(FACTORS.values()))
LOWEST = Measure(
    _lowest,
    settings({name: POLICIES[name] for name in ("VirtualClock", "FIFO+")}),
    workahead=(FACTORS["1.02 r"],),
)
