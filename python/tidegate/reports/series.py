"""Charts over time: throughput of groups, queues and utilisation of links, for runs and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tidegate.plots import numbers, style
from tidegate.plots.numbers import Line
from tidegate.reports import network
from tidegate.reports.blocks import Band, Chart, Curve
from tidegate.results import Results
from tidegate.show import quantity

MAX_CURVES = 7
"""Curves of a chart: as many as there are colours."""


def of_run(results: Results, groups: Sequence[str]) -> list[Chart]:
    """Return the charts over time of a run; none where no series were kept."""
    links = numbers.busiest(results)
    used = [row.link for row in network.busiest(results)]
    return _kept(
        _chart("Throughput of groups", numbers.lines(results, "throughput", groups), "bit/s"),
        _chart("Queues of the busiest links", numbers.lines(results, "queue", links), "packets"),
        _chart("Utilisation of the busiest links", numbers.lines(results, "utilisation", used), "share"),
        _chart("Congestion windows", _of_connections(results, "cwnd"), "packets"),
    )


def of_comparison(several: Mapping[str, Results], groups: Sequence[str]) -> list[Chart]:
    """Return the charts over time of a comparison, with a curve for each of its columns."""
    links = list(dict.fromkeys(link for one in several.values() for link in numbers.busiest(one)[:1]))
    wanted = [("queue", link, f"Queue of {link}", "packets") for link in links[:2]]
    wanted += [("throughput", group, f"Throughput of {group}", "bit/s") for group in groups]
    return _kept(
        *(_chart(title, _of_each(several, metric, subject), unit) for metric, subject, title, unit in wanted)
    )


def _of_each(several: Mapping[str, Results], metric: str, subject: str) -> dict[str, Line]:
    lines = {name: numbers.lines(one, metric, [subject]).get(subject) for name, one in several.items()}
    return {name: line for name, line in lines.items() if line is not None}


def _of_connections(results: Results, metric: str) -> dict[str, Line]:
    """Return the lines of connections where these are few; of many, single ones say nothing."""
    names = [row["flow"] for row in results.flow_rows() if row["goodput"] is not None]
    return numbers.lines(results, metric, names) if len(names) <= MAX_CURVES else {}


def _kept(*charts: Chart | None) -> list[Chart]:
    return [chart for chart in charts if chart is not None]


def _chart(title: str, lines: Mapping[str, Line], unit: str) -> Chart | None:
    """Return a chart of lines in the multiple of their unit that suits them; None for no lines."""
    drawn = {name: line for name, line in lines.items() if np.isfinite(line.mean).any()}
    if not drawn:
        return None
    largest = max(float(np.nanmax(line.mean)) for line in drawn.values())
    factor, name = _scale(largest, unit)
    said = {"packets": "count"}.get(unit, unit)
    spacing = max(line.spacing for line in drawn.values())
    return Chart(
        title=title,
        x=f"time (s), averages over {style.as_time(float(f'{spacing:.3g}'))}",
        y=name,
        curves=[_curve(name, line, factor, said) for name, line in drawn.items()],
        least_y=0.0,
    )


def _scale(largest: float, unit: str) -> tuple[float, str]:
    match unit:
        case "bit/s":
            return style.scale([largest], style.RATES)
        case "share":
            return 0.01, "% of capacity"
        case _:
            return 1.0, unit


def _curve(name: str, line: Line, factor: float, unit: str) -> Curve:
    there = np.isfinite(line.mean)
    time, mean = line.time[there], line.mean[there]
    band = None
    half = np.zeros(len(mean))
    if line.half_width is not None:
        half = np.nan_to_num(line.half_width[there])
        band = Band(_rounded((mean - half) / factor), _rounded((mean + half) / factor))
    return Curve(
        name=name,
        x=_rounded(time),
        y=_rounded(mean / factor),
        said=[f"{quantity(float(y), unit)} at {x:.4g} s" for x, y in zip(time, mean, strict=True)],
        band=band,
    )


def _rounded(values: Sequence[float] | numbers.Array) -> list[float]:
    """Return numbers with the digits that a chart shows."""
    return [float(f"{value:.5g}") for value in values]
