"""`tidegate replay`: what a link would do to the traffic of a capture."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import Json, no_stdin, tell
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.replay import Plan, Replay

MAX_PROTECTED = 15
MAX_OTHERS = 5
"""Flows of a capture that are shown: those that are protected, and the largest of the others."""


def command(
    capture: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTURE",
            help="A pcap or pcapng capture, a list of times and sizes, or a CSV file with columns time, size "
            "and flow; also with gzip.",
            show_default=False,
        ),
    ],
    rate: Annotated[
        str, typer.Option(metavar="RATE", help="Rate of the link, for example 10mbit.", show_default=False)
    ],
    protect: Annotated[
        str | None,
        typer.Option(
            metavar="FLOW,FLOW",
            help="Flows to protect, by name or 5-tuple; by default those that look like calls, videos, "
            "shells and games.",
            show_default=False,
        ),
    ] = None,
    inside: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX,PREFIX",
            help="Addresses on the inside of the link, for example 192.168.0.0/16; by default they are "
            "detected.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(
            metavar="up|down",
            help="Direction that crosses the link: packets from the inside, or to it; by default the one "
            "with more bytes.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Delay that 99 % of each protected flow's packets must not exceed; by default 20 ms for "
            "calls and games, 100 ms for videos and shells.",
            show_default=False,
        ),
    ] = None,
    scheduler: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME",
            help="Schedulers to compare: fifo,virtual-clock by default.",
            show_default=False,
        ),
    ] = "fifo,virtual-clock",
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="LIMIT",
            help="Limit of the queue: 100p, 64kB, a time (of sending at the link's rate), or unlimited; "
            "by default 100ms, or up to twice that where guarantees need it.",
            show_default=False,
        ),
    ] = None,
    speed: Annotated[float, typer.Option(metavar="X", help="Speed of playback.")] = 1.0,
    repeat: Annotated[
        int, typer.Option(metavar="N", help="Number of times that the capture is played, one after another.")
    ] = 1,
    overhead: Annotated[
        int,
        typer.Option(
            metavar="BYTES",
            help="Bytes that the link adds to each Ethernet frame; below zero where it carries less of it.",
            min=-1024,
            max=1024,
        ),
    ] = 0,
    mpu: Annotated[
        int,
        typer.Option(
            metavar="BYTES", help="Bytes that a frame takes at least, its overhead included.", min=0, max=1024
        ),
    ] = 0,
    atm: Annotated[
        bool, typer.Option("--atm", help="The link carries ATM cells: 53 bytes for every 48.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the results of every scheduler to DIR/NAME, and the files.",
            show_default=False,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write the replay to this scenario file, and the gate file to FILE-gate.toml; by default "
            "with the name of CAPTURE, here or in --out.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that have been edited since a replay wrote them.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Replay a capture across a link, and report what its flows need.

    Finds the capture's calls, videos, shells and games, plays it with and without reservations for
    them, and writes the scenario and the gate file.
    """
    from tidegate import outdir
    from tidegate.cli.progress import bar
    from tidegate.replay import files, replay
    from tidegate.replay.phrases import sentences
    from tidegate.scenario_warnings import of_several

    no_stdin(capture)
    schedulers = _names(scheduler)
    places = {} if out is None else {name: out / re.sub(r"[^\w.-]+", "-", name) for name in schedulers}
    if out is not None:
        files.refuse_other_results(out, {place.name for place in places.values()}, capture)
    for place in places.values():
        outdir.check_writable(place)
    # A script asks for the files; a person gets them.
    if scenario is None and not (as_json and out is None):
        scenario = (out or Path()) / f"{files.stem(capture)}.toml"
    gate = None if scenario is None else scenario.with_name(f"{scenario.stem}-gate.toml")
    for path in (scenario, gate):
        if path is not None:
            files.refuse_capture(path, capture)
            if not force:
                files.refuse_changed(path)
    with bar(capture.name) as progress:
        played = replay(
            capture,
            rate=rate,
            schedulers=schedulers,
            target=target,
            buffer=buffer,
            protect=None if protect is None else _names(protect),
            inside=None if inside is None else _names(inside),
            direction=direction,
            speed=speed,
            repeat=repeat,
            overhead=overhead,
            mpu=mpu,
            atm=atm,
            progress=progress,
        )
    warnings = of_several({name: one.warnings for name, one in played.results.items()})
    tell(warnings)
    if as_json:
        document = played.to_dict() | {"notes": sentences(played), "warnings": warnings}
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        _print(played)
    written: list[tuple[str, Path | None]] = []
    for name, results in played.results.items():
        # Files in the way were checked before.
        if places:
            command = shlex.join(["tidegate", *sys.argv[1:]])
            written.append(("results", outdir.write(results, places[name], command, force=True)))
    if scenario is not None and gate is not None:
        written.append(("scenario", played.write_scenario(scenario, force=force)))
        written.append(("gate's file", played.write_gate(gate, force=force)))
    if not as_json:
        for what, path in written:
            if path is not None:
                typer.echo(plain(f"{what} in {path}"))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _print(played: Replay) -> None:
    from tidegate._tidegate import show_rate
    from tidegate.cli import screen
    from tidegate.replay.phrases import reason, sentences, size
    from tidegate.show import NOTHING, plural, quantity

    plan = played.plan
    console = screen.console()
    mean = "" if plan.mean_rate is None else f", {quantity(plan.mean_rate, 'bit/s')}"
    way = "" if plan.direction is None else f" {plan.direction}"
    console.print(
        f"{plan.file.name}: {plural(len(plan.flows), 'flow')}, {plural(plan.packets, 'packet')}, "
        f"{size(plan.bytes)} in {quantity(plan.span, 's')}{mean}{way} · link of {show_rate(plan.rate)}",
        style="bold",
    )
    console.print()
    if plan.protected:
        table = screen.table(
            "protected", "mean r\npeak", "burst W", "target", "reserve\nwhy", "promise\nfor 99 %"
        )
        for flow in plan.protected[:MAX_PROTECTED]:
            table.add_row(
                f"{flow.name}\n{flow.flow}\n{flow.why}",
                f"{quantity(flow.mean_rate, 'bit/s')}\n{quantity(flow.peak_rate, 'bit/s')}",
                NOTHING if flow.burst is None else size(flow.burst),
                quantity(flow.target, "s"),
                f"{quantity(flow.reserve, 'bit/s')}\n{reason(flow)}",
                quantity(flow.promised_p99, "s"),
            )
        console.print(table)
        console.print()
    if played.flows:
        _print_outcomes(played, _shown(plan), console)
    for sentence in sentences(played):
        console.print(f"  {sentence}", style="dim")
    console.print()
    for sentence in played.verdict.sentences:
        console.print(sentence, style="bold")
    for broken in played.broken():
        console.print(f"guarantee broken: {broken.name}; this is a bug in tidegate", style="bold")
    console.print()


def _shown(plan: Plan) -> list[int]:
    """Choose the flows to show, those with most bytes first."""
    protected = [at for at, flow in enumerate(plan.flows) if flow.target is not None]
    others = [at for at, flow in enumerate(plan.flows) if flow.target is None]
    return sorted(protected[:MAX_PROTECTED] + others[:MAX_OTHERS])


def _print_outcomes(played: Replay, shown: list[int], console: Any) -> None:
    from tidegate.cli import screen
    from tidegate.replay import PROMISING
    from tidegate.show import plural, quantity

    table = screen.table(
        "flow", "scheduler", "throughput", "lost", "mean delay", "p99 delay", "max delay", "99 %"
    )
    table.columns[1].justify = "left"
    names = list(played.flows)
    for at in shown:
        for name in names:
            outcome = played.flows[name][at]
            # A promise is stricter than the target; it is made for one scheduler.
            kept = outcome.kept if name == PROMISING and outcome.kept is not None else outcome.on_target
            table.add_row(
                played.plan.flows[at].name if name == names[0] else "",
                name,
                quantity(outcome.throughput, "bit/s"),
                quantity(outcome.loss, "share"),
                quantity(outcome.delay_mean, "s"),
                quantity(outcome.delay_p99, "s"),
                quantity(outcome.delay_max, "s"),
                {None: "", True: "in time", False: "late"}[kept],
            )
    console.print(table)
    if left_out := len(played.plan.flows) - len(shown):
        console.print(f"  {plural(left_out, 'more flow')} not shown; --json holds all", style="dim")
    console.print()
