"""`tidegate lab segments`: records of what the kernel's senders of TCP got and sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate import TidegateError


def command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Gets a file for each connection.", show_default=False),
    ],
    only: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only files whose names contain this word.", show_default=False),
    ] = None,
) -> None:
    """Record the segments of the kernel's senders.

    Each file has the acknowledgements that a sender got and the segments that it sent.

    Ten connections each of Reno, DCTCP and CUBIC, in three of the settings of `tidegate lab tcp`.
    `crates/core/tests/senders` gives such acknowledgements to the sender here and compares what it
    sends.
    """
    from tidegate_lab.testbed import segments
    from tidegate_lab.uml import build

    kernel = build.find()
    names = [
        (setting, f"{setting.name}-bulk{number}")
        for setting in segments.SETTINGS
        for number in range(1, setting.connections + 1)
    ]
    chosen = [(setting, name) for setting, name in names if only is None or only in name]
    if not chosen:
        raise TidegateError(f"no record has `{only}` in its name")
    folder.mkdir(parents=True, exist_ok=True)
    for setting in dict.fromkeys(setting for setting, _ in chosen):
        typer.echo(f"segments: {setting.name}", err=True)
        made = segments.in_kernel(kernel, setting)
        for own, name in chosen:
            if own == setting:
                (folder / f"{name}.txt").write_text(made[name], encoding="utf-8")
