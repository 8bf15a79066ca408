"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate._tidegate import TidegateError

File = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one value, as in --set flow.voice.source.rate=128kbit. May be repeated.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Seed of the first replication; by default the scenario's own.", show_default=False
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", help="Runs in parallel; by default one per processor.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, in SI base units.")]


def overrides(sets: list[str] | None) -> list[tuple[str, str]]:
    """Return what `--set` was given, as (path, value).

    Raises:
        TidegateError: One of them has no `=`, or nothing before it.
    """
    pairs = []
    for given in sets or []:
        path, equals, value = given.partition("=")
        if not equals or not path.strip():
            raise TidegateError(f"--set {given}: write it as key=value, as in port.scheduler=fifo")
        pairs.append((path.strip(), value))
    return pairs
