"""Why flow control: ABR fills what guaranteed traffic leaves, and memory in place of flow control."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.credit.common import Figures, dropped
from tidegate_papers.paper import Measure, Runs

RATE = 42.4e6
CELL_TIME = 40e-6
"""Seconds of a cell at the port of `buffers.toml`."""

GUARANTEED = ("CBR", "VBR")
FILLS = ("ABR1", "ABR2", "rated1", "rated2")


def _sum(results: Results, groups: tuple[str, ...]) -> list[float]:
    """Return the bit/s that groups received in the measured time, whenever they were sent."""
    each = [measures.samples(results, group, "throughput") for group in groups]
    return [float(sum(samples.mean() for samples in run)) for run in zip(*each, strict=True)]


def _figure_5(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        guaranteed, fills = _sum(results, GUARANTEED), _sum(results, FILLS)
        most = measures.link(results, "s1->d", "queue_max")
        columns[name] = {
            "ABR over what CBR and VBR leave": [
                100 * more / (RATE - taken) for more, taken in zip(fills, guaranteed, strict=True)
            ],
            "utilisation of the link": [
                None if used is None else 100 * float(used)
                for used in measures.link(results, "s1->d", "utilisation")
            ],
            "least utilisation in 1 ms": [
                100 * float(samples.min()) for samples in measures.samples(results, "s1->d", "utilisation")
            ],
            "cells lost": dropped(results),
            "most cells at s1": [float(longest or 0) for longest in most],
        }
    return columns


def _buffers(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    most: dict[str, Values] = {
        name: [float(longest or 0) for longest in measures.link(results, "s1->d", "queue_max")]
        for name, results in runs.items()
    }
    figures: Figures = {
        "buffer for packets of 40 cells": most["40 cells"],
        "buffer for a session of 64 packets": most["1 sessions"],
    }
    for cells in (80, 160):
        figures[f"over that for 40 cells, {cells} cells"] = measures.ratio(
            most[f"{cells} cells"], most["40 cells"]
        )
    for sessions in (4, 16):
        figures[f"over that for a session, {sessions} sessions"] = measures.ratio(
            most[f"{sessions} sessions"], most["1 sessions"]
        )
    for times in (2, 4, 16):
        figures[f"buffer over the burst, a link of {times} times the port"] = [
            None if cells is None else cells / BURST for cells in most[f"a link of {times} times"]
        ]
    return {MAIN: figures}


BURST = 1600
"""Cells that a host sends over a faster link."""


def _packets(cells: int) -> Overrides:
    """Return what lets each of four hosts send a packet of so many cells at once."""
    stop = f"{10_000 + round(cells * CELL_TIME * 1e6)}us"
    return [(f"flow.vc{host}.stop", stop) for host in range(1, 5)]


def _stopped(first: int) -> Overrides:
    """Return what lets the flows from this one on send nothing."""
    flows = [f"flow.vc{host}" for host in range(first, 5)]
    return [(f"{flow}.{key}", time) for flow in flows for key, time in (("start", "1h"), ("stop", "2h"))]


def _sessions(count: int) -> Overrides:
    """Return what starts so many sessions over a link that is faster than the port."""
    start = [("connection.session.start", "10ms"), ("connection.session.count", str(count))]
    return [("link.h1-s1.rate", "169.6mbit"), *_stopped(1), *start]


def _faster(times: int) -> Overrides:
    """Return what lets one host send a burst over a link of so many times the rate of the port."""
    rate = f"{10_600 * times}kbit"
    stop = f"{10_000 + round(BURST * CELL_TIME * 1e6 / times)}us"
    burst = [("flow.vc1.source.rate", rate), ("flow.vc1.stop", stop)]
    return [("link.h1-s1.rate", rate), *burst, *_stopped(2)]


CREDIT: Overrides = [(f"link.abr{number}-s1.credit", "{}") for number in (1, 2)]
UNRATED: Overrides = [(f"flow.ABR{number}.start", "1h") for number in (1, 2)]
RATED: Overrides = [(f"connection.rated{number}.start", "0s") for number in (1, 2)]
LIMITED: Overrides = [("link.s1-d.dropper", '{ kind = "drop-tail", limit = "200p" }')]

MEASURES = {
    "figure-5": Measure(
        _figure_5,
        {
            MAIN: CREDIT,
            "ERICA": [
                ("link.s1-d.rate_control", '{ kind = "erica", utilisation = 0.95, interval = "1ms" }'),
                *UNRATED,
                *RATED,
            ],
            "no control": LIMITED,
        },
        series=("throughput", "utilisation"),
    ),
    "buffers": Measure(
        _buffers,
        {
            **{f"{cells} cells": _packets(cells) for cells in (40, 80, 160)},
            **{f"{count} sessions": _sessions(count) for count in (1, 4, 16)},
            **{f"a link of {times} times": _faster(times) for times in (2, 4, 16)},
        },
    ),
}
