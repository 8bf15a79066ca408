"""Figures of results and of comparisons, for the screen, a notebook or a report.

Every figure says from how many runs it comes, and shows 95 % intervals where there are several.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.plots.topology import topology
from tidegate.results import Results

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from tidegate.comparison import Comparison
    from tidegate.tables import Table

__all__ = ["MAX_GROUPS", "comparison", "overview", "save", "sweep", "topology"]

MAX_GROUPS = 7
"""Groups that are drawn unless others are named: as many as there are colours."""
MAX_LINKS = 4
"""Links whose in-traffic is drawn, the greatest."""
MAX_COLUMNS = 4
"""Delay distributions side by side."""
LEGEND_COLUMNS = 6
"""Policies in one line of a legend."""

DPI = 150


def overview(results: Results, groups: Sequence[str] | None = None) -> Figure:
    """Draw throughput, delays and, where there are series, throughput and queues over time.

    Where meters colour, also in-traffic of links against their capacity, and their utilisation.
    Where there are transfers, also their completion times, and their slowdown by size. Where flows are
    monitored, also how far their VirtualClocks ran ahead, and how often they were
    warned.

    Args:
        results: The results to draw.
        groups: Groups to draw; None for the first MAX_GROUPS.

    Raises:
        TidegateError: A group is unknown, or too many are named.
    """
    import matplotlib as mpl
    import numpy as np

    from tidegate.plots import numbers, panels, style, transfers

    summaries = {one.group: one for one in results.groups()}
    most = MAX_GROUPS if groups is None else style.MOST
    names, left_out = style.chosen(list(summaries), groups, most)
    looks = {name: style.look(index) for index, name in enumerate(names)}
    rates = numbers.lines(results, "throughput", names)
    queues = numbers.lines(results, "queue", numbers.busiest(results))
    leads, warnings = (numbers.lines(results, metric, names) for metric in ("lead", "warnings"))
    monitored = any(line.mean.any() for line in leads.values())
    provisioned = _provisioned(results)
    inside, used = (numbers.lines(results, metric, provisioned) for metric in ("in_traffic", "utilisation"))
    moved = results.transfers.num_rows > 0
    rows = 1 + bool(rates or queues) + bool(inside) + moved + monitored
    with mpl.rc_context(style.RC):
        figure = style.new_figure(11, 4.2 * rows + max(0, len(names) - 10) * 0.2)
        axes = figure.subplots(rows, 2, squeeze=False)
        panels.throughput_bars(axes[0][0], [summaries[name] for name in names])
        axes[0][0].set_title(f"Throughput ({style.runs(results)})")
        tails = {name: numbers.tail(results, name) for name in names}
        panels.tails(axes[0][1], tails, looks, panels.floor(tails.values()))
        axes[0][1].set_title("Delay of the packets that arrived")
        axes[0][1].set_xlabel("end-to-end delay")
        axes[0][1].set_ylabel("share of packets that took longer")
        axes[0][1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if rates or queues:
            factor, unit = style.scale((float(line.mean.max()) for line in rates.values()), style.RATES)
            panels.over_time(axes[1][0], rates, factor, looks)
            axes[1][0].set_title(f"Throughput over time ({style.runs(results)})")
            axes[1][0].set_ylabel(f"throughput ({unit})")
            of_link = {link: style.look(index) for index, link in enumerate(queues)}
            panels.over_time(axes[1][1], queues, 1.0, of_link)
            axes[1][1].set_title(f"Queues of the busiest links ({style.runs(results)})")
            axes[1][1].set_ylabel("queue (packets)")
        if inside:
            of_link = {link: style.look(index) for index, link in enumerate(inside)}
            top = max(1.0, *(float(np.nanmax(line.mean)) for line in (*inside.values(), *used.values())))
            for place, drawn, title, unit in (
                (axes[2][0], inside, "In-traffic against capacity", "in-traffic"),
                (axes[2][1], used, "Utilisation of the same links", "utilisation"),
            ):
                panels.over_time(place, drawn, 0.01, of_link)
                panels.capacity(place, top)
                place.set_title(f"{title} ({style.runs(results)})")
                place.set_ylabel(f"{unit} (% of capacity)")
        if moved:
            row = rows - 1 - monitored
            transfers.completion_times(axes[row][0], results, looks)
            transfers.slowdown_by_size(axes[row][1], results, looks)
        if monitored:
            factor, unit = style.scale((float(line.mean.max()) for line in leads.values()), style.TIMES)
            panels.over_time(axes[-1][0], leads, factor, looks)
            axes[-1][0].set_title("VirtualClock ahead of real time: most of any flow")
            axes[-1][0].set_ylabel(f"lead ({unit})")
            panels.over_time(axes[-1][1], warnings, 1.0, looks)
            axes[-1][1].set_title(f"Warnings over time ({style.runs(results)})")
            axes[-1][1].set_ylabel("warnings in a sample interval")
        style.foot(figure, results, left_out)
    return figure


def comparison(
    compared: Comparison | Mapping[str, Results],
    groups: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw throughput, delays and losses of each group under every policy, and the distributions of delays.

    Policies are in the order of `compared`.

    Args:
        compared: A comparison, or results of the same scenario by the name of what differs.
        groups: Groups to draw; None for the first MAX_GROUPS that are no answers of connections.
        title: A sentence on what the figure shows; None for no title.

    Raises:
        TidegateError: A group is unknown, or too many are named.
    """
    import matplotlib as mpl

    from tidegate.plots import numbers, panels, style

    results = dict(compared if isinstance(compared, Mapping) else compared.results)
    first = next(iter(results.values()))
    summaries = {name: {one.group: one for one in under.groups()} for name, under in results.items()}
    everyone = list(next(iter(summaries.values())))
    names, left_out = style.chosen(everyone, groups, MAX_GROUPS if groups is None else style.MOST)
    columns = min(MAX_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    with mpl.rc_context(style.RC):
        lines = -(-len(results) // LEGEND_COLUMNS)
        upper = 1.2 + 0.22 * lines + max(0.42, 0.13 * len(results)) * max(len(names), 2)
        figure = style.new_figure(14, upper + 2.1 * rows + 0.9)
        parts: Any = figure.subfigures(2, 1, height_ratios=[upper, 2.1 * rows])
        above, below = parts
        axes = above.subplots(1, 4, sharey=True)
        metrics = ("throughput", "delay_p99", "delay_mean", "lost")
        titles = ("Throughput", "99 % quantile of the delay", "Mean delay", "Lost packets")
        drawn = {
            metric: {under: [getattr(of[name], metric) for name in names] for under, of in summaries.items()}
            for metric in metrics
        }
        for place, metric, heading in zip(axes, metrics, titles, strict=True):
            place.set_title(heading)
            match metric:
                case "throughput":
                    panels.throughput_points(place, names, drawn[metric])
                case "lost":
                    panels.points(place, names, drawn[metric], factor=0.01)
                    place.set_xlim(left=-0.02 * place.get_xlim()[1])
                    place.set_xlabel("share of the packets sent (%)")
                case _:
                    panels.points(place, names, drawn[metric], log=True)
                    place.set_xlabel("end-to-end delay")
        # Both are delays, and are compared.
        ends = [end for place in axes[1:3] for end in place.get_xlim()]
        for place in axes[1:3]:
            place.set_xlim(min(ends), max(ends))
            style.log_time_axis(place)
        handles, labels = axes[0].get_legend_handles_labels()
        above.legend(handles, labels, loc="outside upper right", ncols=min(len(labels), LEGEND_COLUMNS))
        above.suptitle(
            f"{title or first.scenario_name} ({style.runs(first)})", x=0.01, ha="left", fontsize=11
        )
        grid = below.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        looks = {under: style.look(index) for index, under in enumerate(results)}
        tails = [{under: numbers.tail(one, name) for under, one in results.items()} for name in names]
        lowest = panels.floor(tail for of_group in tails for tail in of_group.values())
        for name, of_group, place in zip(names, tails, grid.flat, strict=False):
            panels.tails(place, of_group, looks, lowest)
            place.set_title(name, fontsize=9)
            place.tick_params(labelsize=7)
        for place in grid.flat[len(names) :]:
            place.set_axis_off()
        for place in grid[rows - 2][len(names) - columns * (rows - 1) :] if rows > 1 else ():
            # Nothing is below it that has the axis.
            place.tick_params(labelbottom=True)
        below.supylabel("share of packets that took longer", fontsize=9)
        below.supxlabel("end-to-end delay of the packets that arrived", fontsize=9)
        style.foot(figure, first, left_out)
    return figure


def sweep(table: Table[Any] | pa.Table, groups: Sequence[str] | None = None) -> Figure:
    """Draw throughput, delays and losses of each group at the points of a sweep, with 95 % intervals.

    The parameter with most values is the horizontal axis, numbers before names; of the others,
    each combination is a line.

    Args:
        table: What `tidegate.sweep` returned, or some of its rows.
        groups: Groups to draw; None for the first MAX_GROUPS that are no answers of connections.

    Raises:
        TidegateError: A group is unknown, too many are named, or there is no row.
    """
    import matplotlib as mpl

    from tidegate._tidegate import TidegateError, __version__
    from tidegate.keys import short
    from tidegate.plots import over_parameter as panels
    from tidegate.plots import style
    from tidegate.sweeps.rows import name_of, parameters_of
    from tidegate.sweeps.summary import summaries

    found = summaries(table)
    parameters = parameters_of(table)
    if not found or not parameters:
        raise TidegateError("this table has no point of a sweep")
    everyone = list(dict.fromkeys(one.group for one in found))
    names, left_out = style.chosen(everyone, groups, MAX_GROUPS if groups is None else style.MOST)
    x = panels.across([one.settings for one in found], parameters)
    axis = panels.Axis(short(parameters)[parameters.index(x)], [one.settings[x] for one in found])
    others = [name for name in parameters if name != x]
    with mpl.rc_context(style.RC):
        figure = style.new_figure(14, 2.6 * len(names) + 0.9)
        grid = figure.subplots(len(names), len(panels.PANELS), squeeze=False, sharex=True)
        for row, name in zip(grid, names, strict=True):
            of_group = [one for one in found if one.group == name]
            lines = panels.lines_of([one.settings for one in of_group], others)
            for place, (metric, heading) in zip(row, panels.PANELS.items(), strict=True):
                factor, unit = panels.unit_of(metric, [one.figures[metric].mean for one in of_group])
                for index, (label, numbers) in enumerate(lines.items()):
                    points = [
                        (axis.place(of_group[one].settings[x]), of_group[one].figures[metric])
                        for one in numbers
                    ]
                    look = {**style.look(index), **({} if label or not others else {"linestyle": ""})}
                    panels.line(place, label, points, factor, look)
                place.set_ylim(bottom=0)
                place.set_ylabel(unit)
                if name == names[0]:
                    place.set_title(heading)
            row[0].set_ylabel(f"{name}\n{row[0].get_ylabel()}")
        for place in grid[-1]:
            axis.label(place)
        handles, labels = grid[0][0].get_legend_handles_labels()
        if others and labels != [""]:
            columns = min(len(labels), LEGEND_COLUMNS)
            figure.legend(
                handles, labels, loc="outside upper right", ncols=columns, title=", ".join(short(others))
            )
        runs = sum({one.point: one.runs for one in found}.values())
        points_of = len({one.point for one in found})
        style.sources(
            figure,
            [
                name_of(table),
                f"{points_of} points",
                f"{runs} runs",
                "95 % intervals",
                f"tidegate {__version__}",
                left_out,
            ],
        )
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as a PNG, or as what the path's ending says; return the path.

    Raises:
        TidegateError: The ending is of no known format, or something else than a file is there.
        OSError: The file cannot be written.
    """
    from tidegate._tidegate import TidegateError

    if not Path(path).name:
        raise TidegateError(f"`{path}` names no file for a figure")
    # A link stays one: what it points to is written.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise TidegateError(f"{path}: is not a regular file, so it is not overwritten")
    ending = target.suffix.removeprefix(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise TidegateError(f"{path}: figures are written as {', '.join(sorted(known))}, not as {ending}")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    try:
        figure.savefig(temporary, format=ending, dpi=DPI)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return Path(path)


def _provisioned(results: Results) -> list[str]:
    """Return the links with the greatest in-traffic against their capacity, in the order of the scenario."""
    links = [link for link in results.link_rows() if (link.in_traffic.mean or 0.0) > 0]
    greatest = sorted(links, key=lambda link: -(link.in_traffic.mean or 0.0))[:MAX_LINKS]
    return [link.link for link in links if link in greatest]
