"""`tidegate lab NAME`: the gate on Linux, measured beside others or against its bound."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate import commands

if TYPE_CHECKING:
    from tidegate_lab.measures import Outcome

BROKEN = 3
"""Exit code when a bar does not hold."""

TERMINATED = 128 + signal.SIGTERM

VERDICTS = {True: "yes", None: "inconclusive", False: "no"}


def command(
    ctx: typer.Context,
    seconds: Annotated[
        float,
        typer.Option("--for", metavar="SECONDS", help="Measured time of each row.", min=1.0, max=3600.0),
    ] = 20.0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the figures and their plot to this directory.", show_default=False
        ),
    ] = None,
    as_json: commands.Json = False,
) -> None:
    """Measure the gate in network namespaces, or in a kernel in virtual time.

    In namespaces it needs root: they are created for the measurement and removed afterwards, and a
    row is repeated, at most twice, when the gate itself was too late for a conclusion. In a kernel
    in virtual time (promise, reloads, plan, circuit, allocated-capacity) it needs none. Exits with 3
    when a bar does not hold.
    """
    from tidegate_lab import experiments

    name = str(ctx.info_name)
    if out is not None:
        # Before the measurement, so that an error does not come after a long wait.
        out.mkdir(parents=True, exist_ok=True)
    # Its namespaces are removed then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    outcome = experiments.carry_out(name, seconds, lambda what: typer.echo(f"{name}: {what}", err=True))
    document = json.dumps(outcome.document(), ensure_ascii=False)
    if out is not None:
        _write(outcome, document, out)
    if as_json:
        typer.echo(document)
    else:
        _print(outcome)
    if any(bar.holds is False for bar in outcome.bars):
        raise typer.Exit(BROKEN)


def _write(outcome: Outcome, document: str, out: Path) -> None:
    from tidegate.plots import save
    from tidegate_lab.plots import distributions

    (out / f"{outcome.name}.json").write_text(document + "\n", encoding="utf-8")
    if outcome.samples:
        save(distributions(outcome), out / f"{outcome.name}.png")


def _print(outcome: Outcome) -> None:
    from tidegate.show import quantity

    console = commands.console()
    console.print(f"{outcome.name}: {outcome.about}", style="bold")
    console.print()
    # An experiment does not measure every column.
    measured = {name for row in outcome.rows for name in row.figures}
    columns = [column for column in outcome.columns if column.name in measured]
    table = commands.table("", *(column.heading for column in columns))
    for row in outcome.rows:
        cells = (quantity(row.figures.get(column.name), column.unit) for column in columns)
        table.add_row(row.name, *cells)
    console.print(table)
    console.print()
    bars = commands.table("asked", "measured", "bar", "holds")
    for bar in outcome.bars:
        words = "at least" if bar.at_least else "at most"
        bars.add_row(
            bar.name,
            quantity(bar.measured, bar.unit),
            f"{words} {quantity(bar.limit, bar.unit)}",
            VERDICTS[bar.holds],
        )
    console.print(bars)
