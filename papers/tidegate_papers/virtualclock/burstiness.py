"""The burstiness of sources against the utilisation that keeps the queueing delay.

The paper's summary says that from burstiness two to eight the network keeps the same delay by a
modest decrease in utilisation. A source of burstiness b sends the packets of a train at b times its
average rate; two is that of every other experiment. Each burstiness is run under several loads, and
the utilisation at which the delay is that of Test One is read off between two of them, replication
by replication on the same seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import PACKET, PATHS

AVERAGE_RATE = 20_000
"""Average rate of a flow in bit/s at full load."""

PACKET_BITS = 8 * PACKET

AIR = 12
"""Packets in an average interval, whatever the rate."""

LINK = "s2->s3"
"""The paper's link 12, at its switch 2."""

LOWEST = 2
BURSTIER = (4, 6, 8)
LOADS = (0.85, 0.9, 0.95, 1.0)
"""Shares of the average rate."""


class Point(NamedTuple):
    """One replication under one load.

    Attributes:
        delay: Mean queueing delay in s; NaN where no packet arrived, which compares with nothing.
        utilisation: Share of the time in which the link was sending, 0 to 1.
    """

    delay: float
    utilisation: float


def _settings() -> dict[str, Overrides]:
    return {_name(LOWEST, 1.0): _sets(LOWEST, 1.0)} | {
        _name(burstiness, load): _sets(burstiness, load) for burstiness in BURSTIER for load in LOADS
    }


def _name(burstiness: int, load: float) -> str:
    return f"burstiness {burstiness}, load {load}"


def _sets(burstiness: int, load: float) -> Overrides:
    """Scale what every flow sends and reserves, and close the gaps within its trains.

    The average interval goes with the rate, so that the envelope's burst stays AR * AI. Its peak
    rate is that within a train.
    """
    rate = round(AVERAGE_RATE * load)
    gap = round(1e9 * PACKET_BITS / (burstiness * rate))
    interval = round(1e9 * AIR * PACKET_BITS / rate)
    return [
        (f"flow.{path}.{key}", value)
        for path in PATHS
        for key, value in (
            ("reserve", f"{rate}bit"),
            ("interval", f"{interval}ns"),
            ("envelope.rate", f"{rate}bit"),
            ("envelope.peak", f"{burstiness * rate}bit"),
            ("source.rate", f"{rate}bit"),
            ("source.gap", f"{gap}ns"),
        )
    ]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    points = {name: _points(results) for name, results in runs.items()}
    kept = points[_name(LOWEST, 1.0)]
    figures: dict[str, Values] = {f"utilisation at burstiness {LOWEST}": [one.utilisation for one in kept]}
    for burstiness in BURSTIER:
        curves = zip(*(points[_name(burstiness, load)] for load in LOADS), strict=True)
        figures[f"utilisation at burstiness {burstiness}"] = [
            at_delay(curve, one.delay) for curve, one in zip(curves, kept, strict=True)
        ]
    return {MAIN: figures}


def _points(results: Results) -> list[Point]:
    """Return where each replication is: the mean queueing delay of all packets, and how busy the link was."""
    figures = (measures.queueing(results, measures.everything), measures.link(results, LINK, "utilisation"))
    return [
        Point(*(math.nan if value is None else value for value in pair))
        for pair in zip(*figures, strict=True)
    ]


def at_delay(curve: Sequence[Point], delay: float) -> float | None:
    """Return the utilisation at which a curve, rising in both, has this delay.

    Between two points the logarithm of the delay is straight. None where the curve does not reach
    the delay.
    """
    for lower, upper in pairwise(curve):
        if lower.delay <= delay <= upper.delay:
            share = math.log(delay / lower.delay) / math.log(upper.delay / lower.delay)
            return lower.utilisation + share * (upper.utilisation - lower.utilisation)
    return None


BURSTINESS = Measure(_figures, _settings())
