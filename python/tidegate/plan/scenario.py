"""A plan as a scenario, which `tidegate run` takes as any other."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any

from tidegate._tidegate import parse_rate, parse_time
from tidegate.attack.scenario import follow, name_of
from tidegate.plan.curves import SCHEDULER
from tidegate.plan.demands import paced
from tidegate.plan.problem import Flow, Problem
from tidegate.plan.routing import Option
from tidegate.quantities import Rate, Size
from tidegate.toml import loads

POLICY = {"scheduler": SCHEDULER}

OF_A_GROUP = ("count", "matrix", "every")
"""Keys of a flow that members of a group lose when they become flows of their own."""

OF_A_CONTRACT = ("interval", "workahead", "peak")
"""Keys of a flow that its envelope has in a plan, because `reserve` is no longer the contract's rate."""


def document(
    problem: Problem, chosen: Mapping[int, Option], buffers: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    """Return a plan as the keys of a scenario.

    Members of a group become flows of their own where they have different ends, routes or reservations.

    Args:
        problem: The network, the flows and the wishes.
        chosen: The reservation and the route of each flow.
        buffers: Bytes of each switch.
        folder: Folder in which the scenario will be.
    """
    table: dict[str, Any] = loads(problem.source.scenario.toml)
    table["name"] = f"{problem.source.scenario.name}: plan"
    table["port"] = table["host"] = POLICY
    demands = problem.source.scenario.demands()
    flows: list[dict[str, Any]] = []
    members = {
        name: list(some)
        for name, some in groupby(range(len(problem.flows)), lambda ix: problem.flows[ix].group)
    }
    for flow in table["flow"]:
        group = members.get(flow["name"])
        if group is None:
            flows.append(flow)
        elif "matrix" not in flow and len({chosen[ix] for ix in group}) == 1:
            flows.append(_planned(problem, problem.flows[group[0]], flow, chosen[group[0]]))
        else:
            kept = {key: value for key, value in flow.items() if key not in OF_A_GROUP}
            for ix in group:
                one = problem.flows[ix]
                own = kept | {"name": name_of(one.name)}
                own |= {"from": problem.nodes[one.start], "to": problem.nodes[one.end]}
                if "matrix" in flow:
                    own["source"] = flow["source"] | {"rate": Rate(round(demands[one.place]["rate"]))}
                flows.append(_planned(problem, one, own, chosen[ix]))
    table["flow"] = flows
    _bound_memory(problem, table, buffers)
    follow(table, problem.source.base_dir, folder)
    return table


def _planned(problem: Problem, one: Flow, flow: Mapping[str, Any], option: Option) -> dict[str, Any]:
    """Return a flow with its route, its reservation and an envelope that says its contract."""
    reserve, route = option
    nodes = [problem.nodes[one.start], *(problem.nodes[problem.links[link].end] for link in route)]
    planned = {key: value for key, value in flow.items() if key not in OF_A_CONTRACT}
    planned |= {"route": nodes, "reserve": Rate(reserve)}
    kind = flow["source"] if isinstance(flow["source"], str) else flow["source"].get("kind")
    if one.curve is None:
        planned["envelope"] = _bucket(paced(one, reserve).buckets[0])
    elif "envelope" in flow:
        planned["envelope"] = _envelope(flow)
    elif kind == "trace":
        planned["envelope"] = _bucket(one.curve.buckets[0])
    return planned


def _bucket(bucket: tuple[Fraction, Fraction]) -> dict[str, Any]:
    burst, rate = bucket
    return {"rate": Rate(ceil(rate)), "burst": Size(ceil(burst))}


def _envelope(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Return the envelope of a flow with all that it takes from the flow's contract."""
    envelope = {} if isinstance(flow["envelope"], str) else dict(flow["envelope"])
    if "rate" not in envelope:
        envelope["rate"] = flow["reserve"]
        if "peak" in flow:
            envelope.setdefault("peak", flow["peak"])
    if "burst" not in envelope and "workahead" in flow:
        envelope["burst"] = flow["workahead"]
    elif "burst" not in envelope:
        bits = parse_rate(flow["reserve"]) * Fraction(parse_time(flow["interval"]))
        envelope["burst"] = Size(int(bits / 8))
    return envelope


def _bound_memory(problem: Problem, table: dict[str, Any], buffers: Mapping[str, str]) -> None:
    """Give switches the memory that loses nothing, where that can be said.

    Background traffic may fill any memory, and packets that wait for an envelope are in that of the first
    switch.
    """
    if problem.background:
        return
    waits = {
        flow["from"]
        for flow in table["flow"]
        if "envelope" in flow and flow["envelope"].get("excess", "wait") == "wait"
    }
    least = problem.largest
    own = {node["name"]: node for node in table.get("node", [])}
    for name, node in own.items():
        if name in buffers and name not in waits:
            node["buffer"] = Size(max(int(buffers[name]), least))
    others = buffers.keys() - own.keys()
    if others and not others & waits:
        table["switch"] = {"buffer": Size(max(least, *(int(buffers[name]) for name in others)))}
