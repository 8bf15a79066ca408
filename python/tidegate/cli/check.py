"""`tidegate check`: whether a scenario file is right."""

from __future__ import annotations

import typer

from tidegate.cli.options import File, Set, overrides


def command(file: File, sets: Set = None) -> None:
    """Read a scenario, check all of it, and say what it describes; nothing runs."""
    from tidegate._tidegate import Scenario

    scenario = Scenario.load(file, overrides(sets))
    for warning in scenario.warnings:
        typer.echo(f"warning: {warning}", err=True)
    counts = {"node": len(scenario.nodes), "one-way link": len(scenario.links), "flow": len(scenario.flows)}
    what = ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items())
    typer.echo(f"OK: {scenario.name}: {what}, {scenario.duration:g} s")
