"""End-to-end delays: Tables 3 to 8, 11 and 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate import Results
from tidegate_papers import measures
from tidegate_papers.axel.common import (
    BURSTY,
    DEFERRED,
    DELAYS,
    MILLISECOND,
    PACKET_BITS,
    POLICIES,
    SERVERS,
    SMOOTH,
    WORST,
    Figure,
    Figures,
    by_flow,
    settings,
    worst,
)
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import Row, ratio
from tidegate_papers.paper import Measure, Runs

Earlier = Mapping[str, Columns]

FIRST_SMOOTH = 2
"""The number of the first smooth flow; bursty flows have those before it."""


def delays(results: Results, group: str, first: int, policy: str) -> Figures:
    """Return mean and longest delay of each flow of a group, numbered from `first`, and of the worst."""
    figures: Figures = {}
    for what, figure in DELAYS.items():
        for number, values in enumerate(by_flow(results, group, figure), first):
            figures[f"{what}, {policy}, flow {number}"] = values
        figures[f"{what}, {policy}, {WORST}"] = worst(results, group, figure)
    return figures


def _bursty(runs: Runs, _: Earlier) -> Columns:
    figures = _all(runs, BURSTY, 0)
    pairs = (("Axel", "VirtualClock"), ("Axel", "FIFO+"), ("Axel", "PeakVC"), ("FIFO+", "FIFO"))
    return {MAIN: figures | _longest_over(figures, pairs) | _deferred(figures)}


def _smooth(runs: Runs, _: Earlier) -> Columns:
    figures = _all(runs, SMOOTH, FIRST_SMOOTH)
    return {MAIN: figures | _deferred(figures)}


def _misbehaving(runs: Runs, _: Earlier) -> Columns:
    figures = _all(runs, BURSTY, 0)
    pairs = (("Axel", "PeakVC"), ("Axel", "FIFO+"), ("Axel", "FIFO"))
    return {MAIN: figures | _longest_over(figures, pairs)}


def _all(runs: Runs, group: str, first: int) -> Figures:
    figures: Figures = {}
    for policy, results in runs.items():
        figures |= delays(results, group, first, policy)
    return figures


def _longest_over(figures: Figures, pairs: Sequence[tuple[str, str]]) -> Figures:
    """Return how many times as long one policy's longest delay of all is as another's."""
    return {
        f"longest, {one} over {other}": ratio(
            *(figures[f"longest, {policy}, {WORST}"] for policy in (one, other))
        )
        for one, other in pairs
    }


def _deferred(figures: Figures) -> Figures:
    """Return how many times as long the worst mean delay is under Deferred as under VirtualClock."""
    means = (figures[f"mean, {policy}, {WORST}"] for policy in (DEFERRED, "VirtualClock"))
    return {f"mean, {DEFERRED} over VirtualClock": ratio(*means)}


def _percentiles(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for policy, results in runs.items():
        for share, column in (("99 %", "delay_p99"), ("99.9 %", "delay_p999")):
            for number, values in enumerate(by_flow(results, BURSTY, _waited(results, column))):
                figures[f"{share}, {policy}, flow {number}"] = values
    return {MAIN: figures}


def _waited(results: Results, column: str) -> Figure:
    """Return the figure of a column of delays, in ms, without the time for which packets are transmitted."""
    (rate,) = set(measures.link(results, SERVERS[0], "rate"))
    transmission = PACKET_BITS / float(rate or 0.0)

    def waited(row: Row) -> float | None:
        delay = row[column]
        return None if delay is None else (delay - row["hops"] * transmission) / MILLISECOND

    return waited


BURSTY_DELAYS = Measure(_bursty, settings())
SMOOTH_DELAYS = Measure(_smooth, settings())
MISBEHAVING = Measure(_misbehaving, settings())
PERCENTILES = Measure(_percentiles, settings({name: POLICIES[name] for name in ("Axel", "FIFO+", "Pulse")}))
