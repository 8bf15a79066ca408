"""`tidegate diff`: the keys in which two scenarios differ."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.options import Json, Set, overrides, scenario


def command(
    first: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Scenario file, - for standard input.", show_default=False),
    ],
    second: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Scenario file to compare it with.", show_default=False),
    ],
    sets: Set = None,
    as_json: Json = False,
) -> None:
    """Show the keys in which two scenarios differ."""
    from tidegate.cli import screen
    from tidegate.scenario_diff import differences
    from tidegate.source import resolve

    one, other = (resolve(scenario(file), overrides(sets)).scenario for file in (first, second))
    found = differences(one, other)
    if as_json:
        typer.echo(json.dumps({"differences": [dataclasses.asdict(difference) for difference in found]}))
        return
    console = screen.console()
    if not found:
        console.print("no difference")
        return
    rows, notes = screen.cut(found, "difference")
    table = screen.table("key", str(first), str(second))
    for row in rows:
        table.add_row(row.key, row.first or "—", row.second or "—")
    console.print(table)
    for note in notes:
        console.print(note)
