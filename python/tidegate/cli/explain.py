"""`tidegate explain`: why a flow's slowest packets were late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

    from tidegate.explain import Explanation, Hop, Packet


def command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Results, from --out of tidegate run.", show_default=False)
    ],
    flow: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Flow, or group: the member with the largest delay.", show_default=False
        ),
    ],
    packets: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of packets, the slowest first.")
    ] = 3,
    as_json: Json = False,
) -> None:
    """Show what a flow's slowest packets waited behind, hop by hop."""
    from tidegate.explain import explain

    explanation = explain(directory, flow, packets=packets)
    if as_json:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        _print(explanation, flow)


def _print(explanation: Explanation, asked: str) -> None:
    from tidegate.cli import screen
    from tidegate.show import quantity

    console = screen.console()
    reserve = explanation.reserve
    contract = "no reservation of its own" if reserve is None else f"reserves {quantity(reserve, 'bit/s')}"
    console.print(
        f"{explanation.flow} · {contract} · replication {explanation.replication}, seed {explanation.seed}",
        style="bold",
    )
    if explanation.flow != asked:
        console.print(f"  of the flows of {asked}, the one with the largest delay", style="dim")
    if not explanation.same_outcome:
        console.print(f"  {_why_it_differs(explanation)}", style="bold")
    if explanation.destinations > 1:
        console.print(f"  to {explanation.destinations} destinations: the slowest of all copies", style="dim")
    if not explanation.packets:
        console.print("  none of its packets arrived: there is no delay to explain")
    for packet in explanation.packets:
        console.print()
        _print_packet(packet, explanation.destinations > 1, console)


def _why_it_differs(explanation: Explanation) -> str:
    from tidegate import __version__

    if explanation.changed_files:
        files = " and ".join(f"`{name}`" for name in explanation.changed_files)
        return f"the outcome differs from these results: {files} changed after they were made"
    if explanation.version != __version__:
        return f"the outcome of tidegate {__version__} differs from these results of {explanation.version}"
    return "the outcome differs from these results, which the same version made of the same files"


def _print_packet(packet: Packet, several: bool, console: Console) -> None:
    from tidegate.show import quantity

    to = f" to {packet.to}" if several else ""
    console.print(
        f"packet {packet.sequence}{to}, sent at {packet.sent:.6f} s: {quantity(packet.delay, 's')}, "
        f"{quantity(packet.waited, 's')} of it in queues",
        style="bold",
    )
    console.print(f"  {packet.verdict}")
    parts = [f"{cause.kind} {quantity(cause.share, 'share')}" for cause in packet.causes]
    console.print(f"  its delay: {', '.join(parts)}", style="dim")
    for hop in packet.hops:
        _print_hop(hop, console)


def _print_hop(hop: Hop, console: Console) -> None:
    from tidegate.cli import screen
    from tidegate.explain.journey import WAITING
    from tidegate.show import plural, quantity

    met = f"met {plural(hop.queue, 'packet')}" if hop.queue else "met no packet"
    if hop.queue is None:
        met = f"let go by its shaper after {quantity(hop.held, 's')}"
    console.print(f"  {hop.link}: {met}, waited {quantity(hop.wait, 's')}{_stamp(hop)}")
    kept = [cause for cause in hop.causes if cause.kind in WAITING]
    if not hop.before and not kept:
        return
    table = screen.table("    served before it", "packets", "bytes", "share of its wait")
    for one in hop.before:
        table.add_row(f"    {one.flow}", str(one.packets), str(one.bytes), f"{one.share:.1%}")
    others = hop.rest
    for cause in kept:
        share = cause.seconds / hop.wait
        others -= share
        table.add_row(f"    {cause.kind}", "", "", f"{share:.1%}")
    if others >= 0.0005:
        table.add_row("    other flows", "", "", f"{others:.1%}")
    console.print(table)


def _stamp(hop: Hop) -> str:
    from tidegate.show import quantity

    if hop.stamp == "datagram":
        return ", as a datagram: behind everything that is reserved"
    if hop.lead is not None:
        return f", its stamp {quantity(hop.lead, 's')} ahead of real time"
    return ", in order of arrival" if hop.stamp == "order" else ""
