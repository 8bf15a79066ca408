"""`tidegate lab tcp`: the simulator's TCP beside the kernel's."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate import TidegateError, commands
from tidegate_lab import record_options

if TYPE_CHECKING:
    from tidegate_lab.testbed.tcp_settings import Figures, Setting

Row = tuple["Setting", "Figures", "Figures", list[str]]
"""A setting, the figures of the simulator and of the kernel, and those that are too far apart."""

COLUMNS = (
    ("goodput", "Mbit/s", 1e-6, ".2f"),
    ("drops", "", 1.0, ".0f"),
    ("queueing", "ms", 1e3, ".2f"),
    ("timeouts", "", 1.0, ".0f"),
)
"""Figures, their units, the factor to the unit and the format."""


def command(
    only: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only settings whose names contain this word.", show_default=False),
    ] = None,
    recorded: record_options.Recorded = False,
    record: record_options.Record = None,
    as_json: commands.Json = False,
) -> None:
    """Compare 24 settings of TCP with the kernel's.

    A setting holds when goodput is within 3 % of the kernel's, drops within 15 % or 10 packets, mean
    queueing within 10 % or 1 ms, and timeouts within 2.
    """
    from tidegate_lab.testbed import tcp_settings

    settings = [one for one in tcp_settings.SETTINGS if only is None or only in one.name]
    if not settings:
        raise TidegateError(f"no setting has `{only}` in its name")
    rows = [_row(setting, recorded=recorded) for setting in settings]
    if record is not None:
        found = {setting.name: kernel for setting, _, kernel, _ in rows}
        record.write_text(tcp_settings.record(tcp_settings.recorded() | found), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps({"settings": [_document(row) for row in rows]}, ensure_ascii=False))
    else:
        _show(rows)


def _row(setting: Setting, *, recorded: bool) -> Row:
    from tidegate_lab.testbed import tcp_settings

    def tell(done: int) -> None:
        typer.echo(f"tcp: {setting.name}, run {done} of {setting.runs}", err=True)

    typer.echo(f"tcp: {setting.name}", err=True)
    ours = tcp_settings.in_simulator(setting)
    kernel = tcp_settings.recorded()[setting.name] if recorded else tcp_settings.in_kernel(setting, tell)
    return setting, ours, kernel, tcp_settings.misses(ours, kernel)


def _document(row: Row) -> dict[str, object]:
    setting, ours, kernel, misses = row
    return {"setting": setting.name, "simulator": asdict(ours), "kernel": asdict(kernel), "misses": misses}


def _show(rows: list[Row]) -> None:
    table = commands.table("setting", *(f"{name} {unit}".strip() for name, unit, _, _ in COLUMNS), "holds")
    for setting, ours, kernel, misses in rows:
        pairs = [
            " / ".join(f"{asdict(one)[name] * factor:{form}}" for one in (ours, kernel))
            for name, _, factor, form in COLUMNS
        ]
        table.add_row(setting.name, *pairs, "yes" if not misses else f"no: {', '.join(misses)}")
    commands.console().print(table)
    held = sum(not misses for *_, misses in rows)
    typer.echo(f"simulator / kernel; {held} of {len(rows)} settings hold")
