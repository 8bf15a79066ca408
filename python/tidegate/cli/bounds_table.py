"""Largest delays beside their bounds on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import typer

from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.bounds import Compared

ABOVE_BOUND = 3
"""Exit code when a flow is above its bound."""


def print_bounds(compared: Sequence[Compared]) -> None:
    """Show each flow's largest delay and its bound; members of a group with one bound share a row."""
    from tidegate.cli import screen
    from tidegate.show import NOTHING, quantity

    console = screen.console()
    alike = [list(some) for _, some in groupby(compared, lambda one: (one.group, one.bound, one.reason))]
    table = screen.table("flow", "max delay", "bound", "share of it")
    rows, notes = screen.cut(alike, "flow")
    for members in rows:
        first, last = members[0], members[-1]
        flow = first.flow if first is last else f"{first.flow} to {last.flow}"
        slowest = max(members, key=lambda one: one.delay_max or 0.0)
        delay = quantity(slowest.delay_max, "s")
        if first.bound is None:
            table.add_row(flow, delay, "none", first.reason or NOTHING)
        else:
            table.add_row(flow, delay, quantity(first.bound, "s"), quantity(slowest.share, "share"))
    console.print()
    console.print(table)
    console.print()
    for note in notes:
        console.print(f"  {note}", style="dim")


def hold(complaint: str | None) -> None:
    """End the command with an error if there is a complaint about a flow above its bound."""
    if complaint is not None:
        typer.echo(plain(f"tidegate: {complaint}"), err=True)
        raise typer.Exit(ABOVE_BOUND)
