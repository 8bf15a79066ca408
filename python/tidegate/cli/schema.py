"""`tidegate schema`: the scenario format for editors."""

from __future__ import annotations

import typer


def command() -> None:
    """Print the JSON Schema of scenario files."""
    from tidegate._tidegate import schema

    typer.echo(schema())
