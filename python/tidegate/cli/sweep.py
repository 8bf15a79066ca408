"""`tidegate sweep`: a scenario at many points, each under the same seeds."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate._tidegate import TidegateError
from tidegate.cli import screen
from tidegate.cli.options import (
    File,
    Jobs,
    Json,
    Python,
    Report,
    Seed,
    define,
    listed,
    no_stdin,
    overrides,
    tell,
)
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.sweeps.plan import Plan
    from tidegate.sweeps.summary import Summary
    from tidegate.tables import Table

SHOWN = {
    "throughput": ("throughput", "bit/s"),
    "lost": ("lost", "share"),
    "delay_mean": ("mean delay", "s"),
    "delay_p99": ("p99 delay", "s"),
}
"""Figures that are shown, with their headings and units."""


def command(
    file: File,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=A,B",
            help="Values of one parameter, for example --set port.policy=fifo,fq-codel; a range such as "
            "64kbit..512kbit for a design that is drawn; one value is a setting of every point. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="product (every combination), zip (the first values together, then the second), random "
            "or latin-hypercube. [default: product]",
            show_default=False,
        ),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of points that are drawn.", show_default=False),
    ] = None,
    design_seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed with which points are drawn. [default: 1]", show_default=False),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="More parameters: keys in the first line, a point in each further one.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Runs of each point; with --until the most of them. [default: 10, with --until 200]",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="FIGURE:WIDTH",
            help="Run each point until half the 95 % interval of a figure is this wide, for example "
            "delay_p99:5% or voice.delay_p99:2ms; at least 10 times.",
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
    python: Python = None,
    seed: Seed = None,
    jobs: Jobs = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a cluster: tcp://HOST:PORT of a Dask scheduler, or jobs of SLURM such as "
            "slurm:partition=short,jobs=8,cores=4.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Append rows to DIR as they come; a sweep that was ended there goes on.",
            show_default=False,
        ),
    ] = None,
    report: Report = None,
    force: Annotated[
        bool, typer.Option("--force", help="Remove runs in DIR that do not belong to this sweep.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a scenario at every point of a sweep.

    Replication k has the same seed at every point. The section [sweep] of FILE may say what is
    varied; options prevail.
    """
    from tidegate import reports
    from tidegate.cli.sweep_progress import shown
    from tidegate.source import resolve
    from tidegate.sweeps.engine import conduct
    from tidegate.sweeps.plan import prepare
    from tidegate.sweeps.request import request
    from tidegate.sweeps.summary import summaries

    define(python)
    no_stdin(file)
    if report is not None:
        reports.check(report)
    asked = request(
        file,
        _values(sets),
        design=design,
        points=points,
        design_seed=design_seed,
        csv=csv,
        replications=replications,
        until=until,
    )
    source = resolve(file, asked.fixed)
    title = source.scenario.name
    with shown(title, "points checked") as checked:
        plan = prepare(source, asked, seed, lambda done, total: checked(done, total, None))
    tell(plan.warnings)
    command = shlex.join(["tidegate", *sys.argv[1:]])
    try:
        with shown(title, "runs") as bar:
            table = conduct(
                plan,
                jobs=jobs,
                cluster=cluster,
                out=out,
                command=command,
                force=force,
                progress=lambda status: bar(status.done, status.total, status.left),
            )
    except KeyboardInterrupt:
        if out is not None:
            tell([f"{out} is incomplete; the same command goes on with it"])
        raise
    if report is not None:
        reports.of_sweep(plan, table, report, command=command)
    found = summaries(table)
    if as_json:
        typer.echo(json.dumps(_document(plan, found), ensure_ascii=False, allow_nan=False))
        return
    _show(plan, table, found, None if groups is None else listed("--groups", groups))
    if out is not None:
        typer.echo(plain(f"{table.num_rows} rows in {out}"))
    if report is not None:
        typer.echo(plain(f"report in {report}"))


def _values(sets: list[str] | None) -> dict[str, str | list[str]]:
    """Return the values of each key of `--set`; a single one is no list."""
    from tidegate.comparison_columns import split

    found: dict[str, str | list[str]] = {}
    for key, text in overrides(sets):
        if key in found:
            raise TidegateError(f"--set {key} is given twice; write its values as in {key}=A,B")
        parts = split(text)
        found[key] = parts if len(parts) > 1 else text
    return found


def _show(plan: Plan, table: Table[str], found: Sequence[Summary], wanted: list[str] | None) -> None:
    """Print the means at every point."""
    from tidegate.groups import chosen
    from tidegate.keys import short
    from tidegate.show import plural
    from tidegate.sweeps.rows import UNITS, parameters_of

    names, left_out = chosen(list(dict.fromkeys(one.group for one in found)), wanted)
    parameters = parameters_of(table)
    points = len(plan.wanted.points)
    console = screen.console()
    runs = sum({one.point: one.runs for one in found}.values())
    console.print(
        f"{plan.wanted.name} · {plural(points, 'point')} · {runs} runs from seed {plan.wanted.first_seed} · "
        f"{plan.source.scenario.duration:g} s each",
        style="bold",
    )
    console.print()
    by_point: dict[int, dict[str, Summary]] = {}
    for one in found:
        by_point.setdefault(one.point, {})[one.group] = one
    rows, cut = screen.cut(list(by_point.values()), "point")
    shown = dict(SHOWN)
    if plan.until is not None:
        shown.setdefault(plan.until.figure, (plan.until.figure, UNITS[plan.until.figure]))
    for figure, (heading, unit) in shown.items():
        lines = [_line(row, parameters, names, figure, unit) for row in rows]
        made = screen.table(*short(parameters), "runs", *names)
        for column, cells in zip(made.columns, zip(*lines, strict=True), strict=True):
            # Figures stay whole; the long name of a group takes several lines.
            column.min_width = max(map(len, cells))
        for line in lines:
            made.add_row(*line)
        console.print(heading, style="bold")
        console.print(made)
        console.print()
    for note in [*cut, *filter(None, [left_out]), *_notes(plan, found)]:
        console.print(f"  {note}", style="dim")


def _line(
    row: Mapping[str, Summary], parameters: Sequence[str], groups: Sequence[str], figure: str, unit: str
) -> list[str]:
    """Return the cells of a point: its settings, its runs, and a figure of each group."""
    from tidegate.show import NOTHING, with_interval

    first = next(iter(row.values()))
    settings = [first.settings[name] for name in parameters]
    figures = [with_interval(row[name].figures[figure], unit) for name in groups]
    return [*(NOTHING if one is None else str(one) for one in settings), str(first.runs), *figures]


def _notes(plan: Plan, found: Sequence[Summary]) -> list[str]:
    """Return remarks for a reader of the figures."""
    notes = []
    if any(one.figures["throughput"].half_width is not None for one in found):
        notes.append("± is half the 95 % interval of the mean over the runs")
    else:
        notes.append("no intervals: one run of each point, or nothing is drawn at random")
    if plan.until is not None:
        late = {one.point for one in found if one.runs >= plan.wanted.runs[one.point]}
        if late:
            notes.append(f"{len(late)} points have the most runs that were allowed")
    return notes


def _document(plan: Plan, found: Sequence[Summary]) -> dict[str, Any]:
    """Return what `--json` prints: SI base units, null where nothing was measured."""
    from tidegate._tidegate import __version__

    return {
        "scenario": plan.wanted.name,
        "tidegate_version": __version__,
        "seed": plan.wanted.first_seed,
        "until": plan.wanted.until,
        "notes": _notes(plan, found),
        "warnings": list(plan.warnings),
        "rows": [
            {
                "point": one.point,
                "settings": one.settings,
                "group": one.group,
                "runs": one.runs,
                **{name: figure.mean for name, figure in one.figures.items()},
                "ci95": {name: figure.half_width for name, figure in one.figures.items()},
            }
            for one in found
        ],
    }
