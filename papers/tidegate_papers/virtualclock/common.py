"""Common parts of this paper's experiments."""

from __future__ import annotations

from tidegate.summary import Values
from tidegate_papers.measures import Choose

Figures = dict[str, Values]

PACKET = 250
"""Bytes of every packet."""

PACKET_TIME = 5e-3
"""Seconds that a link between switches takes for a packet."""

MILLISECOND = 1e-3

ACCESS_LINKS = 2
"""Links of a flow's route that the paper does not count as hops: from its source, and to its
destination."""

PATHS = ("h1-h2", "h2-h1", "h3-h4", "h4-h3", "h1-h3", "h3-h1", "h2-h4", "h4-h2", "h1-h4", "h4-h1")
"""The groups of flows of Test One."""

FIFO = (("port.scheduler", "fifo"),)

NEVER = "1h"
"""A flow that starts then, after the end of the run, is not there."""


def hops_are(count: int) -> Choose:
    """Choose flows that cross this many links between switches."""
    return lambda row: row["hops"] - ACCESS_LINKS == count


def named(prefix: str) -> Choose:
    """Choose flows of groups whose names begin so."""
    return lambda row: row["group"].startswith(prefix)


def ms(seconds: Values) -> Values:
    """Return times in milliseconds."""
    return [None if value is None else value / MILLISECOND for value in seconds]


def less(one: float | None, other: float | None) -> float | None:
    """Return by how much one is above the other; None where one was not measured."""
    return None if one is None or other is None else one - other
