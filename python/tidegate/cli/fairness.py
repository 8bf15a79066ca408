"""`tidegate fairness`: how close the rates of a run come to the max-min fair ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import Json, listed
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.fairness import Fairness
    from tidegate.summary import Estimate, Values

MAX_LEFT_OUT = 5
"""Most flows without a part of the optimum that are named for each reason; `--json` names all."""


def command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Results, from --out of tidegate run.", show_default=False)
    ],
    aim: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the links of switches to divide, for example 0.9; by default the target "
            "utilisation of ports that control rates, and all of the others.",
            show_default=False,
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Start of the time span. Only flows that send throughout it count; by default it begins "
            "when the last of those has started that go on to the end, after the warm-up.",
            show_default=False,
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="End of the time span; by default the end of the run.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Groups whose rates are compared; by default those of flows that ask for as much as they "
            "get: greedy sources, and connections with endless data.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png", help="Draw the rates and their distance over time.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the rates of results with the max-min fair ones.

    Shows how long the rates took to respond and to converge, and how far they are from the fair
    rates at the end.

    For example: tidegate fairness results --aim 0.9 --from 100ms
    """
    from tidegate._tidegate import parse_time
    from tidegate.fairness import measure_fairness
    from tidegate.results import Results

    results = Results.load(directory)
    names = None if groups is None else listed("--groups", groups)
    first, last = (None if at is None else parse_time(at) for at in (begin, end))
    found = measure_fairness(results, aim=aim, groups=names, span=(first, last))
    figure = None
    if out is not None:
        from tidegate.plots import fairness, save

        figure = save(fairness.over_time(found), out)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    _print(found)
    if figure is not None:
        typer.echo(plain(f"figure in {figure}"))


def _print(found: Fairness) -> None:
    from tidegate.cli import screen
    from tidegate.show import quantity, with_interval

    console = screen.console()
    results = found.results
    begin, end = (quantity(at, "s") for at in found.optimum.span)
    console.print(
        f"{results.scenario_name} · {screen.seeds(results.seeds)} · {screen.runs(results)} · "
        f"from {begin} to {end}",
        style="bold",
    )
    console.print()
    table = screen.table("rate of", "max-min", "mean in last quarter", "off by", "limited by")
    rows, notes = screen.cut(found.rows, "rate")
    for row in rows:
        table.add_row(
            row.subject,
            quantity(row.optimum, "bit/s"),
            with_interval(row.mean, "bit/s", "\n"),
            _off(row.off),
            row.bottleneck or "its own rate",
        )
    console.print(table)
    console.print()
    if found.members:
        several = screen.table("flows of", "flows", "max-min of one", "least", "greatest", "Jain")
        members, more = screen.cut(found.members, "group")
        notes += more
        for one in members:
            several.add_row(
                one.group,
                str(one.flows),
                quantity(one.optimum, "bit/s"),
                *(_off(figure) for figure in (one.least, one.greatest)),
                with_interval(one.jain, "count", "\n"),
            )
        console.print(several)
        console.print()
    times = screen.table("measure", "mean", "runs")
    times.add_row("response time", *_cells(found.response, "s"))
    times.add_row("convergence time", *_cells(found.convergence, "s"))
    times.add_row("distance in last quarter", *_cells(found.final, "share"))
    console.print(times)
    console.print()
    if results.has_intervals:
        notes.append("± is half the 95 % interval of the mean over replications")
    for note in [*notes, *_meanings(found), *_left_out(found), *results.notes]:
        console.print(f"  {note}", style="dim")


def _off(figure: Estimate) -> str:
    """Return an excess over the optimum with its sign."""
    from tidegate.show import with_interval

    sign = "+" if (figure.mean or 0.0) > 0 else ""
    return f"{sign}{with_interval(figure, 'share', chr(10))}"


def _cells(values: Values, unit: str) -> tuple[str, str]:
    """Return the mean over the replications in which something was measured, and how many these are."""
    from tidegate.show import NOTHING, with_interval
    from tidegate.summary import estimate

    known = sum(value is not None for value in values)
    shown = with_interval(estimate(values), unit) if known else "not reached" if unit == "s" else NOTHING
    return shown, f"{known} of {len(values)}"


def _meanings(found: Fairness) -> list[str]:
    from tidegate._tidegate import USUAL_NEARNESS
    from tidegate.show import quantity

    window, tolerance, packets = USUAL_NEARNESS
    near = quantity(tolerance, "share")
    queue = f", with fewer than {packets:g} packets queued at {' and '.join(found.queues)}"
    metrics = {row.metric for row in found.rows}
    return [
        f"rates: {' and '.join(_name(metric) for metric in sorted(metrics))}, sampled every "
        f"{quantity(found.spacing, 's')}",
        f"response: every rate has come within {near} of its max-min rate, or has passed it",
        f"convergence: averages over {quantity(max(window, found.spacing), 's')} stay within "
        f"{near}{queue if found.queues else ''}",
        "distance: of the rate that is farthest from its max-min rate, as a share of that",
        *(
            ["flows of a group: by the rates at which each received while it sent and was measured"]
            if found.members
            else []
        ),
    ]


def _name(metric: str) -> str:
    return "ACR" if metric == "acr" else metric


def _left_out(found: Fairness) -> list[str]:
    """Say which flows have no part of the optimum, and why."""
    by_reason: dict[str, list[str]] = {}
    for flow, why in found.optimum.left_out.items():
        by_reason.setdefault(why, []).append(flow)
    return [f"without a part of the optimum: {_some(flows)} ({why})" for why, flows in by_reason.items()]


def _some(flows: list[Any]) -> str:
    more = len(flows) - MAX_LEFT_OUT
    return f"{', '.join(flows[:MAX_LEFT_OUT])}{f' and {more} more' if more > 0 else ''}"
