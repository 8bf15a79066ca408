"""`tidegate plot`: figures of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.options import listed
from tidegate.cli.plain import plain


def command(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Results, from --out of tidegate run or sweep; or a directory with results of one "
            "scenario under several policies, from --out of tidegate compare or replay: they are compared.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="File for the figure; by default DIR.png in this folder.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Groups of flows to draw; by default the first seven that are no answers.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path of the figure as JSON.")] = False,
) -> None:
    """Draw throughput, delays and queues of results.

    Figures of several runs have intervals.
    """
    from tidegate import comparison_dir, plots
    from tidegate.results import Results
    from tidegate.sweeps import load, store

    names = None if groups is None else listed("--groups", groups)
    if store.is_sweep(directory):
        figure = plots.sweep(load(directory), names)
    elif several := comparison_dir.load(directory):
        figure = plots.comparison(several, names)
    else:
        figure = plots.overview(Results.load(directory), names)
    path = plots.save(figure, out if out is not None else Path(f"{directory.resolve().name}.png"))
    typer.echo(json.dumps({"figure": str(path)}) if as_json else plain(f"figure in {path}"))
