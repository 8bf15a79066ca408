"""A comparison on a terminal: a row for each metric, or of many policies a table for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.cli import screen
from tidegate.show import signed, with_interval

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tidegate.comparison import Comparison, Row

LABELS = {
    "throughput": "throughput",
    "lost": "lost",
    "delay_mean": "mean delay",
    "delay_p99": "p99 delay",
    "delay_max": "max delay",
    "queueing_mean": "queueing",
}

WIDEST = 10_000
"""Columns of a terminal in which any table has room."""

MAX_ABREAST = 3
"""Policies that are columns of one table; of more, each is a row."""


def show(comparison: Comparison, groups: Sequence[str], notes: Sequence[str]) -> None:
    """Print what a comparison found for these groups, and `notes` below it."""
    first, *others = comparison.policies
    results = comparison.results[first]
    wall = sum(one.wall_seconds for one in comparison.results.values())
    console = screen.console()
    console.print(
        f"{results.scenario_name} · {screen.seeds(results.seeds)} · {len(comparison.results)} policies · "
        f"{screen.runs(results)} each in {screen.seconds(wall)}",
        style="bold",
    )
    console.print()
    shown, cut = screen.cut(groups, "group")
    pair = len(others) == 1
    if len(comparison.policies) <= MAX_ABREAST:
        console.print(_abreast(comparison, shown, pair))
        console.print()
    else:
        for metric in LABELS:
            for table in _by_policy(comparison, metric, shown, console):
                console.print(table)
                console.print()
    remarks = [*cut, *notes, *comparison.notes]
    if results.has_intervals:
        remarks += [
            "± is half the 95 % interval of the mean over replications",
            f"{'differences' if pair else 'Δ: differences'} to {first}, run by run on the same packets",
            "* the interval excludes zero (by chance alone, 1 in 20 does)",
            "pp: percentage points, the difference of two shares",
        ]
    for note in remarks:
        console.print(f"  {note}", style="dim")


def _abreast(comparison: Comparison, groups: Sequence[str], pair: bool) -> Table:
    """Return one table with a column for each policy and a row for each metric of each group."""
    table = screen.table("group", "", *comparison.policies, *(["difference"] if pair else []))
    table.columns[1].justify = "left"
    for group in groups:
        of_group = [row for row in comparison.rows if row.group == group]
        for row in of_group:
            table.add_row(
                group if row is of_group[0] else "",
                LABELS[row.metric],
                *_cells(row, pair),
                end_section=row is of_group[-1],
            )
    return table


def _cells(row: Row, pair: bool) -> list[str]:
    values, differences = _figures(row)
    if pair:
        return [*values, *differences[1:]]
    first, *others = values
    return [first, *(f"{value}  \nΔ {change}" for value, change in zip(others, differences[1:], strict=True))]


def _by_policy(comparison: Comparison, metric: str, groups: Sequence[str], console: Console) -> list[Table]:
    """Return tables of one metric with a row for each policy, and as many groups beside each other as fit."""
    figures = {group: _figures(comparison.row(group, metric)) for group in groups}

    def table(part: Sequence[str]) -> Table:
        made = screen.table(LABELS[metric], *(heading for group in part for heading in (group, "Δ")))
        for at, name in enumerate(comparison.policies):
            made.add_row(name, *(of_group[at] for group in part for of_group in figures[group]))
        # Figures stay whole; the long name of a group takes several lines.
        for column, cells in zip(
            made.columns[1:], (cells for group in part for cells in figures[group]), strict=True
        ):
            column.min_width = max(map(len, cells))
        return made

    def width(made: Table) -> int:
        return console.measure(made, options=console.options.update(max_width=WIDEST)).maximum

    parts: list[list[str]] = []
    for group in groups:
        if parts and width(table([*parts[-1], group])) <= console.width:
            parts[-1].append(group)
        else:
            parts.append([group])
    return [table(part) for part in parts]


def _figures(row: Row) -> tuple[list[str], list[str]]:
    """Return the value of each policy, and its difference to the first, which has none."""
    unit = row.unit or "share"
    values = [with_interval(value, unit) for value in row.values.values()]
    marks = ["*" if one.excludes_zero else " " for one in row.differences.values()]
    differences = [
        f"{signed(one, unit)} {mark}" for one, mark in zip(row.differences.values(), marks, strict=True)
    ]
    return values, ["", *differences]
