"""The axes of charts: where they end, their ticks, and the words in place of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tidegate.reports.blocks import Chart, Curve

MARGIN = 0.05
"""Room beyond the points, as a share of the axis."""

REACH = 0.5
"""Room for intervals beyond the points at most, as a share of the axis: wide ones run off it."""

DECADE = 0.5
"""Likewise on a logarithmic axis, in decades."""

Ends = tuple[float, float]


def prepare(made: Any, chart: Chart) -> None:
    """Give a figure of Bokeh the ends, ticks and words of a chart's axes."""
    from bokeh.models import CustomJSTicker, CustomJSTickFormatter, FixedTicker, Range1d

    ways = ((made.xaxis, chart.log_x, chart.names_x), (made.yaxis, chart.log_y, chart.names_y))
    for axis, log, names in ways:
        axis.formatter = CustomJSTickFormatter(code=_script("tick_label.js"))
        if log:
            axis.ticker = CustomJSTicker(major_code=_script("log_ticks.js"))
        if names:
            axis.ticker = FixedTicker(ticks=list(names))
            axis.major_label_overrides = dict(names)
    x, y = ends(chart)
    if x is not None:
        made.x_range = Range1d(start=x[0], end=x[1])
    if y is not None:
        made.y_range = Range1d(start=y[0], end=y[1])
    if chart.names_y:
        made.ygrid.grid_line_color = None


def ends(chart: Chart) -> tuple[Ends | None, Ends | None]:
    """Return where the axes of a chart begin and end; None for where its points do."""
    across = [curve for curve in chart.curves if curve.across]
    upright = [curve for curve in chart.curves if not curve.across]
    x, y = None, None
    if across:
        x = _figures(across, [value for curve in across for value in curve.x], (), log=chart.log_x)
    elif chart.names_x and not chart.log_x:
        x = _words(chart.names_x)
    if chart.names_y:
        # The first row is on top.
        rows = len(chart.names_y)
        y = (rows - 0.5, -0.5)
    elif upright:
        least = [] if chart.least_y is None else [chart.least_y]
        levels = [*least, *(level.y for level in chart.levels)]
        y = _figures(upright, [value for curve in upright for value in curve.y], levels, log=chart.log_y)
    if y is not None and upright and chart.least_y is not None:
        y = (chart.least_y, y[1])
    return x, y


def _figures(
    curves: Iterable[Curve], values: Sequence[float], levels: Sequence[float], *, log: bool
) -> Ends | None:
    """Return the ends of the axis of figures: all points are on it, and intervals as far as they are near."""
    shown = [one for one in (*values, *levels) if math.isfinite(one) and (one > 0 or not log)]
    if not shown:
        return None
    bands = [curve.band for curve in curves if curve.band is not None]
    low = min([*shown, *(one for band in bands for one in band.low if one > 0 or not log)])
    high = max([*shown, *(one for band in bands for one in band.high)])
    least, most = min(shown), max(shown)
    if log:
        low, high = max(low, least * 10**-DECADE), min(high, most * 10**DECADE)
        factor = (high / low) ** MARGIN if high > low else 2.0
        return low / factor, high * factor
    # Figures that are all zero or more have an axis that does not go far below it.
    reach = REACH * (most - least or abs(most))
    floor = min(0.0, least) if least >= 0 else least - reach
    low, high = max(low, floor, least - reach), min(high, most + reach)
    margin = MARGIN * (high - low) or 0.5
    return low - margin, high + margin


def _words(names: Mapping[float, str]) -> Ends:
    """Return the ends of an axis with words: a part of a step beyond the first and the last."""
    first, last = min(names), max(names)
    step = (last - first) / max(1, len(names) - 1) or 1.0
    return first - 0.3 * step, last + 0.3 * step


@cache
def _script(name: str) -> str:
    return (files("tidegate.reports") / "page" / name).read_text(encoding="utf-8")
