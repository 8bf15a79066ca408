"""Datagrams at twice the rate of every link, beside flows that reserve, and alone (sections 2.3 and 3.2.2).

Every run with datagrams is compared, flow by flow, with the same reserved packets without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.measures import Row
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import (
    ACCESS_LINKS,
    FIFO,
    MILLISECOND,
    NEVER,
    PACKET_TIME,
    PATHS,
    Figures,
    named,
)

LINKS = ("1-2", "2-1", "2-3", "3-2", "3-4", "4-3")
"""Links between switches, each in one direction."""

FIRST_LINK = ("h1-h2", "h4-h3")
"""Groups of one hop on links that only hosts feed: arrivals are the same with datagrams and
without."""

LONGEST_PATH = "h1-h4"

PROPAGATION = 5e-3
"""Seconds from the end of a link to its other end."""

SMOOTH = "one at a time"
FREE = "unchecked"

BESIDE: Mapping[str, Overrides] = {
    MAIN: (),
    # A flow that is never checked is never synchronised.
    FREE: [(f"flow.{path}.interval", "1h") for path in PATHS],
    SMOOTH: [
        (f"flow.{path}.{key}", value)
        for path in PATHS
        for key, value in (("envelope.burst", "250B"), ("interval", "100ms"))
    ],
}
"""Reserved flows as they are, and as they might be."""

NOBODY: Overrides = [(f"flow.datagrams-{link}.start", NEVER) for link in LINKS]

PER_CENT = 100.0

Pair = tuple[Row, Row]
"""A reserved flow with datagrams beside it, and without."""


def without(name: str) -> str:
    """Return the name of the setting beside which a run with datagrams is put."""
    return f"{name} without datagrams"


SETTINGS = {
    key: value
    for name, sets in BESIDE.items()
    for key, value in ((name, sets), (without(name), [*sets, *NOBODY]))
}


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns = {name: cost(runs[name], runs[without(name)]) for name in BESIDE}
    # Beside stands what might depend on how reserved flows send: the delay that is added.
    return {
        name: {key: values for key, values in figures.items() if name == MAIN or key.startswith("added")}
        for name, figures in columns.items()
    }


def cost(results: Results, alone: Results) -> Figures:
    """Return what datagrams get and what they cost, against a run without them."""
    pairs = list(_pairs(results, alone))
    figures: Figures = {
        "reserved flows that sent otherwise": [
            sum(one["sent_packets"] != other["sent_packets"] for one, other in run) for run in pairs
        ],
        "losses of reserved flows": measures.lost(results, _reserved),
        "losses of datagrams": measures.lost(results, named("datagrams")),
        "throughput changed, worst flow": [
            _largest(run, lambda one, other: abs(one["throughput"] / other["throughput"] - 1) * PER_CENT)
            for run in pairs
        ],
        "added a hop, all packets": [_mean_added(run) for run in pairs],
        "added a hop, worst flow, mean": [
            _largest(run, lambda one, other: _added(one, other, "queueing_mean")) for run in pairs
        ],
        "added a hop, worst flow, longest": [
            _largest(run, lambda one, other: _added(one, other, "queueing_max")) for run in pairs
        ],
        "added at a first link, worst flow, longest": [
            _largest(
                [pair for pair in run if pair[0]["group"] in FIRST_LINK],
                lambda one, other: _added(one, other, "queueing_max"),
            )
            for run in pairs
        ],
        "datagrams beyond what was left": _beyond(results),
    }
    return figures


def _pairs(results: Results, alone: Results) -> Iterator[list[Pair]]:
    """Yield the reserved flows of each replication, with datagrams and without."""
    both = zip(measures.flows(results, _reserved), measures.flows(alone, _reserved), strict=True)
    for rows, others in both:
        yield [
            (one, other)
            for one, other in zip(rows, others, strict=True)
            if one["received_packets"] and other["received_packets"]
        ]


def _reserved(row: Row) -> bool:
    return not row["group"].startswith("datagrams")


def _largest(run: list[Pair], figure: Callable[[Row, Row], float]) -> float | None:
    return max((figure(*pair) for pair in run), default=None)


def _added(one: Row, other: Row, column: str) -> float:
    """Return what datagrams added to a flow's delay, in ms for each link between switches."""
    return float((one[column] - other[column]) / (one["hops"] - ACCESS_LINKS) / MILLISECOND)


def _mean_added(run: list[Pair]) -> float | None:
    """Return what datagrams added to a packet's delay at a link between switches, in ms."""
    visits = sum(one["received_packets"] * (one["hops"] - ACCESS_LINKS) for one, _ in run)
    waited = math.fsum(
        sign * row["received_packets"] * row["queueing_mean"]
        for pair in run
        for sign, row in zip((1, -1), pair, strict=True)
    )
    return waited / visits / MILLISECOND if visits else None


def _beyond(results: Results) -> Values:
    """Return by how much the datagrams of a link exceed, or fall short of, what reserved flows left of it.

    What has arrived was sent a propagation delay before the end; every reserved packet had arrived
    by then.
    """
    beyond: Values = []
    slots = (results.duration - PROPAGATION) / PACKET_TIME
    for rows in measures.flows(results, measures.everything):
        each = []
        for link in LINKS:
            reserved = sum(row["received_packets"] for row in rows if _reserved(row) and crosses(row, link))
            datagrams = sum(row["received_packets"] for row in rows if row["group"] == f"datagrams-{link}")
            each.append(datagrams - (slots - reserved))
        beyond.append(max(each, key=abs))
    return beyond


def crosses(row: Row, link: str) -> bool:
    """Return whether a flow between hosts crosses a link between switches, in its direction."""
    first, last = int(row["from"][1:]), int(row["to"][1:])
    start, end = (int(switch) for switch in link.split("-"))
    return min(first, last) <= min(start, end) < max(first, last) and (first < last) == (start < end)


def _panels(runs: Runs) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            title,
            f"share of the flows (%), by {what}",
            "queueing delay added a hop (ms)",
            tuple(
                Curve(
                    {MAIN: "as in Test One"}.get(name, name),
                    SHARES,
                    _spread(list(_pairs(runs[name], runs[without(name)])), column),
                    points=False,
                )
                for name in BESIDE
            ),
            levels=(Level(PACKET_TIME / MILLISECOND, "one packet time"),),
        )
        for title, what, column in (
            ("Mean delay of each flow", "mean", "queueing_mean"),
            ("Longest delay of each flow", "longest", "queueing_max"),
        )
    )


SHARES = tuple(range(0, 101, 2))


def _spread(pairs: list[list[Pair]], column: str) -> list[Values]:
    """Return the delay that datagrams add at most to each share of the flows."""
    added = [sorted(_added(one, other, column) for one, other in run) for run in pairs]
    return [
        [run[min(len(run) - 1, len(run) * share // 100)] if run else None for run in added]
        for share in SHARES
    ]


def _alone(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    """Compare outcomes packet by packet: a fingerprint is of every packet's time and place."""
    pairs = zip(runs[MAIN].fingerprints, runs["FIFO"].fingerprints, strict=True)
    return {
        MAIN: {
            "outcomes that differ from FIFO's": [int(one != other) for one, other in pairs],
            "losses": measures.lost(runs[MAIN]),
        }
    }


def _alone_panels(runs: Runs) -> tuple[Panel, ...]:
    delays = tuple(0.05 * step for step in range(41))
    at = tuple(delay / MILLISECOND for delay in delays)
    curves = tuple(
        Curve(
            name or "VirtualClock", at, measures.queueing_above(results, LONGEST_PATH, delays), points=False
        )
        for name, results in runs.items()
    )
    return (
        Panel(
            "Flows of three hops: the two lines are one",
            "queueing delay (ms)",
            "share of packets that waited longer",
            curves,
        ),
    )


DATAGRAMS = Measure(_figures, SETTINGS, panels=_panels)
ALONE = Measure(_alone, {MAIN: (), "FIFO": FIFO}, histogram=True, panels=_alone_panels)
