"""End-to-end delays: Tables 3 to 8, 11 and 12."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.papers import measures
from tidegate.papers.axel.common import (
    BURSTY,
    DELAYS,
    MILLISECOND,
    PACKET_BITS,
    POLICIES,
    SMOOTH,
    WORST,
    Figure,
    Figures,
    by_flow,
    ratio,
    settings,
    worst,
)
from tidegate.papers.claims import MAIN, Columns
from tidegate.papers.measures import Row
from tidegate.papers.paper import Measure, Runs
from tidegate.results import Results

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
    figures: Figures = {}
    for policy, results in runs.items():
        figures |= delays(results, BURSTY, 0, policy)
    for policy, other in (
        ("Axel", "VirtualClock"),
        ("Axel", "FIFO+"),
        ("Axel", "PeakVC"),
        ("Axel", "FIFO"),
        ("FIFO+", "FIFO"),
    ):
        pair = (figures[f"longest, {one}, {WORST}"] for one in (policy, other))
        figures[f"longest, {policy} over {other}"] = ratio(*pair)
    mean, virtual_clock = (figures[f"mean, {one}, {WORST}"] for one in ("Deferred", "VirtualClock"))
    figures["mean, Deferred over VirtualClock"] = ratio(mean, virtual_clock)
    return {MAIN: figures}


def _smooth(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for policy, results in runs.items():
        figures |= delays(results, SMOOTH, FIRST_SMOOTH, policy)
    mean, virtual_clock = (figures[f"mean, {one}, {WORST}"] for one in ("Deferred", "VirtualClock"))
    figures["mean, Deferred over VirtualClock"] = ratio(mean, virtual_clock)
    return {MAIN: figures}


def _percentiles(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for policy, results in runs.items():
        for share, column in (("99 %", "delay_p99"), ("99.9 %", "delay_p999")):
            for number, values in enumerate(by_flow(results, BURSTY, _waited(results, column))):
                figures[f"{share}, {policy}, flow {number}"] = values
    return {MAIN: figures}


def _waited(results: Results, column: str) -> Figure:
    """Return the figure of a column of delays without the transmission times, which are alike for all packets."""
    (rate,) = set(measures.link(results, "s1->s2", "rate"))
    transmission = PACKET_BITS / float(rate or 0.0)

    def waited(row: Row) -> float | None:
        delay = row[column]
        return None if delay is None else (delay - row["hops"] * transmission) / MILLISECOND

    return waited


BURSTY_DELAYS = Measure(_bursty, settings())
SMOOTH_DELAYS = Measure(_smooth, settings())
PERCENTILES = Measure(_percentiles, settings({name: POLICIES[name] for name in ("Axel", "FIFO+", "Pulse")}))
