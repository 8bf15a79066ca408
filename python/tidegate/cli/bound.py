"""`tidegate bound`: how late the packets of each flow can be at worst."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import typer

from tidegate.cli.options import File, Json, Python, Set, define, overrides, tell
from tidegate.cli.options import scenario as given

NOTES = (
    "delays are from the first port, behind an envelope, to the last bit at the destination",
    "buffer: bytes that lose nothing, the packet on its way out included",
)


def command(file: File, python: Python = None, sets: Set = None, as_json: Json = False) -> None:
    """Bound the delays and buffers of a scenario's flows.

    Nothing runs. A flow has a bound if its source or its envelope limits its traffic.
    """
    from tidegate.source import resolve

    define(python)
    scenario = resolve(given(file), overrides(sets)).scenario
    tell(scenario.warnings, scenario.notes)
    bounds = json.loads(scenario.bounds_json())
    if as_json:
        typer.echo(json.dumps({"scenario": scenario.name, **bounds}, ensure_ascii=False))
        return
    _print(scenario.name, bounds)


def _print(name: str, bounds: dict[str, Any]) -> None:
    from tidegate.cli import screen
    from tidegate.show import NOTHING, quantity

    console = screen.console()
    console.print(f"{name} · bounds", style="bold")
    console.print()
    flows = screen.table("flow", "delay", "buffer", "by")
    alike = [list(some) for _, some in groupby(bounds["flows"], _terms)]
    rows, notes = screen.cut(alike, "flow")
    for first, *others in rows:
        flow = first["flow"] + (f" to {others[-1]['flow']}" if others else "")
        if first["delay"] is None:
            flows.add_row(flow, "none", NOTHING, first["reason"])
            continue
        flows.add_row(flow, quantity(first["delay"], "s"), NOTHING, first["method"])
        for hop in first["hops"]:
            flows.add_row(
                f"  {hop['link']}", quantity(hop["delay"], "s"), quantity(hop["backlog"], "B"), hop["source"]
            )
    console.print(flows)
    console.print()
    links = screen.table("link", "buffer")
    used = {hop["link"] for flow in bounds["flows"] for hop in flow["hops"]}
    shown, more = screen.cut([link for link in bounds["links"] if link["link"] in used], "link")
    for link in shown:
        backlog = link["backlog"]
        links.add_row(link["link"], "none" if backlog is None else quantity(backlog, "B"))
    if shown:
        console.print(links)
        console.print()
    for note in [*notes, *more, *NOTES]:
        console.print(f"  {note}", style="dim")


def _terms(flow: dict[str, Any]) -> tuple[Any, ...]:
    """Return what flows have in common that are shown in one row."""
    return flow["group"], flow["delay"], flow["reason"], str(flow["hops"])
