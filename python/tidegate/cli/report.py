"""`tidegate report`: results as a page for a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tidegate._tidegate import TidegateError
from tidegate.cli.options import Json
from tidegate.cli.plain import plain


def command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Results, from --out of tidegate run, compare, sweep or paper; several are results of one "
            "scenario, from --out of tidegate run, and are compared.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.html",
            help="File for the report; by default DIR.html in this folder.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a report of results: one page that needs no other file.

    It has what came out, tables with intervals, the network, charts, warnings, the scenario, and the
    command that made it. It needs bokeh and jinja2: pip install 'tidegate[report]'.
    """
    from tidegate.reports import report

    if out is None and len(directories) > 1:
        raise TidegateError(
            "a report of several directories needs the name of its file, as in -o report.html"
        )
    path = Path(f"{directories[0].resolve().name}.html") if out is None else out
    report(directories, path)
    typer.echo(json.dumps({"report": str(path)}) if as_json else plain(f"report in {path}"))
