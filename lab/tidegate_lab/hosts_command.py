"""`tidegate lab hosts`: fairness among hosts, beside the kernel's CAKE."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate import TidegateError, commands
from tidegate_lab import record_options

if TYPE_CHECKING:
    from tidegate_lab.testbed.hosts import Case, Compared


def command(
    only: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only cases whose names contain this word.", show_default=False),
    ] = None,
    recorded: record_options.Recorded = False,
    record: record_options.Record = None,
    as_json: commands.Json = False,
) -> None:
    """Compare fairness among hosts with CAKE's.

    The same packets of flows between a few hosts pass a port in both. A case holds when the bytes of
    each flow are its share, and the kernel's, but for a few packets.
    """
    from tidegate_lab.testbed import hosts
    from tidegate_lab.uml import build

    chosen = {name: case for name, case in hosts.CASES.items() if only is None or only in name}
    if not chosen:
        raise TidegateError(f"no case has `{only}` in its name")
    known = hosts.recorded() if recorded or record is not None else {}
    kernel = None if recorded else build.find()

    def carried(name: str, case: Case, tell: Callable[[float], None]) -> Sequence[int]:
        return known[name] if kernel is None else hosts.in_kernel(kernel, case, progress=tell)

    found = {}
    rows = []
    with commands.bar("hosts") as progress:
        for name, there, compared in hosts.compare(carried, chosen, progress):
            found[name] = there
            rows.append((name, hosts.CASES[name], compared))
    if record is not None:
        record.write_text(hosts.record(known | found), encoding="utf-8")
    if as_json:
        document = [
            {"case": name, "isolation": case.isolation, "theory": case.shares(), **asdict(one)}
            for name, case, one in rows
        ]
        typer.echo(json.dumps({"cases": document}))
    else:
        _show(rows)


def _show(rows: Sequence[tuple[str, Case, Compared]]) -> None:
    table = commands.table("case", "flows", "theory, %", "simulator, %", "kernel, %", "apart, %", "holds")
    for name, case, one in rows:
        for number, (group, theory, ours, kernel) in enumerate(one.groups(case)):
            figures = (f"{100 * share:.2f}" for share in (theory, ours, kernel))
            end = ("", "") if number else (f"{100 * one.most(case):.2f}", "yes" if one.holds else "no")
            table.add_row("" if number else name, group, *figures, *end)
    commands.console().print(table)
    held = sum(one.holds for _, _, one in rows)
    typer.echo(f"{held} of {len(rows)} cases hold")
