"""Checks after AIR packets and after AI of time: how soon an offender is warned (section 3.2.3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import Figures

BY_TIME = "by time"
SETTINGS = {MAIN: (), BY_TIME: (("port.meter.check", "time"),)}

INTERVALS = {"1.2 s": "short", "10 s": "long"}
"""Groups of flows by their AI."""

TIMES = (1.5, 2, 3, 5, 10)
"""Sending rates of a flow as multiples of its reserved rate."""


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {name: {} for name in runs}
    for interval, prefix in INTERVALS.items():
        for times in TIMES:
            what = f"{times:g} times, AI = {interval}"
            for name, results in runs.items():
                columns[name][f"first warning, {what}"] = noticed(results, _group(prefix, times))
            sooner = minus(*(columns[name][f"first warning, {what}"] for name in (BY_TIME, MAIN)))
            columns[MAIN][f"sooner by count, {what}"] = sooner
    return columns


def _group(prefix: str, times: float) -> str:
    return f"{prefix}-{round(100 * times)}"


def noticed(results: Results, group: str) -> Values:
    """Return the seconds from a group's first packet to its first warning, to a sample; None without one."""
    seconds: Values = []
    pairs = zip(*(measures.samples(results, group, name) for name in ("throughput", "warnings")), strict=True)
    for rates, warnings in pairs:
        spacing = (results.duration - results.warmup) / len(rates)
        warned = warnings > 0
        seconds.append(float(np.argmax(warned) - np.argmax(rates > 0)) * spacing if warned.any() else None)
    return seconds


def _panels(runs: Runs) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            f"AI = {interval}",
            "rate over the reserved one",
            "first packet to first warning (s)",
            tuple(
                Curve(name, TIMES, [noticed(runs[setting], _group(prefix, times)) for times in TIMES])
                for setting, name in ((MAIN, "checked after AIR packets"), (BY_TIME, "checked after AI"))
            ),
            log_x=True,
            log_y=True,
        )
        for interval, prefix in INTERVALS.items()
    )


NOTICED = Measure(_figures, SETTINGS, series=("throughput", "warnings"), panels=_panels)
