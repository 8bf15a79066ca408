"""`tidegate gate`: a real link. The same function as the `tidegate-gate` program."""

from __future__ import annotations

import sys

import typer

SETTINGS = {
    "add_help_option": False,
    "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True},
}
"""Every argument is the gate's own, `--help` too."""


def command(context: typer.Context) -> None:
    """Run, monitor and reconfigure a gate on a real link."""
    from tidegate._tidegate import gate

    sys.stdout.flush()
    raise typer.Exit(gate(["tidegate gate", *context.args]))
