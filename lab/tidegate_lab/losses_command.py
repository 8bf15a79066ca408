"""`tidegate lab losses`: what a sender of TCP sends after stated losses, beside the kernel's."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate import TidegateError, commands
from tidegate_lab import record_options

if TYPE_CHECKING:
    from tidegate_lab.testbed.losses import Comparison, Pattern


def command(
    only: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only patterns whose names contain this word.", show_default=False),
    ] = None,
    recorded: record_options.Recorded = False,
    record: record_options.Record = None,
    as_json: commands.Json = False,
) -> None:
    """Compare TCP with the kernel's after stated losses.

    The same segments are dropped on both sides: one, two, or the last ones of a transfer. A pattern
    holds when all segments up to the hundredth from the first one on that is sent again are the
    kernel's, in order, at times within 0.1 ms; within 8 ms where a timer has expired.
    """
    from tidegate_lab.testbed import losses
    from tidegate_lab.uml import build

    patterns = [one for one in losses.PATTERNS if only is None or only in one.name]
    if not patterns:
        raise TidegateError(f"no pattern has `{only}` in its name")
    known = losses.recorded() if recorded or record is not None else {}
    found = {}
    rows = []
    for pattern in patterns:
        typer.echo(f"losses: {pattern.name}", err=True)
        kernel = known[pattern.name] if recorded else losses.in_kernel(build.find(), pattern)
        found[pattern.name] = kernel
        rows.append((pattern, losses.compare(pattern, kernel, losses.in_simulator(pattern))))
    if record is not None:
        record.write_text(losses.record(known | found), encoding="utf-8")
    if as_json:
        document = [{"pattern": pattern.name, **asdict(one)} for pattern, one in rows]
        typer.echo(json.dumps({"patterns": document}))
    else:
        _show(rows)


def _show(rows: list[tuple[Pattern, Comparison]]) -> None:
    table = commands.table("pattern", "segments", "first difference", "apart", "holds")
    for pattern, one in rows:
        difference = "none" if one.difference is None else f"{one.difference + 1}"
        cells = (f"{one.segments}", difference, f"{one.apart * 1e-6:.2f} ms", "yes" if one.holds else "no")
        table.add_row(pattern.name, *cells)
    commands.console().print(table)
    held = sum(one.holds for _, one in rows)
    typer.echo(f"{held} of {len(rows)} patterns hold")
