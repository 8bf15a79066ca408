"""Figures 11, 12 and 14: rates and queues over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tidegate import Results
from tidegate.fairness import convergence_time, response_time
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import (
    KCELLS,
    MILLISECOND,
    NEAR,
    NONE,
    SAMPLED,
    SETTINGS,
    Figures,
    acr,
    coupled,
    optima,
    per_vc,
    samples,
    spacing,
)

REJECTED = "row 4"
"""The coupling of Figure 11: row 4 of Table 1, previous loop only, updated at FRM1."""

REJECTED_BOTH = "row 4, both loops"
"""Couplings with both loops, updated at both."""

ROW_4 = 'vc_rate = "frm2", input_rate = "class"'

LOT = ("vc1", "vc2", "vc3")

CELL = 53 * 8
"""Bits of a cell."""


def _queues(results: Results) -> Values:
    """Return how many times longer the queue is in the last 100 ms than in the first, by its mean."""
    runs = samples(results, "sw1->sw2", "queue")
    part = round(0.1 / spacing(results))
    return [float(run[-part:].mean() / max(run[:part].mean(), 1.0)) for run in runs]


def _figure_11(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        queue = samples(results, "sw1->sw2", "queue")
        figures[f"mean queue of the last 100 ms over that of the first, {name}"] = _queues(results)
        figures[f"queue at the end, {name}"] = [float(run[-20:].min()) / KCELLS for run in queue]
    return {MAIN: figures}


def _figure_12(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    results = runs["D"]
    step, best = spacing(results), optima(results, LOT)
    times = [
        convergence_time(
            step,
            [list(rate) for rate in rates],
            best,
            [0.0] * len(rates[0]),
            (step, 0.1, 1.0),
        )
        for rates in acr(results, LOT)
    ]
    reached: Values = [None if one is None else one / MILLISECOND for one in times]
    return {MAIN: {"optimum reached, D": reached, "optimum reached, D, at most": reached}}


def _response(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        step, best = spacing(results), optima(results, LOT)
        times = [
            response_time(step, [list(rate) for rate in rates], best, NEAR[1]) for rates in acr(results, LOT)
        ]
        figures[f"response, {name}"] = [None if one is None else one / MILLISECOND for one in times]
    return {MAIN: figures}


def _curves(
    results: Results, vcs: tuple[str, ...], link: str, name: str, *, moves: bool = False
) -> tuple[Panel, ...]:
    """Return ACR, queues and cells received of the first run over time, as in the paper's figures.

    An optimum that VBR moves is not drawn.
    """
    step = spacing(results) / MILLISECOND
    rates, *_ = acr(results, vcs)
    times = [step * (1 + at) for at in range(len(rates[0]))]
    levels = () if moves else tuple(Level(best, "max-min") for best in {*optima(results, vcs)})
    queue, *_ = samples(results, link, "queue")
    by_vc = np.zeros(len(times)) + per_vc(results, [link])[0]
    came = [np.cumsum(samples(results, vc, "throughput")[0]) * spacing(results) / CELL / KCELLS for vc in vcs]

    def curve(title: str, values: Iterable[float]) -> Curve:
        return Curve(title, times, [[float(one)] for one in values], points=False)

    return (
        Panel(
            f"ACR of the sources, {name}",
            "time (ms)",
            "ACR (Mbit/s)",
            tuple(curve(vc, rate) for vc, rate in zip(vcs, rates, strict=True)),
            levels=levels,
        ),
        Panel(
            f"Queues of {link}, {name}",
            "time (ms)",
            "queue (cells)",
            (curve("class queue", queue), curve("per-VC queues", by_vc)),
        ),
        Panel(
            f"Cells received, {name}",
            "time (ms)",
            "cells (thousands)",
            tuple(curve(vc, cells) for vc, cells in zip(vcs, came, strict=True)),
        ),
    )


def _panels_11(runs: Runs) -> tuple[Panel, ...]:
    return _curves(runs[REJECTED], ("vc1", "vc2"), "sw1->sw2", REJECTED, moves=True)


def _panels_12(runs: Runs) -> tuple[Panel, ...]:
    return _curves(runs["D"], LOT, "sw2->sw3", "D")


def _panels_14(runs: Runs) -> tuple[Panel, ...]:
    return tuple(panel for name in (NONE, "D") for panel in _curves(runs[name], LOT, "sw2->sw3", name)[:1])


FIGURE_11 = Measure(
    _figure_11,
    {
        REJECTED: coupled(f'{ROW_4}, acts_on = "previous", updated_at = "frm1"'),
        REJECTED_BOTH: coupled(f'{ROW_4}, acts_on = "both", updated_at = "both"'),
        "D": coupled(SETTINGS["D"]),
    },
    series=SAMPLED,
    panels=_panels_11,
)

FIGURE_12 = Measure(_figure_12, {"D": coupled(SETTINGS["D"])}, series=SAMPLED, panels=_panels_12)

RESPONSE = Measure(
    _response,
    {name: coupled(keys) for name, keys in SETTINGS.items()} | {NONE: []},
    series=SAMPLED,
    panels=_panels_14,
)
