"""`tidegate compare`: what each scheduler changes for each group of flows."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import File, Force, Jobs, Json, Seed, Set, overrides, scenario, tell
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.comparison import Comparison, Row

LABELS = {
    "throughput": "throughput",
    "lost": "lost",
    "delay_mean": "mean delay",
    "delay_p99": "p99 delay",
    "delay_max": "max delay",
    "queueing_mean": "queueing",
}

SEPARATOR = re.compile(r",(?![^{]*\})")
"""A comma that is not within braces."""


def command(
    file: File,
    scheduler: Annotated[
        list[str],
        typer.Option(
            metavar="NAME,NAME",
            help="Schedulers, each compared with the first, for example fifo,virtual-clock. May be repeated.",
            show_default=False,
        ),
    ],
    replications: Annotated[int, typer.Option(metavar="N", help="Number of runs of each.")] = 10,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the results of every scheduler to DIR/NAME.", show_default=False
        ),
    ] = None,
    sets: Set = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare schedulers on the same packets.

    Runs a scenario under each of them, and shows the differences with their intervals.
    """
    from tidegate import outdir, sidebyside
    from tidegate.cli.progress import bar
    from tidegate.comparison import compare
    from tidegate.replications import seeds_of
    from tidegate.source import resolve

    names = [name.strip() for given in scheduler for name in SEPARATOR.split(given) if name.strip()]
    places = {} if out is None else _places(out, names)
    given = resolve(scenario(file), overrides(sets))
    stale: list[Path] = []
    if out is not None:
        identity = sidebyside.identity(given, seeds_of(given, replications, seed))
        stale = sidebyside.check(out, places.values(), given, identity, force=force)
    with bar(" · ".join(names)) as progress:
        comparison = compare(
            given.scenario,
            names,
            replications=replications,
            jobs=jobs,
            seed=seed,
            progress=progress,
        )
    tell(comparison.warnings)
    sidebyside.remove(stale)
    command = shlex.join(["tidegate", *sys.argv[1:]])
    for name, place in places.items():
        outdir.write(comparison.results[name], place, command, comparison=comparison.identity, force=force)
    if as_json:
        typer.echo(json.dumps(document(comparison), ensure_ascii=False, allow_nan=False))
        return
    _print(comparison)
    if places:
        typer.echo(plain(f"results in {', '.join(str(place) for place in places.values())}"))


def _places(out: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return a folder for the results of each scheduler, named after it."""
    places: dict[str, Path] = {}
    for name in names:
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-")
        # Schedulers that differ in their parameters only may look alike.
        alike = sum(place.name.rpartition("~")[0] == stem or place.name == stem for place in places.values())
        places[name] = out / (f"{stem}~{alike + 1}" if alike else stem)
    return places


def document(comparison: Comparison) -> dict[str, Any]:
    """Return what `--json` prints: SI base units, null where nothing was measured."""
    first = next(iter(comparison.results.values()))
    return {
        "scenario": first.scenario_name,
        "tidegate_version": first.version,
        "schedulers": list(comparison.schedulers),
        "replications": first.replications,
        "seeds": list(first.seeds),
        "fingerprints": {name: list(one.fingerprints) for name, one in comparison.results.items()},
        "notes": comparison.notes,
        "warnings": comparison.warnings,
        "rows": [
            {
                "group": row.group,
                "metric": row.metric,
                "unit": row.unit,
                "values": {
                    name: {"mean": one.mean, "ci95": one.half_width} for name, one in row.values.items()
                },
                "differences": {
                    name: {"mean": one.mean, "ci95": one.half_width, "excludes_zero": one.excludes_zero}
                    for name, one in row.differences.items()
                },
            }
            for row in comparison.rows
        ],
    }


def _print(comparison: Comparison) -> None:
    from tidegate.cli import screen

    first, *others = comparison.schedulers
    results = comparison.results[first]
    wall = sum(one.wall_seconds for one in comparison.results.values())
    console = screen.console()
    console.print(
        f"{results.scenario_name} · {screen.seeds(results.seeds)} · {len(comparison.results)} schedulers · "
        f"{screen.runs(results)} each in {screen.seconds(wall)}",
        style="bold",
    )
    console.print()
    pair = len(others) == 1
    table = screen.table("group", "", *comparison.schedulers, *(["difference"] if pair else []))
    table.columns[1].justify = "left"
    groups = list(dict.fromkeys(row.group for row in comparison.rows))
    shown, notes = screen.cut(groups, "group")
    for group in shown:
        of_group = [row for row in comparison.rows if row.group == group]
        for row in of_group:
            table.add_row(
                group if row is of_group[0] else "",
                LABELS[row.metric],
                *_cells(row, pair),
                end_section=row is of_group[-1],
            )
    console.print(table)
    console.print()
    notes += comparison.notes
    if results.has_intervals:
        notes += [
            "± is half the 95 % interval of the mean over replications",
            f"{'differences' if pair else 'Δ: differences'} to {first}, run by run on the same packets",
            "* the interval excludes zero (by chance alone, 1 in 20 does)",
            "pp: percentage points, the difference of two shares",
        ]
    for note in notes:
        console.print(f"  {note}", style="dim")


def _cells(row: Row, pair: bool) -> list[str]:
    from tidegate.show import signed, with_interval

    unit = row.unit or "share"
    values = [with_interval(value, unit) for value in row.values.values()]
    marks = ["*" if one.excludes_zero else " " for one in row.differences.values()]
    differences = [
        f"{signed(one, unit)} {mark}" for one, mark in zip(row.differences.values(), marks, strict=True)
    ]
    if pair:
        return [*values, *differences]
    first, *others = values
    return [first, *(f"{value}  \nΔ {change}" for value, change in zip(others, differences, strict=True))]
