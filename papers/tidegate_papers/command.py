"""`tidegate paper`: the figures that a paper published, compared with ours."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate import TidegateError, commands

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from tidegate_papers.claims import Finding
    from tidegate_papers.paper import Table
    from tidegate_papers.report import Outcome, Report

BROKEN = 3
"""Exit code when a required claim does not hold."""

SHOWN = 0.5
"""Processor time in s that an experiment takes at least where it is told."""

VERDICTS = {True: "yes", None: "undecided", False: "no"}


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Paper; without it, list all.", show_default=False),
    ] = None,
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="Experiments to run, those beyond the paper included; without one, those that decide what "
            "is required, and with --full all of the paper.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Runs of each experiment; by default 10, and then as many as its claims need.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Run every experiment as often and as long as the pages of the papers do."
        ),
    ] = False,
    jobs: commands.Jobs = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also run the experiments that go beyond the paper.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the claims and a figure of each experiment to this directory.",
            show_default=False,
        ),
    ] = None,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write a report of the claims to this page.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of recordings, which are not part of the package; without one, the experiments that "
            "play it are skipped.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, each figure in its own unit.")
    ] = False,
) -> None:
    """Reproduce a paper's figures.

    Runs its experiments and compares every published figure with ours. Exits with 3 when a required
    claim does not hold. Experiments have the names that --json and the files of --out show, such as
    figure-12.
    """
    if name is None:
        _list(as_json)
        return
    import tidegate_papers as papers
    from tidegate import reports
    from tidegate_papers import directory

    paper = papers.load(name)
    if full and replications is not None:
        raise TidegateError("--full and --replications: only one can be given")
    if out is not None:
        directory.KIND.check_writable(out)
    if report_file is not None:
        reports.check(report_file)
    with commands.bar(name) as progress:
        report = papers.conduct(
            paper,
            replications=papers.FULL if full else replications,
            jobs=jobs,
            everything=everything,
            only=experiments or (),
            recordings=data,
            progress=progress,
        )
    command = shlex.join(["tidegate", *sys.argv[1:]])
    if out is not None:
        directory.write(report, out, command)
    if report_file is not None:
        reports.of_claims(report.document(), report.curves(), report_file, command=command)
    if as_json:
        typer.echo(json.dumps(report.document(), ensure_ascii=False, allow_nan=False))
    else:
        _print(report)
        if out is not None:
            typer.echo(commands.plain(f"claims and figures in {out}"))
        if report_file is not None:
            typer.echo(commands.plain(f"report in {report_file}"))
    if report.broken:
        raise typer.Exit(BROKEN)


def _list(as_json: bool) -> None:
    import tidegate_papers as papers

    known = [papers.load(name) for name in papers.names()]
    if as_json:
        rows = [{"paper": one.name, "title": one.title, "reference": one.reference} for one in known]
        typer.echo(json.dumps({"papers": rows}, ensure_ascii=False))
        return
    table = commands.table("paper", "experiments", "claims", "")
    table.columns[-1].justify = "left"
    for paper in known:
        about = f"{paper.title}\n{paper.reference}"
        table.add_row(paper.name, str(len(paper.experiments)), str(len(paper.claims)), about)
    commands.console().print(table)


def _print(report: Report) -> None:
    from tidegate.show import plural

    console = commands.console()
    console.print(f"{report.paper.title}", style="bold")
    console.print(f"{report.paper.reference} · {_runs(report)} in {commands.seconds(report.wall_seconds)}")
    for outcome in report.outcomes:
        _print_outcome(outcome, console)
    for skipped in report.skipped:
        console.print()
        console.print(f"{skipped.experiment.title}: skipped, {skipped.why}", style="bold")
    console.print()
    counts = {holds: sum(one.holds is holds for one in report.findings) for holds in VERDICTS}
    console.print(
        f"{plural(len(report.findings), 'claim')}: {counts[True]} hold, {counts[None]} undecided, "
        f"{counts[False]} do not hold",
        style="bold",
    )
    console.print(_of_required(report), style="bold")
    for note in _notes(report):
        console.print(f"  {note}", style="dim")
    _print_times(report, console)


def _print_times(report: Report, console: Console) -> None:
    """Say which experiments took how much processor time, and which were left out."""
    times = sorted(report.outcomes, key=lambda outcome: -outcome.cpu_seconds)
    shown = [f"{one.experiment.title} {one.cpu_seconds:.1f}" for one in times if one.cpu_seconds >= SHOWN]
    if shown:
        whole = sum(one.cpu_seconds for one in times)
        console.print(f"  CPU seconds: {whole:.0f} in all; {', '.join(shown)}", style="dim")
    if report.left_out:
        names = ", ".join(one.name for one in report.left_out)
        console.print(
            f"  left out, since nothing of them is required (--full runs them): {names}", style="dim"
        )


def _runs(report: Report) -> str:
    from tidegate.show import plural

    if report.replications is None:
        return "as many runs of each experiment as its claims need"
    return f"{plural(report.replications, 'run')} of each experiment"


def _print_outcome(outcome: Outcome, console: Console) -> None:
    experiment = outcome.experiment
    warmup = f" after {outcome.warmup:g} s of warm-up" if outcome.warmup else ""
    console.print()
    console.print(f"{experiment.title} ({experiment.where}): {experiment.about}", style="bold")
    fewest = min(len(each) for each in outcome.fingerprints.values())
    fewer = "" if fewest == len(outcome.seeds) else f", {fewest} where no claim needs more"
    console.print(
        f"  {outcome.duration:g} s measured{warmup}, {commands.seeds(outcome.seeds)}{fewer}",
        style="dim",
    )
    console.print()
    reasons = list(dict.fromkeys(one.why for one in outcome.findings if one.why is not None))
    if outcome.listed:
        console.print(_listed(outcome.listed, reasons))
    for table in experiment.tables:
        console.print()
        console.print(_cells(table, outcome))
    _print_reasons(reasons, console)


def _listed(findings: list[Finding], reasons: list[str]) -> RichTable:
    """Return a table with a row for each finding."""
    from tidegate_papers.phrases import allowed, derived, figure, label, measured, published

    beside = list(dict.fromkeys(name for one in findings for name in one.beside))
    judged = any(one.claim.judged for one in findings)
    follows = any(one.claim.derived is not None for one in findings)
    sources = ("paper", "derived") if follows else ("paper",)
    table = commands.table("", *sources, "measured", *(("tolerance", "holds") if judged else ()), *beside)
    if judged:
        table.columns[len(sources) + 3].justify = "left"
    for one in findings:
        references = (published(one.claim), derived(one.claim))[: len(sources)]
        cells = (allowed(one.claim), _verdict(one, reasons)) if judged else ()
        others = (figure(one.beside[name]) if name in one.beside else "" for name in beside)
        table.add_row(label(one.claim), *references, measured(one), *cells, *others, style=_style(one))
    return table


def _cells(published_table: Table, outcome: Outcome) -> RichTable:
    """Return a table of the paper, each cell with the published figure, if there is one, above ours."""
    table = commands.table(published_table.heading, *published_table.columns)
    for row, findings in zip(published_table.rows, outcome.cells(published_table), strict=True):
        table.add_row(row, *(_cell(one) for one in findings))
    return table


def _cell(finding: Finding) -> str:
    from tidegate_papers.phrases import figure, published

    ours = figure(finding.measured)
    return ours if finding.claim.paper is None else f"{published(finding.claim)}\n{ours}"


def _verdict(finding: Finding, reasons: list[str]) -> str:
    if not finding.claim.judged:
        return ""
    note = f" ({reasons.index(finding.why) + 1})" if finding.why is not None else ""
    return f"{VERDICTS[finding.holds]}{note}"


def _style(finding: Finding) -> str | None:
    return "red" if finding.claim.required and finding.holds is False else None


def _print_reasons(reasons: list[str], console: Console) -> None:
    """Say what we know about what does not hold."""
    from rich.table import Table

    if not reasons:
        return
    notes = Table.grid(padding=(0, 1))
    for number, why in enumerate(reasons, 1):
        notes.add_row(f"  ({number})", why)
    console.print()
    console.print(notes, style="dim")


def _of_required(report: Report) -> str:
    from tidegate.show import plural

    required = [one for one in report.findings if one.claim.required]
    undecided = sum(one.holds is None for one in required)
    if not required:
        return "no claim is required"
    if not report.broken and not undecided:
        return f"all {len(required)} required claims hold"
    broken = f"{len(report.broken)} of {plural(len(required), 'required claim')} do not hold"
    return f"{broken}, {undecided} undecided" if undecided else broken


def _notes(report: Report) -> list[str]:
    notes = ["* required"]
    if report.replications != 1:
        notes.append("± is half the 95 % interval of the mean over replications")
    else:
        notes.append("no interval from one run, so only exact claims are decided")
    notes.append(
        "a claim holds when the tolerance contains the interval or the interval the tolerance; it does not "
        "hold when they do not meet; otherwise it is undecided"
    )
    return notes
