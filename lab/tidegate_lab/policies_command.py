"""`tidegate lab policies`: policies of the kernel and of the simulator on the same packets."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidegate import commands


def command(
    packets: Annotated[int, typer.Option(metavar="N", min=100, help="Number of packets.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the packets and of the kernel.")] = 1,
    as_json: commands.Json = False,
) -> None:
    """Compare policies with the kernel's, packet by packet.

    The same packets go through a port of the kernel in virtual time and through one of the simulator,
    which is asked for a packet whenever the kernel's port took one. FIFO, strict priority, DRR, CoDel
    and FQ-CoDel then send, mark and drop the same packets.
    """
    from tidegate_lab.testbed import lockstep
    from tidegate_lab.uml import build

    kernel = build.find()
    with commands.bar("policies") as progress:
        rows = list(lockstep.compare(kernel, packets, seed, progress))
    if as_json:
        typer.echo(json.dumps({"policies": rows}))
        return
    table = commands.table("policy", "packets", "dropped", "marked", "differing")
    for row in rows:
        both = (f"{row[what][0]:,} {row[what][1]:,}" for what in ("dropped", "marked"))
        table.add_row(row["policy"], f"{row['packets']:,}", *both, f"{row['differing']:,}")
    commands.console().print(table)
