"""Rates over time beside the max-min fair ones, and their distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate._tidegate import USUAL_NEARNESS
from tidegate.plots import panels, style
from tidegate.plots.numbers import Line
from tidegate.summary import estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tidegate.fairness import Array, Fairness

MAX_POINTS = 1000
"""Points of a line; finer samples are averaged."""

PER_CENT = 0.01

NAMES = {"acr": "ACR", "throughput": "throughput"}
"""Labels of the series that are rates."""

APART = 0.04
"""Names of levels are at least this share of the axis apart; of those that are closer, the first is
shown."""


def over_time(found: Fairness) -> Figure:
    """Draw the rates with lines at their max-min fair values, and the distance below."""
    import matplotlib as mpl

    results = found.results
    names = _drawn(found)
    optima = sorted({row.optimum for row in found.rows if row.subject in names}, reverse=True)
    rates = {name: _line(found, found.rates[name]) for name in names}
    factor, unit = style.scale([*optima, *(_greatest(line) for line in rates.values())], style.RATES)
    metrics = {row.metric for row in found.rows if row.subject in names}
    with mpl.rc_context(style.RC):
        figure = style.new_figure(9, 7.2)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        panels.over_time(above, rates, factor, {name: style.look(at) for at, name in enumerate(names)})
        top = max([*optima, *(_greatest(line) for line in rates.values())]) / factor
        above.set_ylim(0, (1.2 if len(names) <= len(style.COLOURS) // 2 + 1 else 1.35) * top)
        _levels(above, {optimum / factor: f"{optimum / factor:.4g}" for optimum in optima})
        above.set_title(f"Rates, with their max-min fair values dashed ({style.runs(results)})")
        above.set_ylabel(f"{NAMES[metrics.pop()] if len(metrics) == 1 else 'rate'} ({unit})")
        distance = {"distance": _line(found, found.distance)}
        panels.over_time(below, distance, PER_CENT, {"distance": style.look(len(style.COLOURS) - 1)})
        below.get_legend().remove()
        below.set_ylim(0, 1.08 * max(_greatest(distance["distance"]) / PER_CENT, 1.5 * _tolerance()))
        _levels(below, {_tolerance(): f"{_tolerance():g} %"})
        below.set_title("Distance of the rate that is farthest from its max-min fair value")
        below.set_ylabel("distance (% of that value)")
        for axes in (above, below):
            axes.set_xlim(*found.optimum.span)
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
        several = f"{len(names)} of {len(found.rows)} rates" if len(names) < len(found.rows) else ""
        style.foot(figure, results, several)
    return figure


def _drawn(found: Fairness) -> list[str]:
    """Return the rates that are drawn, in the order of the scenario: first one of each optimum."""
    first = {row.optimum: row.subject for row in reversed(found.rows)}
    wanted = dict.fromkeys([*first.values(), *found.rates])
    drawn = list(wanted)[: len(style.COLOURS)]
    return [name for name in found.rates if name in drawn]


def _tolerance() -> float:
    return USUAL_NEARNESS[1] / PER_CENT


def _line(found: Fairness, values: Array) -> Line:
    """Return the mean of a quantity over replications, with its interval where there are several."""
    together = -(-values.shape[1] // MAX_POINTS)
    points = values.shape[1] // together
    parts = values[:, : points * together].reshape(len(values), points, together).mean(axis=2)
    estimates = [estimate([None if np.isnan(one) else one for one in column]) for column in parts.T.tolist()]
    halves = [one.half_width for one in estimates] if found.results.has_intervals else None
    return Line(
        spacing=found.spacing * together,
        time=found.time[together - 1 : points * together : together],
        mean=np.array([one.mean for one in estimates], dtype=float),
        half_width=None if halves is None else np.array(halves, dtype=float),
    )


def _greatest(line: Line) -> float:
    tops = line.mean if line.half_width is None else line.mean + np.nan_to_num(line.half_width)
    known = tops[~np.isnan(tops)]
    return float(known.max()) if known.size else 0.0


def _levels(axes: Axes, levels: dict[float, str]) -> None:
    """Draw dashed lines across an axis, their names at its right-hand end."""
    muted: Any = {"color": style.MUTED}
    named: list[float] = []
    for level, name in levels.items():
        axes.axhline(level, linewidth=0.8, linestyle=(0, (4, 3)), **muted)
        if all(abs(level - other) >= APART * axes.get_ylim()[1] for other in named):
            named.append(level)
            axes.annotate(
                name,
                (1.0, level),
                xycoords=("axes fraction", "data"),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                **muted,
            )
