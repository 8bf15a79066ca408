"""The network, the flows and the wishes of a requirements file, as a plan sees them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.attack.contracts import TICKS
from tidegate.attack.contracts import contracts as contracts_of
from tidegate.plan import wishes as sections
from tidegate.plan.curves import Curve, Hop
from tidegate.plan.ways import Link, Ways
from tidegate.plan.wishes import Wish
from tidegate.source import Source
from tidegate.toml import loads

ROUTES = 8
"""Most routes that are tried for a flow."""

TAKEN = {
    "port": "the plan chooses the policy",
    "host": "the plan chooses the policy",
    "switch": "the plan computes the buffers",
    "class": "a plan has no classes",
    "profile": "a plan has no profiles",
    "admission": "reservations hold from the start",
    "connection": "the traffic of a connection has no contract",
}
"""Keys of a scenario that a requirements file leaves to the plan, and why."""

TAKEN_OF_A_LINK = (
    "policy",
    "scheduler",
    "meter",
    "profile",
    "dropper",
    "detector",
    "rate_control",
    "vsvd",
    "ceiling",
    "credit",
)
"""Keys of a link that are left to the plan."""

VOIDING = ("ceiling", "head_start", "class")
"""Keys of a flow with which nothing can be promised to any flow at its ports."""

UNSTEADY = ("has_trace", "changes", "loses", "has_jitter", "reorders", "has_overhead")
"""Properties of a link that routes avoid."""


@dataclass(frozen=True)
class Flow:
    """A flow.

    Attributes:
        place: Its index among all flows of the scenario.
        name: Its name.
        group: The group that it is a member of.
        start: Index of the node that sends.
        end: Index of the node that receives.
        packet: Its largest packet, in bytes.
        curve: The contract of its traffic; None if its rate is that of the plan.
        least: Reservation that the file states, in bit/s; 0 without one.
        stated: Links of the route that the file states; None without one.
    """

    place: int
    name: str
    group: str
    start: int
    end: int
    packet: int
    curve: Curve | None
    least: int
    stated: tuple[int, ...] | None


@dataclass(frozen=True)
class Problem:
    """All that a plan is made of.

    Attributes:
        source: The scenario without the wishes.
        nodes: Names of the nodes.
        links: The links.
        flows: The flows that are planned; the others are background.
        background: Names of the flows that are carried without a promise.
        largest: The largest packet of all flows, in bytes.
        wishes: The wishes; their flows are indices of `flows`.
        matches: The packets of a gate that are those of a group, by its name.
    """

    source: Source
    nodes: list[str]
    links: list[Link]
    flows: list[Flow]
    background: list[str]
    largest: int
    wishes: tuple[Wish, ...]
    matches: dict[str, dict[str, Any]]

    @cached_property
    def routes(self) -> list[list[tuple[int, ...]]]:
        """The routes of each flow that are tried, the shortest by hops first, and then by delay."""
        ways = Ways(self.links)
        found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        for flow in self.flows:
            ends = flow.start, flow.end
            if flow.stated is None and ends not in found:
                found[ends] = list(islice(ways.between(*ends), ROUTES))
        return [[flow.stated] if flow.stated else found[flow.start, flow.end] for flow in self.flows]

    def hops(self, route: Sequence[int]) -> list[Hop]:
        """Return the ports of a route."""
        return [self.links[link].hop for link in route]


def read(path: Path) -> Problem:
    """Read a requirements file.

    Raises:
        TidegateError: It has a mistake; the message has the place.
        OSError: It cannot be read.
    """
    return problem(path.read_text(encoding="utf-8"), str(path), path.absolute().parent)


def problem(text: str, name: str, folder: Path) -> Problem:
    """Return the problem of the text of a requirements file.

    Args:
        text: The text.
        name: Name of the file, for messages.
        folder: Folder at which relative paths in it start.

    Raises:
        TidegateError: It has a mistake; the message has the place.
    """
    file = sections.Text(text, name)
    scenario = _tidegate.Scenario.parse(file.scenario, name, folder, [])
    document = loads(scenario.toml)
    _refuse(document, file)
    groups = [one["group"] for one in json.loads(scenario.network_json())["flows"]]
    wishes = sections.read(file, scenario.flows, groups)
    matches = sections.matches(file, groups)
    return _problem(Source(scenario, folder, (), name), document, wishes, matches)


def _refuse(document: dict[str, Any], file: sections.Text) -> None:
    """Raise the error of what a requirements file leaves to the plan."""
    for key, why in TAKEN.items():
        if key in document:
            raise file.error_at(key, why, f"leave out `{key}`")
    for link in document.get("link", []):
        for key in TAKEN_OF_A_LINK:
            if key in link:
                why = f"the plan chooses the policy of {link['from']}->{link['to']}"
                raise TidegateError(f"{file.name}: {why}\n  help: leave out its `{key}`")
    for flow in document.get("flow", []):
        for key in VOIDING:
            if key in flow:
                why = f"with the `{key}` of {flow['name']} nothing can be promised"
                raise TidegateError(f"{file.name}: {why}\n  help: leave it out")
    for node in document.get("node", []):
        if "buffer" in node:
            why = f"the plan computes the buffer of {node['name']}"
            raise TidegateError(f"{file.name}: {why}\n  help: leave out its `buffer`")


def _problem(
    source: Source,
    document: dict[str, Any],
    wishes: tuple[Wish, ...],
    matches: dict[str, dict[str, Any]],
) -> Problem:
    network = json.loads(source.scenario.network_json())
    if network["has_gate"] or network["stages"]:
        raise TidegateError(
            f"{source.file}: nothing can be promised across a gate or a stage\n  help: leave it out"
        )
    is_of_switch = [one[2] for one in source.scenario.capacities()]
    links = [
        Link(
            name=one["name"],
            start=one["from"],
            end=one["to"],
            hop=Hop(one["rate"], Fraction(round(one["delay"] * TICKS), TICKS)),
            is_steady=not any(one[unsteady] for unsteady in UNSTEADY),
            is_of_switch=of_switch,
        )
        for one, of_switch in zip(network["links"], is_of_switch, strict=True)
    ]
    tables = {flow["name"]: flow for flow in document.get("flow", [])}
    wished = {flow for wish in wishes for flow in wish.flows}
    flows: list[Flow] = []
    background: list[str] = []
    places: dict[int, int] = {}
    for ix, (one, contract) in enumerate(zip(network["flows"], contracts_of(source.scenario), strict=True)):
        table = tables[one["group"]]
        is_elastic = table["source"] == {"kind": "greedy"} and "envelope" not in table
        if contract.reason is not None and not (is_elastic and ix in wished):
            if ix in wished:
                raise TidegateError(
                    f"{source.file}: {one['name']} has no contract: {contract.reason}\n"
                    '  help: give it an envelope, as in envelope = { rate = "1mbit", burst = "3kB" }'
                )
            if any(plan["reserve"] for plan in one["plans"]):
                raise TidegateError(
                    f"{source.file}: {one['name']} reserves a rate and has no contract: {contract.reason}\n"
                    "  help: give it an envelope, or leave out `reserve`"
                )
            background.append(one["name"])
            continue
        # An envelope that a recording gets in the plan has whole bytes.
        buckets = tuple((Fraction(ceil(burst)), 8 * rate) for burst, rate in contract.buckets)
        route = tuple(one["route"])
        unsteady = [links[link].name for link in route if not links[link].is_steady]
        if unsteady and "route" in table:
            raise TidegateError(
                f"{source.file}: nothing can be promised to {one['name']} over {unsteady[0]}, whose rate or "
                "delay changes, which loses packets or has overhead\n"
                "  help: leave out the `route`, or these keys of the link"
            )
        places[ix] = len(flows)
        flows.append(
            Flow(
                place=ix,
                name=one["name"],
                group=one["group"],
                start=links[route[0]].start,
                end=links[route[-1]].end,
                packet=one["largest"],
                curve=None if contract.reason is not None else Curve(buckets),
                least=int(one["plans"][0]["reserve"] or 0),
                stated=route if "route" in table else None,
            )
        )
    kept = tuple(replace(wish, flows=tuple(places[flow] for flow in wish.flows)) for wish in wishes)
    return Problem(
        source=source,
        nodes=[one["name"] for one in network["nodes"]],
        links=links,
        flows=flows,
        background=background,
        largest=max(one["largest"] for one in network["flows"]),
        wishes=kept,
        matches=matches,
    )
