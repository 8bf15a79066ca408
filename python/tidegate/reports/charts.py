"""Charts as figures of Bokeh, whose curves are found by the names of their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.plots.style import COLOURS, MUTED
from tidegate.reports import axes
from tidegate.reports.blocks import Chart, Curve

DASHES = ("solid", "dashed", "dotted")
"""Lines beyond the palette's length repeat its colours with the next of these."""

MARKERS = {
    "circle": "●",
    "square": "■",
    "triangle": "▲",
    "inverted_triangle": "▼",
    "diamond": "◆",
    "star": "★",
    "hex": "⬢",
}
"""Marks of points, and letters that look like them."""

HEIGHT = 300
ROW = 20
"""Pixels of a mark in a row of a chart that has rows."""

FONT = "system-ui, sans-serif"
INK = "#222222"
GRID = "#e2e2e2"


@dataclass(frozen=True)
class Entry:
    """A curve in the legend.

    Attributes:
        name: The curve's.
        colour: Its colour.
        dash: `solid`, `dashed` or `dotted`.
        mark: A letter that looks like the mark of its points; empty where they are not marked.
        parts: Names of the figure's parts that make it.
    """

    name: str
    colour: str
    dash: str
    mark: str
    parts: tuple[str, ...]


def drawn(chart: Chart, name: str) -> tuple[Any, list[Entry]]:
    """Return a chart as a figure of Bokeh and its legend; `name` is that of the figure."""
    from bokeh.models import BoxZoomTool, HoverTool, ResetTool
    from bokeh.plotting import figure

    made = figure(
        name=name,
        height=_height(chart),
        min_width=200,
        sizing_mode="stretch_width",
        x_axis_type="log" if chart.log_x else "linear",
        y_axis_type="log" if chart.log_y else "linear",
        x_axis_label=chart.x,
        y_axis_label=chart.y,
        toolbar_location=None,
        tools=[BoxZoomTool(), ResetTool()],
    )
    _style(made)
    axes.prepare(made, chart)
    entries, pointed, marks = [], [], list(MARKERS)
    for number, curve in enumerate(chart.curves):
        marker = marks[number % len(marks)]
        entry = Entry(
            curve.name,
            COLOURS[number % len(COLOURS)],
            DASHES[number // len(COLOURS) % len(DASHES)],
            MARKERS[marker] if curve.marked else "",
            tuple(f"{name}-{number}-{part}" for part in _parts(curve)),
        )
        pointed.append(_curve(made, curve, entry, marker))
        entries.append(entry)
    for level in chart.levels:
        _level(made, level.y, level.name)
    made.add_tools(
        HoverTool(
            renderers=pointed,
            tooltips='<div style="font: 12px sans-serif"><b>@curve</b><br>@said</div>',
            mode="mouse",
            point_policy="snap_to_data",
            line_policy="nearest",
        )
    )
    return made, entries


def _height(chart: Chart) -> int:
    return (
        max(HEIGHT, 90 + ROW * len(chart.names_y) * (1 + len(chart.curves) // 2)) if chart.names_y else HEIGHT
    )


def _parts(curve: Curve) -> list[str]:
    parts = [*(["line"] if curve.joined else []), *(["marks"] if curve.marked else [])]
    return [*parts, *(["band"] if curve.band is not None else [])]


def _curve(made: Any, curve: Curve, entry: Entry, marker: str) -> Any:
    """Draw a curve; return the part that a pointer finds."""
    from bokeh.models import ColumnDataSource

    columns: dict[str, Any] = {
        "x": list(curve.x),
        "y": list(curve.y),
        "said": list(curve.said),
        "curve": [curve.name] * len(curve.x),
    }
    if curve.band is not None:
        columns |= {"low": list(curve.band.low), "high": list(curve.band.high)}
    source = ColumnDataSource(columns)
    names = dict(zip(_parts(curve), entry.parts, strict=True))
    if curve.band is not None:
        _band(made, curve, source, entry.colour, names["band"])
    found = None
    if curve.joined:
        draw = made.step if curve.steps else made.line
        way = {"mode": "after"} if curve.steps else {}
        found = draw(
            "x", "y", source=source, name=names["line"], color=entry.colour, width=2, dash=entry.dash, **way
        )
    if curve.marked:
        found = made.scatter(
            "x",
            "y",
            source=source,
            name=names["marks"],
            marker=marker,
            size=8,
            line_color=entry.colour,
            fill_color=entry.colour if entry.dash == DASHES[0] else "white",
        )
    return found


def _band(made: Any, curve: Curve, source: Any, colour: str, name: str) -> None:
    assert curve.band is not None
    if not curve.band.bars:
        made.varea("x", "low", "high", source=source, name=name, color=colour, alpha=0.18)
    elif curve.across:
        made.segment("low", "y", "high", "y", source=source, name=name, color=colour, width=1.5)
    else:
        made.segment("x", "low", "x", "high", source=source, name=name, color=colour, width=1.5)


def _level(made: Any, y: float, name: str) -> None:
    from bokeh.models import Label, Span

    made.add_layout(Span(location=y, dimension="width", line_color=MUTED, line_dash=[6, 4], line_width=1))
    made.add_layout(
        Label(
            x=4,
            y=y,
            x_units="screen",
            y_units="data",
            text=name,
            text_color=MUTED,
            text_font=FONT,
            text_font_size="11px",
            text_baseline="bottom",
        )
    )


def _style(made: Any) -> None:
    made.outline_line_color = None
    made.background_fill_color = made.border_fill_color = "white"
    made.min_border_right = 12
    for axis in (*made.xaxis, *made.yaxis):
        axis.axis_line_color = axis.major_tick_line_color = MUTED
        axis.minor_tick_line_color = None
        axis.major_label_text_font = axis.axis_label_text_font = FONT
        axis.major_label_text_font_size = "12px"
        axis.axis_label_text_font_size = "12px"
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_color = axis.axis_label_text_color = INK
    for grid in (*made.xgrid, *made.ygrid):
        grid.grid_line_color = GRID
