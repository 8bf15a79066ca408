"""`tidegate compare`: which scheduler does what to whom."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import File, Jobs, Json, Seed, Set, overrides

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
            help="Schedulers, each compared with the first, as in fifo,virtual-clock. May be repeated.",
            show_default=False,
        ),
    ],
    replications: Annotated[int, typer.Option(metavar="N", help="Number of runs of each.")] = 10,
    seed: Seed = None,
    jobs: Jobs = None,
    sets: Set = None,
    as_json: Json = False,
) -> None:
    """Run a scenario under several schedulers on the same packets, and show what differs."""
    from tidegate.cli.progress import bar
    from tidegate.comparison import compare

    names = [name.strip() for given in scheduler for name in SEPARATOR.split(given) if name.strip()]
    with bar(" · ".join(names)) as progress:
        comparison = compare(
            file,
            names,
            replications=replications,
            jobs=jobs,
            seed=seed,
            sets=overrides(sets),
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(document(comparison), ensure_ascii=False, allow_nan=False))
    else:
        _print(comparison)


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
    if results.replications > 1:
        notes += [
            "± is half the 95 % interval of the mean over replications",
            f"{'differences' if pair else 'Δ: differences'} to {first}, run by run on the same packets",
            "* the interval excludes zero (by chance alone, 1 in 20 does)",
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
