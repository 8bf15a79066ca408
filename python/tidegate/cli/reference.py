"""`tidegate reference`: the scenario format for people."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print it as a string in a JSON document.")] = False,
) -> None:
    """Print the reference for scenario files, as Markdown."""
    from tidegate._tidegate import reference

    typer.echo(json.dumps({"markdown": reference()}, ensure_ascii=False) if as_json else reference())
