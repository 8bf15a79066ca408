"""Bursty flows that are real video: the frames of a film in place of on-off bursts."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.source import Overrides
from tidegate_papers import measures
from tidegate_papers.axel.common import (
    BURSTY,
    BURSTY_GROUPS,
    DELAYS,
    POLICIES,
    RATE,
    SERVERS,
    SMOOTH,
    WORST,
    Figures,
    in_ms,
    settings,
    worst,
)
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import RECORDING, Measure, Runs

FILM = "video/Terse_Jurassic.dat.gz"
"""Frame sizes of Jurassic Park in MPEG-4 at high quality (Fitzek and Reisslein 2001)."""

RESERVED = round(1.3 * RATE)
"""Reservation of a flow of video in bit/s: as much as each server has room for."""

SOURCE = f'{{ kind = "video", file = {RECORDING}, fps = 25, spread = "peak" }}'
FILTER = f'{{ rate = "{RESERVED}bit", burst = "96000B", excess = "drop" }}'


def _sets() -> Overrides:
    return [
        (f"flow.{group}.{key}", value)
        for group in BURSTY_GROUPS
        for key, value in (("reserve", f"{RESERVED}bit"), ("source", SOURCE), ("envelope", FILTER))
    ]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for policy, results in runs.items():
        for group in (BURSTY, SMOOTH):
            for what, figure in DELAYS.items():
                figures[f"{what}, {group}, {policy}, {WORST}"] = worst(results, group, figure)
        figures[f"99 %, {BURSTY}, {policy}"] = [
            in_ms(value) for value in measures.queueing_p99(results, BURSTY)
        ]
    results = runs["FIFO"]
    figures["utilisation, server 2"] = measures.link(results, SERVERS[2], "utilisation")
    figures["discarded by filters"] = measures.share_discarded(
        results, lambda row: bool(row["group"].startswith(BURSTY))
    )
    return {MAIN: figures}


VIDEO = Measure(_figures, {name: [*sets, *_sets()] for name, sets in settings(POLICIES).items()}, needs=FILM)
