"""The panels of figures, each drawn on axes of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.plots import style
from tidegate.plots.numbers import Line, Tail
from tidegate.summary import Estimate, GroupSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAIL = 0.01
"""Share of packets beyond the 99 % quantile."""
LEGEND = 44
"""Letters of a row of names above lines over time."""
MAX_TIMES = 20
"""The greatest figure over the least, up to which both are told apart on an axis from zero."""
RAREST = 1e-5
"""Least share of packets that is drawn."""


def throughput_bars(axes: Axes, groups: Sequence[GroupSummary]) -> None:
    """Draw the throughput of each group as a bar with its interval."""
    factor, unit = style.scale((group.throughput.mean for group in groups), style.RATES)
    for place, group in enumerate(groups):
        mean, half_width = group.throughput
        error = None if half_width is None else half_width / factor
        axes.barh(
            place,
            (mean or 0.0) / factor,
            xerr=error,
            height=0.6 * min(1.0, len(groups) / 4),
            color=style.look(place)["color"],
            error_kw={"capsize": 3, "elinewidth": 1},
        )
    _name_rows(axes, [group.group for group in groups])
    axes.set_xlim(left=0)
    axes.set_xlabel(f"throughput ({unit})")


def over_time(axes: Axes, subjects: Mapping[str, Line], factor: float, looks: Mapping[str, Any]) -> None:
    """Draw lines over time, with their intervals as bands."""
    for name, line in subjects.items():
        axes.plot(line.time, line.mean / factor, label=name, **looks[name])
        if line.half_width is not None:
            low, high = line.mean - line.half_width, line.mean + line.half_width
            axes.fill_between(
                line.time, low / factor, high / factor, color=looks[name]["color"], alpha=0.2, linewidth=0
            )
    axes.set_xlim(left=0)
    # Room for the legend above the lines: long names in fewer columns.
    columns = max(1, min(4, LEGEND // max(map(len, subjects), default=1)))
    rows = -(-len(subjects) // columns)
    axes.set_ylim(0, (1.12 + 0.07 * rows) * axes.get_ylim()[1])
    spacing = max((line.spacing for line in subjects.values()), default=0.0)
    axes.set_xlabel(f"time (s), averages over {style.as_time(float(f'{spacing:.3g}'))}")
    if subjects:
        axes.legend(loc="upper right", ncols=columns)


def capacity(axes: Axes, top: float) -> None:
    """Mark the capacity of a link on an axis in percent, with room for the legend above `top`."""
    axes.set_ylim(0, 135 * top)
    axes.axhline(100, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))


def floor(drawn: Iterable[Tail | None]) -> float:
    """Return where the axis of `tails` ends: below one packet of the largest group, within reason."""
    packets = max((tail.packets for tail in drawn if tail is not None), default=1)
    return max(RAREST, min(TAIL / 3, 0.5 / packets))


def tails(axes: Axes, drawn: Mapping[str, Tail | None], looks: Mapping[str, Any], lowest: float) -> None:
    """Draw which share of packets took longer, on two logarithmic axes, and mark the 99 % quantile."""
    for name, tail in drawn.items():
        if tail is None:
            continue
        # The last step leads below one packet, and so off the axis.
        axes.step(
            tail.delay, tail.above.clip(min=0.1 / tail.packets), where="post", label=name, **looks[name]
        )
    axes.set_yscale("log")
    axes.set_ylim(lowest, 1.3)
    style.log_time_axis(axes)
    axes.axhline(TAIL, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        "99 %",
        (1.0, TAIL),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        color=style.MUTED,
        fontsize=7,
    )


def points(
    axes: Axes,
    groups: Sequence[str],
    values: Mapping[str, Sequence[Estimate]],
    factor: float = 1.0,
    *,
    log: bool = False,
) -> None:
    """Draw a figure of each group as a point with its interval, one row a group, one colour a policy.

    The axis ends at what is measured: on a logarithmic one, an interval that reaches below zero
    runs off it.
    """
    # Many policies have all their bars between their own lines.
    step = min(0.22, 0.88 / len(values))
    spread = step * (len(values) - 1)
    drawn: list[tuple[float, float]] = []
    for index, (name, estimates) in enumerate(values.items()):
        shift = -spread / 2 + index * step
        rows = [(place, one) for place, one in enumerate(estimates) if one.mean is not None]
        if log:
            # Zero has no place on such an axis.
            rows = [(place, one) for place, one in rows if (one.mean or 0.0) > 0]
        means = [(one.mean or 0.0) / factor for _, one in rows]
        widths = [(one.half_width or 0.0) / factor for _, one in rows]
        drawn += zip(means, widths, strict=True)
        lower = [min(width, mean * (1 - 1e-6)) for mean, width in zip(means, widths, strict=True)]
        axes.errorbar(
            means,
            [place + shift for place, _ in rows],
            xerr=[lower if log else widths, widths],
            fmt="oDs^v<>"[index % 7],
            markersize=5,
            capsize=3,
            elinewidth=1.2,
            color=style.look(index)["color"],
            label=name,
        )
    _name_rows(axes, groups)
    if log and drawn:
        axes.set_xlim(*log_ends(drawn))


def throughput_points(axes: Axes, groups: Sequence[str], values: Mapping[str, Sequence[Estimate]]) -> None:
    """Draw the throughput of each group as a point, on a logarithmic axis where figures differ much."""
    means = [one.mean for estimates in values.values() for one in estimates if one.mean]
    if means and max(means) > MAX_TIMES * min(means):
        points(axes, groups, values, log=True)
        style.log_rate_axis(axes)
        axes.set_xlabel("throughput")
        return
    factor, unit = style.scale(means, style.RATES)
    points(axes, groups, values, factor)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"throughput ({unit})")


def log_ends(drawn: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return where a logarithmic axis of means above zero with their half widths begins and ends.

    Every interval that stays above a third of its mean is on it whole.
    """
    low = min(max(mean - width, mean / 3) for mean, width in drawn)
    high = max(mean + width for mean, width in drawn)
    margin = max(1.1, (high / low) ** 0.06)
    return low / margin, high * margin


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
