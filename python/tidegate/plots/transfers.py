"""The panels of transfers: the distribution of their completion times, and slowdown by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.plots import style
from tidegate.results import Results
from tidegate.show import quantity
from tidegate.transfer_sizes import of_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tidegate.transfer_sizes import Array

MAX_POINTS = 12
"""Ranges of sizes whose slowdowns are drawn: each has as many transfers."""


def completion_times(axes: Axes, results: Results, looks: Mapping[str, Any]) -> None:
    """Draw the distribution function of the completion times of each group, all runs together.

    Transfers that had not ended count as longer than any.
    """
    for group, of in of_groups(results):
        if group not in looks:
            continue
        ended = np.sort(of["completion"][~np.isnan(of["completion"])])
        if len(ended):
            share = np.arange(1, len(ended) + 1) / len(of["completion"])
            axes.step(ended, share, where="post", label=group, **looks[group])
    axes.set_ylim(0, 1.02)
    style.log_time_axis(axes)
    axes.set_title("Completion times of transfers")
    axes.set_xlabel("completion time")
    axes.set_ylabel("share of transfers that took at most that")


def slowdown_by_size(axes: Axes, results: Results, looks: Mapping[str, Any]) -> None:
    """Draw the median and the 99 % quantile of the slowdown of each group over the size."""
    drawn: list[float] = []
    for group, of in of_groups(results):
        ended = ~np.isnan(of["slowdown"])
        if group not in looks or not ended.any():
            continue
        size, p50, p99 = _by_size(of["size"][ended], of["slowdown"][ended])
        color = looks[group]["color"]
        axes.plot(size, p99, "o-", markersize=4, color=color, label=f"{group}, 99 %")
        axes.plot(size, p50, "o--", markersize=3, color=color, label=f"{group}, median")
        drawn += [*p50, *p99]
    axes.set_xscale("log")
    if drawn:
        axes.set_ylim(min(drawn) / 1.2, max(drawn) * 1.2)
        axes.legend(loc="best")
    style.log_axis(axes)
    axes.xaxis.set_major_formatter(lambda value, _: quantity(value, "B"))
    axes.set_title("Slowdown by size")
    axes.set_xlabel("size of the transfer")
    axes.set_ylabel("completion time over that on the empty network")


def _by_size(size: Array, slowdown: Array) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
    """Return mean sizes and both quantiles: of each size where there are few, else of equal numbers."""
    sizes = np.unique(size)
    if len(sizes) <= MAX_POINTS:
        parts = [slowdown[size == one] for one in sizes]
        places = sizes.tolist()
    else:
        order = np.array_split(np.argsort(size, kind="stable"), min(MAX_POINTS, len(size)))
        parts = [slowdown[part] for part in order]
        places = [float(np.exp(np.log(size[part]).mean())) for part in order]
    p50, p99 = ([float(np.quantile(part, q, method="inverted_cdf")) for part in parts] for q in (0.5, 0.99))
    return places, p50, p99
