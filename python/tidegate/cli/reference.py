"""`tidegate reference`: the scenario format for people."""

from __future__ import annotations

import typer


def command() -> None:
    """Print the reference of scenario files, as Markdown."""
    from tidegate._tidegate import reference

    typer.echo(reference())
