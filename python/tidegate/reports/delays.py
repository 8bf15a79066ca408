"""Charts of distributions: delays of packets, and completion times of transfers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tidegate.plots import numbers, style
from tidegate.plots.numbers import Array, Tail
from tidegate.plots.panels import TAIL, floor
from tidegate.reports.blocks import Chart, Curve, Level
from tidegate.results import Results
from tidegate.show import quantity
from tidegate.transfer_sizes import of_groups

MAX_POINTS = 300
"""Points of a distribution."""


def of_run(results: Results, groups: Sequence[str]) -> list[Chart]:
    """Return the charts of delays by group, and of completion times by connection."""
    tails = {name: numbers.tail(results, name) for name in groups}
    return [
        *_tails("Delay of the packets that arrived", tails),
        *completion_times("Completion times of transfers", _completions(results)),
    ]


def of_comparison(several: Mapping[str, Results], groups: Sequence[str]) -> list[Chart]:
    """Return the charts of each group, with a curve for each column of a comparison."""
    charts = []
    for group in groups:
        tails = {name: numbers.tail(one, group) for name, one in several.items()}
        charts += _tails(f"Delay of {group}", tails)
    moved = {name: _completions(one) for name, one in several.items()}
    for group in dict.fromkeys(group for of in moved.values() for group in of):
        found = {name: of[group] for name, of in moved.items() if group in of}
        charts += completion_times(f"Completion times of {group}", found)
    return charts


def _tails(title: str, tails: Mapping[str, Tail | None]) -> list[Chart]:
    found = {name: tail for name, tail in tails.items() if tail is not None}
    if not found:
        return []
    factor, unit = _scale([float(one) for tail in found.values() for one in tail.delay[[1, -1]]])
    return [
        Chart(
            title=title,
            x=f"delay ({unit})",
            y="share of packets that took longer (%)",
            curves=[_tail(name, tail, factor) for name, tail in found.items()],
            log_x=True,
            log_y=True,
            levels=[Level(100 * TAIL, "99 % quantile")],
            least_y=100 * floor(found.values()),
        )
    ]


def _tail(name: str, tail: Tail, factor: float) -> Curve:
    # The last step leads below one packet, and so off the axis.
    above = tail.above.clip(min=0.1 / tail.packets)
    delay = np.maximum(tail.delay, 1e-12)
    kept = _thinned(len(delay))
    return Curve(
        name=name,
        x=[float(f"{one:.5g}") for one in delay[kept] / factor],
        y=[float(f"{one:.4g}") for one in 100 * above[kept]],
        said=[
            f"{quantity(float(share), 'share')} took longer than {quantity(float(one), 's')}"
            for one, share in zip(tail.delay[kept], tail.above.clip(min=0.0)[kept], strict=True)
        ],
        steps=True,
    )


def _completions(results: Results) -> dict[str, Array]:
    """Return the completion times of each group's transfers; NaN for those that had not ended."""
    return {group: of["completion"] for group, of in of_groups(results)}


def completion_times(title: str, times: Mapping[str, Array]) -> list[Chart]:
    """Return the chart of distribution functions; what had not ended counts as longer than any."""
    ended = {name: np.sort(of[~np.isnan(of)]) for name, of in times.items()}
    found = {name: of for name, of in ended.items() if len(of)}
    if not found:
        return []
    factor, unit = _scale([float(one) for of in found.values() for one in of[[0, -1]]])
    return [
        Chart(
            title=title,
            x=f"within ({unit})",
            y="share of transfers that ended (%)",
            curves=[_rising(name, of, len(times[name]), factor) for name, of in found.items()],
            log_x=True,
            least_y=0.0,
        )
    ]


def _rising(name: str, ended: Array, number: int, factor: float) -> Curve:
    kept = _thinned(len(ended))
    shares = (np.arange(len(ended)) + 1)[kept] / number
    return Curve(
        name=name,
        x=[float(f"{one:.5g}") for one in ended[kept] / factor],
        y=[float(f"{100 * share:.4g}") for share in shares],
        said=[
            f"{quantity(float(share), 'share')} took at most {quantity(float(one), 's')}"
            for one, share in zip(ended[kept], shares, strict=True)
        ],
        steps=True,
    )


def _thinned(number: int) -> Array:
    """Return the places of at most MAX_POINTS of so many points, the first and the last among them."""
    places: Array = np.unique(np.linspace(0, number - 1, min(number, MAX_POINTS)).round().astype(int))
    return places


def _scale(times: Sequence[float]) -> tuple[float, str]:
    """Return the multiple of seconds that suits the middle of a logarithmic axis, and its name."""
    positive = [one for one in times if one > 0] or [1.0]
    return style.scale([math.sqrt(min(positive) * max(positive))], style.TIMES)
