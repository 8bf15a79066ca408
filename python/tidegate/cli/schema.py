"""`tidegate schema`: the file formats for editors."""

from __future__ import annotations

from typing import Annotated

import typer


def command(gate: Annotated[bool, typer.Option("--gate", help="Of gate files instead.")] = False) -> None:
    """Print the JSON Schema of scenario files."""
    from tidegate._tidegate import gate_schema, schema

    typer.echo(gate_schema() if gate else schema())
