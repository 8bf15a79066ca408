"""`tidegate plan`: what must be reserved, and on which routes, so that wishes are kept."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import Json
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from tidegate.attack import Attack
    from tidegate.plan import Conflict, Plan
    from tidegate.plan.trial import Trial

Bounds = list[dict[str, Any]]

NOT_ALL = 4
"""Exit code when not all wishes can be kept."""


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Requirements: a scenario file with sections [[wish]].", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write plan.toml, certificate.json and, for one link, gate.toml to this folder.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="CERTIFICATE",
            help="Plan nothing; check that a certificate is of FILE, and that its promises hold.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[
        int, typer.Option("--replications", "-r", metavar="N", min=0, help="Simulations of the plan.")
    ] = 3,
    tries: Annotated[int, typer.Option(metavar="N", min=0, help="Runs of an attack on the plan.")] = 100,
    with_bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", help="Compute the bounds of the plan by tidegate bound as well.", show_default=False
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Plan reservations, routes and buffers for a network.

    All wishes are kept, or a minimal set of wishes is named that cannot be kept together (exit code 4).
    """
    from tidegate.cli.bounds_table import hold
    from tidegate.plan import Plan, check_certificate
    from tidegate.plan import plan as plan_of
    from tidegate.plan.files import write
    from tidegate.plan.trial import attacked, simulated

    if check is not None:
        check_certificate(file, check)
        if as_json:
            typer.echo(json.dumps({"certificate": str(check), "holds": True}, ensure_ascii=False))
        else:
            typer.echo(plain(f"{check}: every promise holds"))
        return
    planned = plan_of(file)
    if not isinstance(planned, Plan):
        _show_conflict(planned, as_json=as_json)
        raise typer.Exit(NOT_ALL)
    scenario = planned.scenario(Path.cwd())
    certified = planned.certified(scenario)
    bounds = planned.bounds(scenario) if with_bounds else None
    written = [] if out is None else write(planned, out)
    trial = simulated(planned, scenario, bounds or certified, replications) if replications else None
    attack = attacked(planned, scenario, bounds or certified, tries) if tries else None
    if as_json:
        _print_json(planned, trial, attack, bounds, written)
    else:
        _print(planned, trial, attack, bounds, written)
    hold(_complaint(trial, attack))


def _complaint(trial: Trial | None, attack: tuple[str, Attack] | None) -> str | None:
    """Return what is wrong with a plan, in words; None if nothing is."""
    if attack is not None and attack[1].complaint is not None:
        return attack[1].complaint
    if trial is None:
        return None
    if trial.complaint is not None:
        return trial.complaint
    missed = [one.wish for one in trial.measured if not one.is_kept]
    if missed:
        return f"the simulation does not keep {', '.join(missed)}: the plan or the scheduler is wrong"
    return f"switches dropped {trial.dropped} packets: the buffers are wrong" if trial.dropped else None


def _print_json(
    planned: Plan,
    trial: Trial | None,
    attack: tuple[str, Attack] | None,
    bounds: Bounds | None,
    written: list[Path],
) -> None:
    document: dict[str, Any] = {"certificate": planned.certificate, "conflict": None}
    document["simulated"] = None
    if trial is not None:
        document["simulated"] = {
            "wishes": [
                {
                    "wish": one.wish,
                    "mean": one.figure.mean,
                    "half_width": one.figure.half_width,
                    "worst": one.worst,
                    "is_kept": one.is_kept,
                }
                for one in trial.measured
            ],
            "dropped": trial.dropped,
        }
    document["attack"] = None
    if attack is not None:
        name, found = attack
        terms = {"flow": found.flow, "delay": found.delay, "bound": found.bound, "tries": found.tries}
        document["attack"] = {"wish": name, **terms}
    document["bounds"] = bounds
    document["written"] = [str(path) for path in written]
    typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))


def _show_conflict(found: Conflict, *, as_json: bool) -> None:
    if as_json:
        conflict = {"demands": found.demands, "is_minimal": found.is_minimal, "why": found.why}
        typer.echo(json.dumps({"certificate": None, "conflict": conflict}, ensure_ascii=False))
        return
    if len(found.demands) == 1:
        typer.echo(plain(f"this cannot be kept: {found.demands[0]}"))
    else:
        typer.echo("these cannot be kept together:")
        for demand in found.demands:
            typer.echo(plain(f"  {demand}"))
    typer.echo(plain(found.why))
    if not found.is_minimal:
        typer.echo("some of them may not be needed for that: the search has ended without an answer")
    elif len(found.demands) > 1:
        typer.echo("without any one of them, there is a plan for all others here")


def _print(
    planned: Plan,
    trial: Trial | None,
    attack: tuple[str, Attack] | None,
    bounds: Bounds | None,
    written: list[Path],
) -> None:
    from tidegate.cli import screen
    from tidegate.show import quantity

    console = screen.console()
    console.print(f"{planned.problem.source.scenario.name} · plan", style="bold")
    console.print()
    notes = [*_wishes(console, planned, trial), *_flows(console, planned, bounds), *_links(console, planned)]
    if attack is not None:
        name, found = attack
        share = "" if found.share is None else f", {found.share:.1%} of its bound"
        notes.append(f"attack on {found.flow} ({name}): {quantity(found.delay, 's')}{share}")
    if planned.problem.background:
        notes.append("background traffic may fill any memory, so that the plan has no buffers")
    for note in notes:
        console.print(f"  {note}", style="dim")
    for path in written:
        console.print(f"  {path}", style="dim")


def _wishes(console: Console, planned: Plan, trial: Trial | None) -> list[str]:
    from tidegate.cli import screen
    from tidegate.show import NOTHING, quantity, with_interval

    table = screen.table("wish", "wished", "certified", "simulated", "worst")
    rows, notes = screen.cut(
        list(zip(planned.problem.wishes, planned.certificate["wishes"], strict=True)), "wish"
    )
    for place, (wish, entry) in enumerate(rows):
        unit = "s" if wish.delay is not None else "bit/s"
        wished = wish.delay if wish.delay is not None else wish.total
        assert wished is not None
        cells = [quantity(float(wished), unit), quantity(float(Fraction(entry["bound"])), unit)]
        if trial is None:
            cells += [NOTHING, NOTHING]
        else:
            measured = trial.measured[place]
            cells += [with_interval(measured.figure, unit), quantity(measured.worst, unit)]
        table.add_row(wish.name, *cells)
    console.print(table)
    console.print()
    return notes


def _flows(console: Console, planned: Plan, bounds: Bounds | None) -> list[str]:
    from tidegate.cli import screen
    from tidegate.show import quantity

    headings = ("reserved", "certified", *(() if bounds is None else ("bound",)), "route")
    table = screen.table("flow", *headings)
    problem = planned.problem
    terms = []
    for flow, entry in zip(problem.flows, planned.certificate["flows"], strict=True):
        delays = [float(Fraction(entry["bound"]))] + ([] if bounds is None else [bounds[flow.place]["delay"]])
        terms.append((flow.group, int(entry["reserve"]), delays, entry["route"], entry["name"]))
    alike = [list(some) for _, some in groupby(terms, lambda one: one[:4])]
    rows, notes = screen.cut(alike, "flow")
    for (_, reserve, delays, route, first), *others in rows:
        name = first + (f" to {others[-1][4]}" if others else "")
        cells = [quantity(float(reserve), "bit/s"), *(quantity(delay, "s") for delay in delays)]
        table.add_row(name, *cells, " ".join(route))
    console.print(table)
    console.print()
    return notes


def _links(console: Console, planned: Plan) -> list[str]:
    from tidegate.cli import screen
    from tidegate.show import NOTHING, quantity

    reserved: dict[str, int] = {}
    for entry in planned.certificate["flows"]:
        for link in entry["route"]:
            reserved[link] = reserved.get(link, 0) + int(entry["reserve"])
    table = screen.table("link", "reserved", "of it", "buffer of the switch")
    links = [link for link in planned.problem.links if link.name in reserved]
    rows, notes = screen.cut(links, "link")
    for link in rows:
        buffer = planned.certificate["buffers"].get(planned.problem.nodes[link.start])
        table.add_row(
            link.name,
            quantity(float(reserved[link.name]), "bit/s"),
            quantity(reserved[link.name] / link.hop.rate, "share"),
            NOTHING if buffer is None else quantity(float(buffer), "B"),
        )
    console.print(table)
    console.print()
    return notes
