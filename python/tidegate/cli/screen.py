"""Tables and texts of results on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tidegate.show import plural, quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tidegate.results import Results

Row = TypeVar("Row")

MAX_ROWS = 40
"""Rows of a table that are shown."""

WIDTH = 100
"""Columns when the output is not a terminal."""


def console() -> Console:
    """Return where tables are printed: stdout, as wide as the terminal."""
    from tidegate.cli.terminal import PlainConsole

    width = None if sys.stdout.isatty() else WIDTH
    return PlainConsole(width=width, highlight=False, markup=False, emoji=False)


def table(first: str, *others: str) -> Table:
    """Return an empty table with the given headings; all columns but the first hold figures."""
    from rich import box

    from tidegate.cli.terminal import PlainTable

    made = PlainTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    made.add_column(first, overflow="fold")
    for heading in others:
        longest = max((len(word) for word in heading.split()), default=0)
        made.add_column(heading, justify="right", overflow="fold", min_width=longest)
    return made


def cut(rows: Sequence[Row], noun: str) -> tuple[Sequence[Row], list[str]]:
    """Return the rows to show, and a note when some are left out."""
    left_out = len(rows) - MAX_ROWS
    if left_out <= 0:
        return rows, []
    return rows[:MAX_ROWS], [f"{plural(left_out, f'more {noun}')} not shown; --json and --out hold all"]


def seeds(numbers: Sequence[int]) -> str:
    """Return the seeds in a few words."""
    return f"seed {numbers[0]}" if len(numbers) == 1 else f"seeds {numbers[0]} to {numbers[-1]}"


def runs(results: Results) -> str:
    """Return how often and how long a scenario ran."""
    often = f"{results.replications} runs of " if results.replications > 1 else ""
    return f"{often}{results.duration:g} s"


def seconds(value: float) -> str:
    """Return a time as a person reads it."""
    return quantity(value, "s")
