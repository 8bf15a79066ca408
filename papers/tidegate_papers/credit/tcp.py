"""TCP over links with and without credit: Table 2, Figure 16, and TCP beside UDP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.credit.common import Figures
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.paper import Measure, Runs

USEFUL = 48 / 53 / 8e6
"""MB/s of payload for each bit/s of cells."""

SIZE, CELLS = 9188, 192
"""Bytes of a packet with LLC/SNAP, and the cells as which it goes."""

SLOW = 50.21e6
"""bit/s of the slow link."""

BOTTLENECK = SLOW * USEFUL
"""MB/s that it delivers."""

PACKET_TIME = CELLS * 53 * 8 / SLOW
"""Seconds that a packet takes on it."""

UDP_RATES = (2, 5, 10, 20, 40)
"""Mbit/s of cells."""

VC, QUEUE = "one on A->s1", "vc_queue"
"""The VC into the switch with the slow link, and its cells there."""


def delivered(results: Results, *connections: str) -> Values:
    """Return what connections delivered in MB/s, each byte once, with the headers of its packet."""
    runs: dict[int, float] = dict.fromkeys(range(results.replications), 0.0)
    for row in results.flows.to_pylist():
        if row["flow"] in connections and row["goodput"] is not None:
            runs[row["replication"]] += row["goodput"] * SIZE / (SIZE - 48) / 8e6
    return list(runs.values())


def received(results: Results, flow: str) -> Values:
    """Return what a flow brought in whole packets in MB/s."""
    return [row["throughput"] / 8e6 for row in results.aal5.to_pylist() if row["flow"] == flow]


def _table_2(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[name] = delivered(results, "one", "two")
    for tcps in ("one TCP", "two TCPs"):
        figures[f"{tcps}, with over without"] = measures.ratio(
            figures[f"{tcps}, with credit"], figures[f"{tcps}, without"]
        )
    return {MAIN: figures}


def _udp(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for rate in UDP_RATES:
        for control in ("with credit", "without"):
            results = runs[f"{rate}, {control}"]
            tcp, udp = delivered(results, "one"), received(results, "udp")
            figures[f"TCP beside UDP of {rate} Mbit/s, {control}"] = tcp
            figures[f"utilisation beside UDP of {rate} Mbit/s, {control}"] = [
                None if one is None or other is None else 100 * (one + other) / BOTTLENECK
                for one, other in zip(tcp, udp, strict=True)
            ]
    figures["TCP over what UDP leaves, least, with credit"] = [
        min(run)
        for run in zip(
            *(
                [
                    100 * (one or 0.0) / (BOTTLENECK - rate * 1e6 * USEFUL)
                    for one in figures[f"TCP beside UDP of {rate} Mbit/s, with credit"]
                ]
                for rate in UDP_RATES
            ),
            strict=True,
        )
    ]
    return {MAIN: figures}


def _figure_16(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        occupancy = measures.samples(results, VC, QUEUE)
        columns[name] = {
            "least cells in the buffer": [float(run.min()) for run in occupancy],
            "most cells in the buffer": [
                float(row["queue_max"])
                for row in results.credit_vcs.to_pylist()
                if row["link"] == "A->s1" and row["flow"] == "one"
            ],
            "mean cells in the buffer": [float(run.mean()) for run in occupancy],
            "period of the occupancy over a packet's time": [_period(run) / PACKET_TIME for run in occupancy],
            "utilisation of the slow link": [
                None if share is None else 100 * share
                for share in measures.link(results, "s1->s2", "utilisation")
            ],
        }
    return columns


def _period(samples: np.ndarray[Any, Any]) -> float:
    """Return the period of the strongest component of a series in seconds."""
    power = np.abs(np.fft.rfft(samples - samples.mean())) ** 2
    strongest = int(power[1:].argmax()) + 1
    return len(samples) * SAMPLE / strongest


def _panels(runs: Runs) -> tuple[Panel, ...]:
    run = measures.samples(runs[MAIN], VC, QUEUE)[0]
    shown = run[: round(10 * PACKET_TIME / SAMPLE)]
    times = [1e3 * SAMPLE * ix for ix in range(len(shown))]
    curve = Curve("occupancy", times, [[float(cells)] for cells in shown], points=False)
    return (Panel("Switch buffer, one TCP into a slow link", "time (ms)", "cells", (curve,)),)


SAMPLE = 20e-6
"""Seconds between samples of the buffer."""

PREPARATION = {"without": "68us", "with credit": "163us"}
"""Time of a host for a packet. With 544 µs on its link that makes 15 MB/s, and 13 MB/s with
credit."""


def _prepared(control: str) -> Overrides:
    return [(f"connection.{name}.preparation", PREPARATION[control]) for name in ("one", "two")]


CREDIT: Overrides = [
    *_prepared("with credit"),
    *(
        (f"link.{link}.credit", '{ buffer = 100, n2 = 10, credit_cell = "53B" }')
        for link in ("A-s1", "B-s1", "s1-s2")
    ),
    ("duration", "15s"),
]
WITHOUT: Overrides = _prepared("without")
TWO: Overrides = [("connection.two.start", "0s")]
FIGURE_16: Overrides = [
    *CREDIT,
    ("connection.one.every", "1us"),
    ("warmup", "500ms"),
    ("duration", "800ms"),
    ("sample", "20us"),
]


def _beside(rate: int) -> Overrides:
    """Return what adds UDP of so many Mbit/s of cells."""
    packets = rate * 1e6 * SIZE / (CELLS * 53)
    return [("flow.udp.start", "0s"), ("flow.udp.source.rate", f"{packets:.0f}bit")]


MEASURES = {
    "table-2": Measure(
        _table_2,
        {
            "one TCP, without": WITHOUT,
            "one TCP, with credit": CREDIT,
            "two TCPs, without": [*WITHOUT, *TWO],
            "two TCPs, with credit": [*CREDIT, *TWO],
        },
    ),
    "figure-16": Measure(_figure_16, {MAIN: FIGURE_16}, series=(QUEUE,), one_by_one=True, panels=_panels),
    "udp": Measure(
        _udp,
        {
            **{f"{rate}, with credit": [*CREDIT, *_beside(rate)] for rate in UDP_RATES},
            **{f"{rate}, without": [*WITHOUT, *_beside(rate)] for rate in UDP_RATES},
        },
    ),
}
