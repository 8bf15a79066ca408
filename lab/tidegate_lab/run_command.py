"""`tidegate lab run`: a scenario in a Linux kernel in virtual time."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tidegate import commands


def command(
    file: commands.File,
    seed: commands.Seed = None,
    replications: Annotated[
        int, typer.Option(metavar="N", help="Number of runs, each with the next seed.")
    ] = 1,
    jobs: commands.Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write all results to this directory, as `tidegate run` does.",
            show_default=False,
        ),
    ] = None,
    report: commands.Report = None,
    sets: commands.Set = None,
    force: commands.Force = False,
    all_links: Annotated[
        bool, typer.Option("--all-links", help="Show idle links as well.", show_default=False)
    ] = False,
    as_json: commands.Json = False,
) -> None:
    """Run a scenario in a Linux kernel in virtual time.

    Hosts are namespaces, links are virtual Ethernet with the scenario's rates and delays, its ports
    have the kernel's queueing disciplines, and its connections are the kernel's TCP. Open-loop flows
    send the packets that the simulator draws from the same seed. Runs repeat to the nanosecond.
    """
    from tidegate import reports
    from tidegate_lab.testbed import backend

    source = commands.resolved(commands.scenario(file), sets)
    commands.tell(source.scenario.warnings, source.scenario.notes)
    if out is not None:
        commands.check_writable(out, source, force=force)
    if report is not None:
        reports.check(report)
    with commands.bar(source.scenario.name) as progress:
        results, about = backend.run_and_describe(
            source, replications=replications, jobs=jobs, seed=seed, progress=progress
        )
    command = shlex.join(["tidegate", *sys.argv[1:]])
    if out is not None:
        commands.write_results(results, out, command, backend=about, force=force)
    if report is not None:
        reports.of_run(results, report, command=command, backend=about)
    commands.show_results(results, as_json=as_json, all_links=all_links)
    if not as_json:
        typer.echo(commands.plain(f"Linux {about['kernel']} in virtual time"))
        if out is not None:
            typer.echo(commands.plain(f"results in {out}"))
        if report is not None:
            typer.echo(commands.plain(f"report in {report}"))
