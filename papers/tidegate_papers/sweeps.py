"""The panels of an experiment's curves: means over replications, with intervals as bars or bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.plots import style
from tidegate.show import NOTHING
from tidegate.summary import estimate
from tidegate_papers.curves import Curve, HeatMap, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FEW_DECADES = 200
SOME_DECADES = 2000
"""Spans of a logarithmic axis below which there is room for three ticks a decade, and for two."""


DARK = 0.7
"""Where on the scale of colours black figures can no longer be read."""


MIN_SHARE = 0.25
"""Share of a common axis below which a panel would look flat, so that every panel keeps its own."""


def draw(places: Sequence[Axes], panels: Sequence[Panel | HeatMap]) -> None:
    """Draw panels side by side, with common axes where they can be compared and no legend over lines."""
    for axes, panel in zip(places, panels, strict=True):
        if isinstance(panel, HeatMap):
            _heat_map(axes, panel)
        else:
            _lines(axes, panel)
    of_lines = [(axes, panel) for axes, panel in zip(places, panels, strict=True) if isinstance(panel, Panel)]
    for which in ("x", "y"):
        _align(of_lines, which)
    for axes, panel in of_lines:
        # With the limits as they are now.
        _plain_ticks(axes, panel)
    _legends([axes for axes, _ in of_lines])


def _align(drawn: Sequence[tuple[Axes, Panel]], which: str) -> None:
    """Give panels of the same quantity the same axis, unless the lines of one would look flat on it."""
    alike: dict[tuple[str, bool], list[Axes]] = {}
    for axes, panel in drawn:
        quantity = (panel.x, panel.log_x) if which == "x" else (panel.y, panel.log_y)
        alike.setdefault(quantity, []).append(axes)
    for (_, log), group in alike.items():
        limits = [axes.get_xlim() if which == "x" else axes.get_ylim() for axes in group]
        low, high = min(low for low, _ in limits), max(high for _, high in limits)
        if not log and min(end - start for start, end in limits) < MIN_SHARE * (high - low):
            continue
        for axes in group:
            (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)


def _legends(places: Sequence[Axes]) -> None:
    """Write the names of lines to the right of each panel, or of the last if all have the same."""
    entries = [axes.get_legend_handles_labels() for axes in places]
    names = [labels for _, labels in entries]
    shared = all(one == names[0] for one in names)
    for axes, (handles, labels) in zip(places, entries, strict=True):
        if len(labels) > 1 and (axes is places[-1] or not shared):
            axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _heat_map(axes: Axes, panel: HeatMap) -> None:
    """Draw means as colours on a logarithmic scale, with the figures in their cells."""
    import numpy as np
    from matplotlib.colors import LogNorm

    means = [estimate(values)[0] for values in panel.cells]
    grid = np.array([np.nan if mean is None else mean for mean in means], dtype=float)
    grid = grid.reshape(len(panel.rows), len(panel.columns))
    found = grid[np.isfinite(grid) & (grid > 0)]
    norm = None
    if found.size:
        norm = LogNorm(found.min(), max(found.max(), 1.01 * found.min()))
        axes.imshow(np.maximum(grid, found.min()), cmap="YlOrRd", norm=norm, aspect="auto")
    for row, of_row in enumerate(grid):
        for column, value in enumerate(of_row):
            shown = f"{value:,.3g}" if np.isfinite(value) else NOTHING
            is_dark = norm is not None and value > 0 and norm(value) > DARK
            colour = "white" if is_dark else "black"
            axes.text(column, row, shown, ha="center", va="center", fontsize=6.5, color=colour)
    axes.set_xticks(range(len(panel.columns)), panel.columns, rotation=40, ha="right", fontsize=7)
    axes.set_yticks(range(len(panel.rows)), panel.rows, fontsize=7)
    axes.grid(visible=False)
    axes.set_title(panel.title, fontsize=9, fontweight="normal")


def _lines(axes: Axes, panel: Panel) -> None:
    from matplotlib.patheffects import withStroke

    for index, curve in _apart(panel.curves):
        _line(axes, curve, index, panel.log_y)
    for level in panel.levels:
        axes.axhline(level.y, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        words = axes.annotate(
            level.name,
            (0.99 if level.right else 0.01, level.y),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right" if level.right else "left",
            color=style.MUTED,
            fontsize=7,
        )
        words.set_path_effects([withStroke(linewidth=2, foreground="white")])
        # Else the figure would make room for it where an axis ends short of the level.
        words.set_in_layout(False)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    if panel.least is not None:
        axes.set_ylim(bottom=panel.least)
    axes.set_title(panel.title, fontsize=9, fontweight="normal")
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)


def _apart(curves: Sequence[Curve]) -> list[tuple[int, Curve]]:
    """Return the curves with their numbers; those of equal values as one: the last hides the others."""
    found: list[tuple[int, Curve]] = []
    for index, curve in enumerate(curves):
        for place, (first, one) in enumerate(found):
            if (list(one.x), list(one.y)) == (list(curve.x), list(curve.y)):
                found[place] = (first, replace(one, name=f"{one.name} = {curve.name}"))
                break
        else:
            found.append((index, curve))
    return found


def _line(axes: Axes, curve: Curve, index: int, log: bool) -> None:
    rows = [(x, *estimate(values)) for x, values in zip(curve.x, curve.y, strict=True)]
    # Figures without a measurement are left out, and zero has no place on a logarithmic axis.
    drawn = [(x, mean, half or 0.0) for x, mean, half in rows if mean is not None and (mean > 0 or not log)]
    if not drawn:
        return
    xs, means, halves = zip(*drawn, strict=True)
    # An interval that reaches below zero ends, on a logarithmic axis, at the axis.
    lower = [min(half, mean * (1 - 1e-6)) if log else half for mean, half in zip(means, halves, strict=True)]
    look = style.look(index)
    if not curve.joined:
        axes.plot(xs, means, ".", markersize=2, color=look["color"], label=curve.name)
        return
    if curve.points:
        marker = "oDs^v<>"[index % 7]
        axes.errorbar(
            xs,
            means,
            yerr=[lower, halves],
            fmt=marker,
            markersize=4.5,
            capsize=2.5,
            elinewidth=1.1,
            color=look["color"],
        )
        axes.plot(xs, means, marker=marker, markersize=4.5, label=curve.name, **look)
        return
    axes.plot(xs, means, label=curve.name, **look)
    bottom = [mean - half for mean, half in zip(means, lower, strict=True)]
    top = [mean + half for mean, half in zip(means, halves, strict=True)]
    axes.fill_between(xs, bottom, top, color=look["color"], alpha=0.2, linewidth=0)


def _plain_ticks(axes: Axes, panel: Panel) -> None:
    """Write the ticks of logarithmic axes as numbers, and as many as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ends = ((panel.log_x, axes.xaxis, axes.get_xlim()), (panel.log_y, axes.yaxis, axes.get_ylim()))
    for log, axis, (low, high) in ends:
        if not log:
            continue
        span = high / low
        marks = (1.0, 2.0, 5.0) if span < FEW_DECADES else (1.0, 3.0) if span < SOME_DECADES else (1.0,)
        axis.set_major_locator(LogLocator(subs=marks, numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())
