"""Stamping packets by auxVC and by VirtualClock: what a late burst does to others (section 3.2.4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidegate import Results
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import FIFO, MILLISECOND, NEVER, Figures, ms, named

STAMPED = "VirtualClock"
NO_BURST = "no bursts"

SETTINGS = {
    MAIN: (),
    STAMPED: (("port.scheduler.stamp", "virtual-clock"),),
    "FIFO": FIFO,
    NO_BURST: (("flow.late.start", NEVER),),
}

OTHERS = "others"

DELAYS = tuple(np.geomspace(1e-3, 5.0, 120).tolist())
"""Delays in seconds at which distributions are drawn."""


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {name: _delays(results) for name, results in runs.items()}
    for measure in ("mean", "99 %", "longest"):
        figure = f"others, {measure}"
        columns[MAIN][f"spared others, {measure}"] = minus(columns[STAMPED][figure], columns[MAIN][figure])
    return columns


def _delays(results: Results) -> Figures:
    return {
        "others, mean": ms(measures.queueing(results, named(OTHERS))),
        "others, 99 %": ms(measures.queueing_p99(results, OTHERS)),
        "others, longest": ms(measures.queueing_max(results, named(OTHERS))),
        "bursts, mean": ms(measures.queueing(results, named("late"))),
    }


def _panels(runs: Runs) -> tuple[Panel, ...]:
    names = {MAIN: "stamped by auxVC", STAMPED: "stamped by VirtualClock"}
    at = tuple(delay / MILLISECOND for delay in DELAYS)
    return tuple(
        Panel(
            f"Packets of the {whose}",
            "queueing delay (ms)",
            "share of packets that waited longer",
            tuple(
                Curve(
                    names.get(name, name), at, measures.queueing_above(results, group, DELAYS), points=False
                )
                for name, results in runs.items()
                if name != NO_BURST or group == OTHERS
            ),
            log_x=True,
            log_y=True,
            least=1e-5,
        )
        for whose, group in (("others", OTHERS), ("bursts", "late"))
    )


LATE_BURST = Measure(_figures, SETTINGS, histogram=True, panels=_panels)
