"""`tidegate compare`: what each policy changes for each group of flows."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import screen
from tidegate.cli.options import (
    File,
    Force,
    Jobs,
    Json,
    Python,
    Report,
    Seed,
    Set,
    define,
    listed,
    overrides,
    scenario,
    tell,
)
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.comparison import Comparison
    from tidegate.source import Overrides


def command(
    file: File,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Policies of the switches' ports, each compared with the first: a scheduler, a dropper "
            "(FIFO with it) or both, with parameters in parentheses, for example "
            "fifo,red,fq-codel(target=10ms),drr+red. May be repeated.",
            show_default=False,
        ),
    ] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Schedulers alone: the scenario's dropper stays, whichever it is. May be repeated.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,…",
            help="One column with settings of its own, for example "
            "'small: port.policy=red, switch.buffer=20p'. May be repeated.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Groups of flows to show; by default all but the answers of connections.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[int, typer.Option(metavar="N", help="Number of runs of each.")] = 10,
    on: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="What runs it: the simulator (sim), a Linux kernel in virtual time (linux), or both.",
        ),
    ] = "sim",
    python: Python = None,
    seed: Seed = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the results of every policy to DIR/NAME.", show_default=False
        ),
    ] = None,
    report: Report = None,
    sets: Set = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare policies, or other settings, on the same packets.

    Runs a scenario under each of them, and shows the differences with their intervals. With `--on
    sim,linux` it compares the simulator with a Linux kernel, under one policy or several.
    """
    from tidegate import comparison_dir, outdir, reports
    from tidegate.cli import comparison_tables
    from tidegate.cli.progress import bar
    from tidegate.cli.run import has_room
    from tidegate.comparison import compare
    from tidegate.comparison_columns import on_each, unique
    from tidegate.groups import chosen
    from tidegate.replications import seeds_of
    from tidegate.source import resolve

    define(python)
    columns, backends = _columns(policy or [], scheduler or [], column or []), listed("--on", on)
    names = list(unique(on_each(columns, backends)))
    places = {} if out is None else _places(out, names)
    given = resolve(scenario(file), overrides(sets))
    stale: list[Path] = []
    if out is not None:
        identity = comparison_dir.identity(given, seeds_of(given, replications, seed))
        stale = comparison_dir.check(out, places.values(), given, identity, force=force)
    if report is not None:
        reports.check(report)
    kept = out is not None or report is not None
    with bar(" · ".join(names)) as progress:
        comparison = compare(
            given,
            dict(columns),
            on=backends,
            replications=replications,
            jobs=jobs,
            seed=seed,
            series=kept and has_room(given.scenario, len(names) * replications),
            progress=progress,
        )
    tell(comparison.warnings)
    comparison_dir.remove(stale)
    command = shlex.join(["tidegate", *sys.argv[1:]])
    for position, (name, place) in enumerate(places.items()):
        outdir.write(
            comparison.results[name],
            place,
            command,
            comparison=comparison.identity,
            column=(position, name),
            force=force,
        )
    if report is not None:
        reports.of_comparison(comparison.results, report, command=command)
    if as_json:
        typer.echo(json.dumps(document(comparison), ensure_ascii=False, allow_nan=False))
        return
    shown, left_out = chosen(comparison.groups, _wanted(groups))
    comparison_tables.show(comparison, shown, [left_out] if left_out else [])
    if places:
        typer.echo(plain(_where(list(places.values()))))
    if report is not None:
        typer.echo(plain(f"report in {report}"))


def _columns(
    policies: Sequence[str], schedulers: Sequence[str], columns: Sequence[str]
) -> list[tuple[str, Overrides]]:
    """Return the columns that the command line asks for: policies, then schedulers, then other settings."""
    from tidegate.comparison_columns import of_policies, of_settings, split

    wanted = of_policies(name for given in policies for name in split(given))
    wanted += of_policies((name for given in schedulers for name in split(given)), "port.scheduler")
    return [*wanted, *map(of_settings, columns)]


def _where(places: Sequence[Path]) -> str:
    """Say where results are, in a line that is not too long."""
    listed = f"results in {', '.join(map(str, places))}"
    names = ", ".join(place.name for place in places)
    return listed if len(listed) <= screen.WIDTH else f"results in {places[0].parent}:\n  {names}"


def _wanted(groups: str | None) -> list[str] | None:
    return None if groups is None else [name.strip() for name in groups.split(",") if name.strip()]


def _places(out: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return a folder for the results of each column, named after it."""
    places: dict[str, Path] = {}
    for name in names:
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-")
        # Policies that differ in their parameters only may look alike.
        alike = sum(place.name.rpartition("~")[0] == stem or place.name == stem for place in places.values())
        places[name] = out / (f"{stem}~{alike + 1}" if alike else stem)
    return places


def document(comparison: Comparison) -> dict[str, Any]:
    """Return what `--json` prints: SI base units, null where nothing was measured."""
    first = next(iter(comparison.results.values()))
    return {
        "scenario": first.scenario_name,
        "tidegate_version": first.version,
        "policies": list(comparison.policies),
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
