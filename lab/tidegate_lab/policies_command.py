"""`tidegate lab policies`: policies of the kernel and of the simulator on the same packets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tidegate import TidegateError, commands


def command(
    packets: Annotated[int, typer.Option(metavar="N", min=100, help="Number of packets.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the packets and of the kernel.")] = 1,
    only: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only policies whose names contain this word.", show_default=False),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write what the kernel did to a file for each policy.", show_default=False
        ),
    ] = None,
    as_json: commands.Json = False,
) -> None:
    """Compare policies with the kernel's, packet by packet.

    The same packets go through a port of the kernel in virtual time and through one of the simulator,
    which is asked for a packet whenever the kernel's port took one. Both should send, mark and drop
    the same packets, at times that are at most 1 us apart.
    """
    from tidegate_lab.testbed import lockstep
    from tidegate_lab.uml import build

    chosen = {name: port for name, port in lockstep.POLICIES.items() if only is None or only in name}
    if not chosen:
        raise TidegateError(f"no policy has `{only}` in its name")
    kernel = build.find()
    if record is not None:
        record.mkdir(parents=True, exist_ok=True)
    rows = []
    with commands.bar("policies") as progress:
        for name, texts, row in lockstep.compare(kernel, packets, seed, chosen, progress):
            rows.append(row)
            if record is not None:
                for number, text in enumerate(texts, start=1):
                    file = f"{name}.txt" if len(texts) == 1 else f"{name}-{number}.txt"
                    (record / file).write_text(text, encoding="utf-8")
    if as_json:
        typer.echo(json.dumps({"policies": rows}))
        return
    table = commands.table("policy", "packets", "dropped", "marked", "differing", "apart")
    for row in rows:
        both = (f"{row[what][0]:,} {row[what][1]:,}" for what in ("dropped", "marked"))
        apart = f"{row['apart'] * 1e6:,.2f} us"
        table.add_row(row["policy"], f"{row['packets']:,}", *both, f"{row['differing']:,}", apart)
    commands.console().print(table)
