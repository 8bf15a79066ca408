"""Warnings over time, without an envelope and with it (section 3.3).

VirtualClock less real time is a random walk that checks keep from falling below zero: it grows with
the square root of time, so that any threshold is exceeded in the end. Sources within an envelope of
AIR packets stay near.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import PACKET, Figures, named

AVERAGE_INTERVAL = 10
"""AI in seconds."""

AIR = 50
"""Packets in an average interval."""

THRESHOLDS = (0.5, 1, 2, 4, 8)
"""T in average intervals; one is the paper's choice."""

SOURCES = {"Poisson": "random", "packet train": "train"}

WITHIN = "with envelope"

PARTS = 6
"""The run is looked at in so many parts, of half an hour when it is of the full length."""

POINTS = 18
"""Points of a curve over time."""

EARLIEST = 1 / 64
"""Growth is measured from this share of the run on: before, there are too few checks."""

PER_CENT = 100.0


def _name(threshold: float, *, within: bool = False) -> str:
    return f"T = {threshold:g} AI{', ' + WITHIN if within else ''}"


def _settings() -> dict[str, Overrides]:
    return {
        _name(threshold, within=within): [
            ("port.meter.threshold", f"{threshold * AVERAGE_INTERVAL:g}s"),
            *(_envelopes() if within else ()),
        ]
        for within in (False, True)
        for threshold in THRESHOLDS
    }


def _envelopes() -> Overrides:
    """Let every source keep to AIR packets in an average interval; as elsewhere, 20 packets wait at most."""
    envelope = f'{{ rate = "10kbit", burst = "{AIR * PACKET}B", queue = "20p" }}'
    return [(f"flow.{group}.envelope", envelope) for group in SOURCES.values()]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    last: Figures = {}
    first: Figures = {}
    within: Figures = {}
    for source, group in SOURCES.items():
        for threshold in THRESHOLDS:
            figure = f"warned, {source}, {_name(threshold)}"
            parts = warned(runs[_name(threshold)], group, PARTS)
            first[figure], last[figure] = parts[0], parts[-1]
            if _name(threshold, within=True) in runs:
                within[figure] = warned(runs[_name(threshold, within=True)], group, PARTS)[-1]
        last[f"warned with envelope, {source}"] = measures.warned(runs[_name(1, within=True)], named(group))
        last[f"growth, {source}"] = growth(runs[_name(1)], group)
        last[f"growth with envelope, {source}"] = growth(runs[_name(1, within=True)], group)
    return {MAIN: last, "at first": first, WITHIN: within}


def warned(results: Results, group: str, parts: int) -> list[Values]:
    """Return the checks that warned, in per cent, in each of so many equal parts of a run.

    Checks are counted by what was received: there is one for every AIR packets of a flow.
    """
    values: list[Values] = [[] for _ in range(parts)]
    warnings = measures.samples(results, group, "warnings")
    rates = measures.samples(results, group, "throughput")
    spacing = (results.duration - results.warmup) / len(rates[0])
    for warned_then, rate in zip(warnings, rates, strict=True):
        checks = rate * spacing / (8 * PACKET * AIR)
        for part, (of_part, checked) in enumerate(
            zip(np.array_split(warned_then, parts), np.array_split(checks, parts), strict=True)
        ):
            whole = float(checked.sum())
            values[part].append(PER_CENT * float(of_part.sum()) / whole if whole else None)
    return values


# = zhang1991 3.3
def growth(results: Results, group: str) -> Values:
    """Return the exponent with which the largest lead grows with time: the slope on two logarithmic axes."""
    exponents: Values = []
    for leads in measures.samples(results, group, "lead"):
        chosen = np.unique(np.geomspace(max(1, EARLIEST * len(leads)), len(leads), 48).round()).astype(int)
        at = chosen[leads[chosen - 1] > 0]
        slope = np.polyfit(np.log(at), np.log(leads[at - 1]), 1)[0] if len(at) > 1 else math.nan
        exponents.append(float(slope) if math.isfinite(slope) else None)
    return exponents


def _panels(runs: Runs) -> tuple[Panel, ...]:
    both = {source: _name(1) for source in SOURCES} | {
        f"{source}, {WITHIN}": _name(1, within=True) for source in SOURCES
    }
    over_time = []
    leads = []
    for name, setting in both.items():
        results, group = runs[setting], SOURCES[name.split(",")[0]]
        hours = results.duration / 3600
        times = [(part + 0.5) * hours / POINTS for part in range(POINTS)]
        over_time.append(Curve(name, times, warned(results, group, POINTS)))
        samples = np.array(measures.samples(results, group, "lead"))
        chosen = np.unique(np.geomspace(6, samples.shape[1], POINTS).round()).astype(int)
        minutes = (chosen * results.duration / samples.shape[1] / 60).tolist()
        leads.append(Curve(name, minutes, samples[:, chosen - 1].T.tolist()))
    by_threshold = [
        Curve(
            f"{source}{', ' + WITHIN if within else ''}",
            thresholds,
            [warned(runs[_name(one, within=within)], group, PARTS)[-1] for one in thresholds],
        )
        for within in (False, True)
        for thresholds in ([one for one in THRESHOLDS if _name(one, within=within) in runs],)
        for source, group in SOURCES.items()
    ]
    limit = Level(1.0, "1 %")
    warn = "checks that warn (%)"
    return (
        Panel("Accurate flows, T = AI", "time (hours)", warn, tuple(over_time), levels=(limit,)),
        Panel(
            "Their lead grows with the root of time",
            "time (minutes)",
            "largest lead of 12 flows (s)",
            tuple(leads),
            log_x=True,
            log_y=True,
            levels=(Level(AVERAGE_INTERVAL, "T = AI", right=True),),
        ),
        Panel(
            "At the end, with any threshold",
            "T (average intervals)",
            warn,
            tuple(by_threshold),
            log_x=True,
            levels=(limit,),
        ),
    )


RANDOM_WALK = Measure(
    _figures,
    _settings(),
    drawn=tuple(_name(one, within=True) for one in THRESHOLDS if one != 1),
    series=("warnings", "throughput", "lead"),
    panels=_panels,
)
