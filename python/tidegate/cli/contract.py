"""`tidegate contract`: which contracts fit a trace, a capture or a video."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tidegate.cli.options import Json, no_stdin
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.contracts import ContractCurve

MAX_FLOWS = 10
"""Flows of a capture that are shown: the largest."""


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A pcap or pcapng capture, a list of times and sizes, a CSV file with columns time, size "
            "and flow, or the frame sizes of a video; also with gzip.",
            show_default=False,
        ),
    ],
    flow: Annotated[
        str | None,
        typer.Option(
            metavar="FLOW",
            help="Flows to measure, by name or by a pattern, for example 10.0.0.1:80>*/tcp; by "
            "default all together.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Rate to reserve or to smooth to, for example 2mbit; by default that with the least "
            "rate times W.",
            show_default=False,
        ),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(metavar="N", help="Frames per second of a video.", show_default=False)
    ] = None,
    content: Annotated[
        Literal["packets", "frames"] | None,
        typer.Option(
            "--format",
            help="Content of the file; by default detected from its first line.",
            show_default=False,
        ),
    ] = None,
    points: Annotated[
        int, typer.Option(metavar="N", help="Number of rates from the mean to the peak rate.")
    ] = 30,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw W and the delays over the rate.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how bursty a flow is, and the delay of smoothing it.

    Shows how far a flow is ahead of any rate (its workahead W), and its delay when it is smoothed
    to that rate.
    """
    from tidegate.cli.progress import bar
    from tidegate.contracts import contract

    no_stdin(file)
    with bar(file.name) as progress:
        found = contract(
            file, flow=flow, content=content, fps=fps, rate=rate, points=points, progress=progress
        )
    figure = None
    if plot is not None:
        from tidegate.plots import contracts, save

        figure = save(contracts.curve(found), plot)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    _print(found)
    if figure is not None:
        typer.echo(plain(f"figure in {figure}"))


def _print(found: ContractCurve) -> None:
    from tidegate.cli import screen
    from tidegate.show import plural, quantity

    console = screen.console()
    noun = "frame" if found.content == "frames" else "packet"
    console.print(
        f"{found.file.name}{'' if found.flow is None else f' · {found.flow}'}: "
        f"{plural(found.packets, noun)}, {quantity(found.bytes, 'B')} in {quantity(found.duration, 's')} · "
        f"mean {quantity(found.mean_rate, 'bit/s')} · peak {quantity(found.peak_rate, 'bit/s')}",
        style="bold",
    )
    console.print()
    if found.flow is None and len(found.flows) > 1:
        _print_flows(found, console)
    table = screen.table("rate r", "r / mean", "W", "max delay", "p99 delay", "")
    marked = found.fitting.reserve
    nearest = min(found.curve, key=lambda point: abs(point.rate - marked)).rate
    for point in sorted([*found.curve, *([found.asked] if found.asked else [])], key=lambda one: one.rate):
        chosen = point is found.asked or (found.asked is None and point.rate == nearest)
        table.add_row(
            quantity(point.rate, "bit/s"),
            f"{point.rate / found.mean_rate:.3f}",
            quantity(point.workahead, "B"),
            quantity(point.delay_max, "s"),
            quantity(point.delay_p99, "s"),
            "<" if chosen else "",
        )
    console.print(table)
    console.print()
    why = "at the given rate" if found.asked else "where r times W is least (<)"
    notes = [f"a contract to which all of it conforms, {why}:", *found.notes]
    for note in found.notes:
        console.print(f"  {note}", style="dim")
    console.print(f"  {notes[0]}", style="dim")
    console.print()
    console.print(found.fitting.toml)


def _print_flows(found: ContractCurve, console: Any) -> None:
    from tidegate.cli import screen
    from tidegate.show import NOTHING, plural, quantity

    table = screen.table("flow", "packets", "mean", "peak", "W at mean")
    for one in found.flows[:MAX_FLOWS]:
        table.add_row(
            one.flow,
            quantity(one.packets, "count"),
            quantity(one.mean_rate, "bit/s"),
            quantity(one.peak_rate, "bit/s"),
            NOTHING if one.workahead is None else quantity(one.workahead, "B"),
        )
    console.print(table)
    left_out = len(found.flows) - MAX_FLOWS
    more = f"; {plural(left_out, 'smaller flow')} not shown" if left_out > 0 else ""
    console.print(f"  all flows together; --flow selects some{more}", style="dim")
    console.print()
