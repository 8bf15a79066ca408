"""`tidegate lab aqm`: queue managements that draw random numbers, beside the kernel's."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from tidegate import TidegateError, commands


def command(
    packets: Annotated[int, typer.Option(metavar="N", min=100, help="Number of packets.")] = 50_000,
    seed: Annotated[int, typer.Option(help="Seed of the packets, and the first seed of the runs.")] = 1,
    replications: Annotated[int, typer.Option(metavar="N", min=2, help="Runs, one for each seed.")] = 10,
    only: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only queues whose names contain this word.", show_default=False),
    ] = None,
    jobs: commands.Jobs = None,
    as_json: commands.Json = False,
) -> None:
    """Compare RED and PIE with the kernel's.

    They draw random numbers, so means are compared.

    The same packets pass a port in both, with one seed after another. A queue holds when the mean
    shares of dropped and marked packets and the mean queue are within two standard errors.
    """
    from tidegate_lab.testbed import aqm

    chosen = {name: port for name, port in aqm.QUEUES.items() if only is None or only in name}
    if not chosen:
        raise TidegateError(f"no queue has `{only}` in its name")
    rows = [
        (name, ours, kernel, aqm.misses(ours, kernel))
        for name, ours, kernel in aqm.compare(
            packets, (seed, replications, jobs), chosen, lambda what: typer.echo(f"aqm: {what}", err=True)
        )
    ]
    if as_json:
        made = [
            {"queue": name, "simulator": asdict(ours), "kernel": asdict(kernel), "misses": misses}
            for name, ours, kernel, misses in rows
        ]
        typer.echo(json.dumps({"queues": made}))
        return
    table = commands.table("queue", "", "lost, %", "marked, %", "mean queue", "holds")
    for name, ours, kernel, misses in rows:
        for number, (where, own) in enumerate((("simulator", ours), ("kernel", kernel))):
            cells = (_cell(own.lost, 100), _cell(own.marked, 100), _cell(own.queue, 1))
            verdict = "" if number else "yes" if not misses else f"no: {', '.join(misses)}"
            table.add_row("" if number else name, where, *cells, verdict)
    commands.console().print(table)


def _cell(mean: tuple[float, float], factor: float) -> str:
    return f"{mean[0] * factor:.3f} ± {mean[1] * factor:.3f}"
