"""`tidegate check`: whether a scenario file is right."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tidegate.cli.options import STDIN, File, Json, Python, Set, define, overrides, tell
from tidegate.cli.options import scenario as given
from tidegate.cli.plain import plain


def command(file: File, python: Python = None, sets: Set = None, as_json: Json = False) -> None:
    """Check a scenario file and summarise it.

    All of it is checked, and nothing runs.
    """
    from tidegate.show import plural
    from tidegate.source import resolve

    define(python)
    scenario = resolve(given(file), overrides(sets)).scenario
    points = None if str(file) == STDIN else _points(file, sets)
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
            "points": points,
        }
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    what = ", ".join(plural(count, noun) for noun, count in counts.items())
    swept = "" if points is None else f"; a sweep of {plural(points, 'point')}"
    typer.echo(plain(f"OK: {scenario.name}: {what}, {scenario.duration:g} s{swept}"))


def _points(file: Path, sets: list[str] | None) -> int | None:
    """Return the number of points that the section `[sweep]` of a file has, all right; None without one."""
    from tidegate.source import has_sweep, resolve

    if not has_sweep(file):
        return None
    from tidegate.sweeps.plan import prepare
    from tidegate.sweeps.request import request

    asked = request(file, sets=overrides(sets))
    return len(prepare(resolve(file, asked.fixed), asked, None).texts)
