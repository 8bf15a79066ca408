"""`tidegate check`: whether a scenario file is right."""

from __future__ import annotations

import json

import typer

from tidegate.cli.options import File, Json, Set, overrides, tell
from tidegate.cli.options import scenario as given
from tidegate.cli.plain import plain


def command(file: File, sets: Set = None, as_json: Json = False) -> None:
    """Check a scenario file and summarise it.

    All of it is checked, and nothing runs.
    """
    from tidegate.show import plural
    from tidegate.source import resolve

    scenario = resolve(given(file), overrides(sets)).scenario
    tell(scenario.warnings, scenario.notes)
    counts = {"node": len(scenario.nodes), "one-way link": len(scenario.links), "flow": len(scenario.flows)}
    if as_json:
        document = {
            "scenario": scenario.name,
            "seed": scenario.seed,
            "duration": scenario.duration,
            "warmup": scenario.warmup,
            "nodes": counts["node"],
            "links": counts["one-way link"],
            "groups": scenario.groups,
            "flows": counts["flow"],
            "warnings": scenario.warnings,
            "notes": scenario.notes,
        }
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    what = ", ".join(plural(count, noun) for noun, count in counts.items())
    typer.echo(plain(f"OK: {scenario.name}: {what}, {scenario.duration:g} s"))
