"""Style of figures: colours, sizes, axes and the line at the foot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tidegate import groups
from tidegate._tidegate import TidegateError
from tidegate.results import Results
from tidegate.show import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "MUTED", "RC", "log_time_axis", "look", "new_figure"]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart with any colour vision; its yellow is left out, too pale for
lines."""

DASHES = ("-", "--", ":")
"""Lines beyond the palette's length repeat its colours with the next of these."""

MOST = len(COLOURS) * len(DASHES)
"""Most lines of one panel."""

MUTED = "#666666"
"""Colour of remarks."""

NARROW = 5
"""Span of a logarithmic axis below which its ticks are even steps."""

RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
}

RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches that belongs to no window and no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def look(index: int) -> dict[str, Any]:
    """Return colour and dashes of line number `index`."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


def scale(values: Iterable[float | None], units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the multiple that suits the largest value, and its name."""
    largest = max((value for value in values if value is not None), default=0.0)
    return next((unit for unit in units if largest >= unit[0]), units[-1])


def chosen(available: Sequence[str], wanted: Sequence[str] | None, most: int) -> tuple[list[str], str]:
    """Choose the groups to draw, and say which are left out.

    Args:
        available: All groups, in the order of the scenario.
        wanted: Those asked for; None for the first `most` that are no answers of connections.
        most: Number of groups that are drawn at most.

    Raises:
        TidegateError: A group is unknown, or too many are asked for.
    """
    names, remark = groups.chosen(available, wanted)
    if wanted is None and len(names) > most:
        return names[:most], f"the first {most} of {len(available)} groups"
    if len(names) > most:
        raise TidegateError(f"a figure can show {most} groups, not {len(names)}")
    return names, remark


def runs(results: Results) -> str:
    """Say how many runs stand behind a figure, and what that means for its intervals."""
    if not results.has_intervals:
        return f"n = {results.replications}{' identical' if results.identical else ''}, no interval"
    return f"n = {results.replications}, 95 % intervals"


def foot(figure: Figure, results: Results, remark: str = "") -> None:
    """Write at the foot of a figure which results it shows."""
    seeds = results.seeds
    parts = [
        results.scenario_name,
        f"scenario {results.scenario_hash[:8]}",
        plural(results.replications, "replication"),
        f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}",
        f"tidegate {results.version}",
    ]
    sources(figure, [*parts, remark])


def sources(figure: Figure, parts: Iterable[str]) -> None:
    """Write at the foot of a figure where its numbers come from; empty parts are left out."""
    figure.supxlabel(" · ".join(filter(None, parts)), fontsize=7, color=MUTED, x=0.995, ha="right")


def log_time_axis(axes: Axes, which: str = "x") -> None:
    """Make an axis of seconds logarithmic, with ticks such as `10 ms`."""
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    _plain_log_ticks(axes, which, as_time)


def log_rate_axis(axes: Axes) -> None:
    """Make a horizontal axis of bit/s logarithmic, with ticks such as `10 Mbit/s`."""
    axes.set_xscale("log")
    _plain_log_ticks(axes, "x", as_rate, (1.0,))


def log_axis(axes: Axes) -> None:
    """Make a vertical axis logarithmic, with plain numbers at its ticks."""
    axes.set_yscale("log")
    _plain_log_ticks(axes, "y", lambda value: f"{value:g}")


def _plain_log_ticks(
    axes: Axes, which: str, name: Callable[[float], str], least: tuple[float, ...] | None = None
) -> None:
    """Place as many ticks on a logarithmic axis as there is room for, or in each decade those of `least`."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    span = high / max(low, 1e-12)
    marks = least or ((1.0, 2.0, 5.0) if span < 30 else (1.0, 3.0) if span < 1000 else (1.0,))
    # Less than a decade has even steps: too few of the others are in it.
    near = MaxNLocator(nbins=5, steps=[1, 2, 5, 10])
    axis.set_major_locator(near if span < NARROW else LogLocator(subs=marks, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: name(value)))
    axis.set_minor_formatter(NullFormatter())


def as_time(value: float) -> str:
    """Return a time in s as a tick label: `20 ms`."""
    factor, name = scale([value * 1.0001], TIMES)
    return f"{value / factor:g} {name}"


def as_rate(value: float) -> str:
    """Return a rate in bit/s as a tick label: `20 Mbit/s`."""
    factor, name = scale([value * 1.0001], RATES)
    return f"{value / factor:g} {name}"
