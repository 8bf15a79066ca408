"""The figure of a sweep: every figure of each group over one parameter, with error bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate._tidegate import parse_limit, parse_rate, parse_time
from tidegate.keys import short
from tidegate.plots import style
from tidegate.summary import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = {
    "throughput": "Throughput",
    "delay_p99": "99 % quantile of the delay",
    "delay_mean": "Mean delay",
    "lost": "Lost packets",
}

MAX_TICKS = 8
"""Values of a parameter that are all written at the axis."""

LOGARITHMIC = 8.0
"""Greatest value over the least, from which an axis is logarithmic."""

READERS: Sequence[Callable[[Any], float]] = (
    float,
    lambda text: float(parse_rate(text)),
    parse_time,
    lambda text: float(parse_limit(text)[0]),
)
"""Readers of values: numbers, rates, times, and limits in packets or bytes."""


def numbers(values: Sequence[Any]) -> list[float] | None:
    """Return the values of a parameter as numbers; None if they are not of one such kind."""
    for read in READERS:
        try:
            return [read(value) for value in values]
        except (ValueError, TypeError):
            continue
    return None


def across(settings: Sequence[Mapping[str, Any]], parameters: Sequence[str]) -> str:
    """Return the parameter that the horizontal axis shows: of most values, numbers before names."""

    def rank(name: str) -> tuple[bool, int]:
        values = list(dict.fromkeys(one[name] for one in settings))
        return numbers(values) is not None, len(values)

    return max(parameters, key=rank)


class Axis:
    """The values of a parameter on the horizontal axis.

    Args:
        name: Its heading.
        values: Its values, in their order in the table.
    """

    def __init__(self, name: str, values: Sequence[Any]) -> None:
        self.name = name
        distinct = list(dict.fromkeys(values))
        found = numbers(distinct)
        self.is_number = found is not None
        self._places: dict[Any, float] = dict(
            zip(distinct, found or map(float, range(len(distinct))), strict=True)
        )

    def place(self, value: Any) -> float:
        """Return where a value is."""
        return self._places[value]

    def label(self, axes: Axes) -> None:
        """Write the values at the axis."""
        axes.set_xlabel(self.name)
        places = sorted(self._places.values())
        if self.is_number and places[0] > 0 and places[-1] >= LOGARITHMIC * places[0]:
            axes.set_xscale("log")
        if not self.is_number or len(places) <= MAX_TICKS:
            axes.set_xticks(list(self._places.values()), [str(value) for value in self._places])
            axes.minorticks_off()


def line(
    axes: Axes, name: str, points: Sequence[tuple[float, Estimate]], factor: float, look: Mapping[str, Any]
) -> None:
    """Draw the means of points with their intervals."""
    found = sorted((place, one) for place, one in points if one.mean is not None)
    axes.errorbar(
        [place for place, _ in found],
        [(one.mean or 0.0) / factor for _, one in found],
        yerr=[(one.half_width or 0.0) / factor for _, one in found],
        label=name,
        marker="o",
        markersize=3,
        capsize=2,
        elinewidth=1,
        **look,
    )


def unit_of(figure: str, means: Sequence[float | None]) -> tuple[float, str]:
    """Return the multiple in which a figure is drawn, and its name."""
    match figure:
        case "throughput":
            return style.scale(means, style.RATES)
        case "lost":
            return 0.01, "% of the packets sent"
        case _:
            return style.scale(means, style.TIMES)


def lines_of(settings: Sequence[Mapping[str, Any]], others: Sequence[str]) -> dict[str, list[int]]:
    """Return the points of each line by its name: those that differ in the horizontal parameter alone.

    Where there would be too many lines, as in a design that is drawn, all points are one.
    """
    names = short(others)
    found: dict[str, list[int]] = {}
    for number, one in enumerate(settings):
        values = [str(one[key]) for key in others]
        name = values[0] if len(others) == 1 else ", ".join(map("=".join, zip(names, values, strict=True)))
        found.setdefault(name, []).append(number)
    return found if len(found) <= style.MOST else {"": list(range(len(settings)))}
