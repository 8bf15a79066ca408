"""`tidegate attack`: how late a flow can be made by arrivals that keep all contracts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate._tidegate import TidegateError
from tidegate.cli.options import File, Json, Python, Set, define, overrides, scenario, tell
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.attack import Attack
    from tidegate.attack.search import Progress

EVERY = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""

MOST_OTHERS = 5
"""Most flows without a contract that are named; `--json` has all."""


def command(
    file: File,
    flow: Annotated[str, typer.Option(metavar="NAME", help="Flow to attack.", show_default=False)],
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            "-o",
            metavar="FILE.toml",
            help="Write the pattern as a scenario, with recordings beside it.",
            show_default=False,
        ),
    ] = None,
    tries: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of the search.")] = 20_000,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="End the search after so many seconds.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the search.")] = 1,
    python: Python = None,
    sets: Set = None,
    as_json: Json = False,
) -> None:
    """Search arrivals that make a flow late, within all contracts.

    Ctrl-C ends the search and shows the best pattern so far.
    """
    from tidegate.attack import attack
    from tidegate.attack.scenario import write as write_scenario
    from tidegate.cli.bounds_table import hold
    from tidegate.source import resolve

    define(python)
    if write is not None and not write.parent.is_dir():
        raise TidegateError(f"--write {write}: there is no folder {write.parent}")
    source = resolve(scenario(file), overrides(sets))
    tell(source.scenario.warnings, source.scenario.notes)
    with _told(flow) as progress:
        found = attack(source, flow, tries=tries, seconds=seconds, seed=seed, progress=progress)
    if not as_json:
        _print(source.scenario.name, found)
    written = [] if write is None else write_scenario(found, source, write)
    if as_json:
        document = {"scenario": source.scenario.name, **found.to_dict()}
        document["written"] = [str(path) for path in written]
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    elif write is not None:
        typer.echo(plain(f"scenario in {write}, with {len(written) - 1} recordings"))
    hold(found.complaint)


@contextmanager
def _told(flow: str) -> Iterator[Progress]:
    """Show the progress on stderr: a bar on a terminal, else a line from time to time."""
    from tidegate.cli.progress import bar
    from tidegate.show import quantity

    state = f"{flow}: bounds"
    over = threading.Event()

    def tell_regularly() -> None:
        while not over.wait(EVERY):
            typer.echo(plain(state), err=True)

    with bar(f"attack on {flow}") as shown:

        def tell_progress(share: float, delay: float) -> None:
            nonlocal state
            state = f"{flow}: {share:.0%} of the tries, {quantity(delay, 's')} so far"
            if shown is not None:
                shown(share)

        teller = threading.Thread(target=tell_regularly, daemon=True)
        if shown is None:
            teller.start()
        try:
            yield tell_progress
        finally:
            over.set()


def _print(name: str, found: Attack) -> None:
    from tidegate.attack.contracts import TICKS
    from tidegate.cli import screen
    from tidegate.show import plural, quantity

    console = screen.console()
    console.print(f"{name} · attack on {found.flow} · {plural(found.tries, 'run')}", style="bold")
    console.print()
    table = screen.table("flow", "packets", "bytes", "first at", "last at", "at once")
    rows, notes = screen.cut(found.pattern, "flow")
    for sent in rows:
        first, last = sent.packets[0][0], sent.packets[-1][0]
        table.add_row(
            sent.flow,
            str(len(sent.packets)),
            quantity(sum(size for _, size in sent.packets), "B"),
            quantity(first / TICKS, "s"),
            quantity(last / TICKS, "s"),
            quantity(sum(size for at, size in sent.packets if at == first), "B"),
        )
    if found.pattern:
        console.print(table)
        console.print()
    bound = "none" if found.bound is None else quantity(found.bound, "s")
    console.print(f"delay {quantity(found.delay, 's')} · bound {bound}", style="bold", end="")
    console.print("" if found.share is None else f" · {found.share:.1%} of it", style="bold")
    console.print()
    if found.reason is not None:
        notes.append(f"no bound: {found.reason}")
    if found.interrupted:
        notes.append("interrupted: the best pattern so far")
    for flow, reason in found.others[:MOST_OTHERS]:
        notes.append(f"{flow} sends what the scenario says: {reason}")
    if len(found.others) > MOST_OTHERS:
        notes.append(f"and {len(found.others) - MOST_OTHERS} more flows without a contract")
    notes.append("at once: what a flow sends together with its first packet")
    for note in notes:
        console.print(f"  {note}", style="dim")
