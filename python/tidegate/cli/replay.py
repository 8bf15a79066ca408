"""`tidegate replay`: what a link would do to the traffic of a capture."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import Json

if TYPE_CHECKING:
    from tidegate.replay import CapturedFlow, Plan, Replay

MOST_FLOWS = 20
"""Flows of a capture that are shown."""


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
        str, typer.Option(metavar="RATE", help="Rate of the link, as 10mbit.", show_default=False)
    ],
    scheduler: Annotated[
        str, typer.Option(metavar="NAME,NAME", help="Schedulers to play it under.")
    ] = "fifo,virtual-clock",
    target: Annotated[
        str, typer.Option(metavar="TIME", help="Delay that 99 % of each reserved flow's packets should keep.")
    ] = "20ms",
    buffer: Annotated[
        str,
        typer.Option(
            metavar="LIMIT",
            help="Limit of the queue: 100p, 64kB, a time for what the link sends in it, or unlimited.",
        ),
    ] = "100ms",
    speed: Annotated[float, typer.Option(metavar="X", help="Speed of playback.")] = 1.0,
    repeat: Annotated[int, typer.Option(metavar="N", help="Times that it is played, end to end.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the results of every scheduler to DIR/NAME, and the scenario.",
            show_default=False,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write the replay as this scenario file; by default to the name of CAPTURE, here or "
            "in --out.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play a capture across one link, suggest reservations, and check what they promise."""
    from tidegate import outdir
    from tidegate.replay import replay

    schedulers = [name.strip() for name in scheduler.split(",") if name.strip()]
    places = {} if out is None else {name: out / re.sub(r"[^\w.-]+", "-", name) for name in schedulers}
    for place in places.values():
        outdir.check_writable(place)
    played = replay(
        capture,
        rate=rate,
        schedulers=schedulers,
        target=target,
        buffer=buffer,
        speed=speed,
        repeat=repeat,
    )
    for name, results in played.results.items():
        if places:
            results.save(places[name])
    stem = f"{capture.name.split('.')[0] or 'replay'}.toml"
    if scenario is None and out is not None and played.results:
        scenario = out / stem
    # A script asks for the file; a person gets it, where nothing of theirs is in the way.
    asked = scenario is not None
    if not asked and played.results and not as_json:
        scenario = Path(stem)
    try:
        if scenario is not None:
            played.write_scenario(scenario)
    except (OSError, ValueError) as error:
        if asked:
            raise
        scenario, in_the_way = None, error
    if as_json:
        document = played.to_dict() | {"notes": _sentences(played)}
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
        return
    _print(played)
    if out is not None and played.results:
        typer.echo(f"results in {', '.join(str(place) for place in places.values())}")
    if scenario is not None:
        typer.echo(f"scenario in {scenario}")
    elif played.results:
        typer.echo(f"no scenario file: {in_the_way}; say where with --scenario FILE.toml")


def _print(played: Replay) -> None:
    from tidegate._tidegate import show_rate
    from tidegate.cli import screen
    from tidegate.show import NOTHING, plural, quantity

    plan = played.plan
    console = screen.console()
    mean = "" if plan.mean_rate is None else f", {quantity(plan.mean_rate, 'bit/s')}"
    console.print(
        f"{plan.file.name}: {plural(len(plan.flows), 'flow')}, {plural(plan.packets, 'packet')}, "
        f"{_size(plan.bytes)} in {quantity(plan.lasts, 's')}{mean} · link of {show_rate(plan.rate)}",
        style="bold",
    )
    console.print()
    headings = ("packets\nbytes", "mean r\npeak", "burst W", "reserve\nwhy", "promise\nfor 99 %")
    table = screen.table("flow", *headings)
    shown = _shown(plan)
    for flow in (plan.flows[at] for at in shown):
        table.add_row(
            f"{flow.name}\n{flow.flow}",
            f"{flow.packets}\n{_size(flow.bytes)}",
            f"{quantity(flow.mean_rate, 'bit/s')}\n{quantity(flow.peak_rate, 'bit/s')}",
            NOTHING if flow.burst is None else _size(flow.burst),
            f"{quantity(flow.reserve, 'bit/s')}\n{_why(flow)}",
            quantity(flow.promised_p99, "s"),
        )
    console.print(table)
    console.print()
    if played.flows:
        _print_outcomes(played, shown, console)
    for sentence in _sentences(played):
        console.print(f"  {sentence}", style="dim")
    console.print()
    for sentence in _promises(played):
        console.print(sentence, style="bold")


def _shown(plan: Plan) -> list[int]:
    """Choose the flows to show: those with reservations, then the largest; those with most bytes first."""
    order = sorted(range(len(plan.flows)), key=lambda at: plan.flows[at].reserve is None)
    return sorted(order[:MOST_FLOWS])


def _print_outcomes(played: Replay, shown: list[int], console: Any) -> None:
    from tidegate.cli import screen
    from tidegate.show import quantity

    table = screen.table(
        "flow", "scheduler", "throughput", "lost", "mean delay", "p99 delay", "max delay", "promise"
    )
    table.columns[1].justify = "left"
    names = list(played.flows)
    for at in shown:
        for name in names:
            outcome = played.flows[name][at]
            table.add_row(
                played.plan.flows[at].name if name == names[0] else "",
                name,
                quantity(outcome.throughput, "bit/s"),
                quantity(outcome.loss, "share"),
                quantity(outcome.delay_mean, "s"),
                quantity(outcome.delay_p99, "s"),
                quantity(outcome.delay_max, "s"),
                {None: "", True: "kept", False: "broken"}[outcome.kept],
            )
    console.print(table)
    console.print()


def _sentences(played: Replay) -> list[str]:
    """Say what a reader of the figures must know."""
    from tidegate.replay import LIVED
    from tidegate.replay import MOST_FLOWS as MOST_PLAYED
    from tidegate.show import plural, quantity

    plan = played.plan
    left_out = len(plan.flows) - MOST_FLOWS
    sentences = []
    if left_out > 0:
        sentences.append(f"{plural(left_out, 'smaller flow')} not shown; --json holds all")
    sentences.append(
        "a replay is open loop: the recorded senders do not slow down when packets are late or lost"
    )
    if played.buffer is None:
        sentences.append("the queue has no limit: while more comes than the link carries, it grows")
    else:
        sentences.append(f"the queue holds {played.buffer}: beyond that, what would be sent last is dropped")
    sentences.append("W is the longest backlog at an ideal server of rate r")
    sentences.append(f"no reservation for flows with {LIVED}")
    if plan.outcome == "relaxed":
        sentences.append(
            f"the flows cannot all be promised {quantity(plan.asked, 's')}: the least that can is "
            f"{quantity(plan.target, 's')}"
        )
    elif plan.outcome == "mean-rates-do-not-fit":
        sentences.append(
            "the mean rates of the flows exceed the link: reserved for those that need least, at "
            f"{quantity(plan.target, 's')}"
        )
    if plan.reserved:
        sentences.append(
            f"reserved: {quantity(plan.reserved, 'bit/s')}, "
            f"{quantity(plan.reserved / plan.rate, 'share')} of the link"
        )
    pairs = plan.conversations
    if pairs:
        sentences.append(
            f"both directions of {plural(pairs, 'conversation')} are in the file, and all of it crosses this "
            "link one way; keep one direction for a true picture"
        )
    if plan.reordered:
        sentences.append(
            f"{plural(plan.reordered, 'packet')} of the file stood out of order and were sorted by time"
        )
    if plan.repeat > 1 and plan.reserved:
        sentences.append(
            "a promise is worked out for one pass of the file; backlogs may meet where passes do"
        )
    if not plan.reserves:
        sentences.append("the file names its flows freely, so a scenario cannot reserve for them one by one")
    if not played.flows:
        sentences.append(
            f"not played: more than {MOST_PLAYED} flows; cut the capture, or keep the addresses that matter"
        )
    return sentences


def _promises(played: Replay) -> list[str]:
    """Say for every scheduler whether what was promised was kept."""
    from tidegate.show import plural, quantity

    promised = {flow.name: flow.promised_p99 for flow in played.plan.flows}
    sentences = []
    for name, outcomes in played.flows.items():
        made = sum(outcome.kept is not None for outcome in outcomes)
        broken = played.broken(name)
        if not made:
            continue
        if not broken:
            kept = "the promise is" if made == 1 else f"all {made} promises are"
            sentences.append(f"{name}: {kept} kept")
            continue
        worst = min(broken, key=lambda outcome: outcome.within or 0.0)
        lost = f", {quantity(worst.loss, 'share')} of them lost" if worst.loss else ""
        sentences.append(
            f"{name}: {len(broken)} of {plural(made, 'promise')} not kept; worst for {worst.name}: only "
            f"{quantity(worst.within, 'share')} of its packets within "
            f"{quantity(promised[worst.name], 's')}{lost}"
        )
    return sentences


def _why(flow: CapturedFlow) -> str:
    return {
        "target": "for the target",
        "mean-rate": "mean is enough",
        "few-packets": "few packets",
        "short-life": "short life",
        "no-room": "no room",
    }[flow.reason]


def _size(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} B"
