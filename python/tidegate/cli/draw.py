"""`tidegate draw`: the topology of a scenario, or of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.options import STDIN, Json, Set, overrides, scenario
from tidegate.cli.plain import plain


def command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR",
            help="Scenario file, - for standard input; or results, from --out of tidegate run: the "
            "links then have their measured utilisation.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="File for the figure; by default NAME.png in this folder.",
            show_default=False,
        ),
    ] = None,
    sets: Set = None,
    as_json: Json = False,
) -> None:
    """Draw the network with the rates and the load of its links."""
    from tidegate import plots
    from tidegate.results import Results
    from tidegate.source import resolve

    if source.is_dir():
        figure = plots.topology(Results.load(source))
    else:
        figure = plots.topology(resolve(scenario(source), overrides(sets)).scenario)
    name = "scenario" if str(source) == STDIN else source.resolve().stem
    path = plots.save(figure, out if out is not None else Path(f"{name}.png"))
    typer.echo(json.dumps({"figure": str(path)}) if as_json else plain(f"figure in {path}"))
