"""`tidegate schema`: the file formats for editors."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    gate: Annotated[bool, typer.Option("--gate", help="Print that of gate files instead.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Accepted for uniformity: the output is always JSON.")
    ] = False,
) -> None:
    """Print the JSON Schema of scenario files."""
    from tidegate._tidegate import gate_schema, schema

    del as_json
    typer.echo(gate_schema() if gate else schema())
