"""Common parts of this paper's experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.measures import Row

Figures = dict[str, Values]

PUBLISHED = {
    "FIFO": '"fifo"',
    "FIFO+": '"fifo-plus"',
    "VirtualClock": '"virtual-clock"',
    "PeakVC": '"peak-vc"',
    "Pulse": '"pulse"',
    "Axel": '"axel"',
}
"""The paper's policies, with their schedulers."""

DEFERRED = "Deferred"

POLICIES = {**PUBLISHED, DEFERRED: '"deferred"'}
"""And the one of which it gives no figures."""

PACKET_BITS = 8 * 48
"""Bits of every packet."""

MILLISECOND = 1e-3

BURSTY = "bursty"
SMOOTH = "smooth"
"""Groups of the flows that cross all servers."""

BURSTY_GROUPS = (BURSTY, *(f"{BURSTY}-{server}" for server in range(5)))
"""Groups of all bursty flows that behave."""

RATE = 737_280
"""Mean rate of a flow in bit/s, and what it reserves in the large-W case."""

SERVERS = ("s1->s2", "s2->s3", "s3->s4", "s4->s5", "s5->s6")
"""Links that are the report's servers 0 to 4."""

WORST = "worst flow"

Figure = Callable[[Row], float | None]
"""A figure of a flow, from its row of the table `flows`."""


def under(scheduler: str) -> Overrides:
    """Return what puts a scheduler at every port."""
    return [("port.scheduler", scheduler)]


def settings(schedulers: Mapping[str, str] = POLICIES) -> dict[str, Overrides]:
    """Return a setting for each scheduler, by its name."""
    return {name: under(scheduler) for name, scheduler in schedulers.items()}


def queueing_mean(row: Row) -> float | None:
    """Return a flow's mean queueing delay in ms."""
    return in_ms(row["queueing_mean"])


def queueing_max(row: Row) -> float | None:
    """Return a flow's longest queueing delay in ms."""
    return in_ms(row["queueing_max"])


DELAYS: Mapping[str, Figure] = {"mean": queueing_mean, "longest": queueing_max}
"""Columns of the paper's tables of delays."""


def in_ms(seconds: float | None) -> float | None:
    """Return a time in milliseconds."""
    return None if seconds is None else seconds / MILLISECOND


def by_flow(results: Results, group: str, figure: Figure) -> list[Values]:
    """Return a figure of each flow of a group: for each flow, that of every replication."""
    runs = measures.flows(results, lambda row: bool(row["group"] == group))
    return [list(values) for values in zip(*([figure(row) for row in rows] for rows in runs), strict=True)]


def worst(results: Results, group: str, figure: Figure) -> Values:
    """Return the largest figure of a group's flows in each replication."""
    flows = by_flow(results, group, figure)
    return [
        max((value for value in run if value is not None), default=None) for run in zip(*flows, strict=True)
    ]
