"""The certificate of a plan: all that its promises stand on, with every number exact, as JSON.

`checker.py` re-computes it. Sizes are in bytes, rates in bit/s, times in s; numbers are text, `5` or `5/2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from tidegate.plan.curves import SCHEDULER, Curve, backlogs, longest_delay
from tidegate.plan.demands import paced
from tidegate.plan.problem import Problem
from tidegate.plan.routing import Option

FORMAT = "tidegate plan certificate 1"


def curve_of(problem: Problem, flow: int, reserve: int) -> Curve:
    """Return the contract of a flow in a plan: its own, or a packet and its reservation."""
    one = problem.flows[flow]
    return one.curve or paced(one, reserve)


def given(problem: Problem) -> dict[str, Any]:
    """Return the part of a certificate that the requirements state."""
    names = [flow.name for flow in problem.flows]
    switches = {link.start for link in problem.links if link.is_of_switch}
    return {
        "format": FORMAT,
        "scenario": problem.source.scenario.name,
        "policy": SCHEDULER,
        "largest": str(problem.largest),
        "nodes": [
            {"name": name, "kind": "switch" if ix in switches else "host"}
            for ix, name in enumerate(problem.nodes)
        ],
        "links": [
            {
                "name": link.name,
                "from": problem.nodes[link.start],
                "to": problem.nodes[link.end],
                "rate": str(link.hop.rate),
                "delay": str(link.hop.delay),
            }
            for link in problem.links
        ],
        "flows": [
            {
                "name": flow.name,
                "from": problem.nodes[flow.start],
                "to": problem.nodes[flow.end],
                "packet": str(flow.packet),
                "contract": None if flow.curve is None else _buckets(flow.curve),
                "least": str(flow.least),
            }
            for flow in problem.flows
        ],
        "wishes": [
            {
                "name": wish.name,
                "flows": [names[flow] for flow in wish.flows],
                "delay": None if wish.delay is None else str(wish.delay),
                "total": None if wish.total is None else str(wish.total),
            }
            for wish in problem.wishes
        ],
    }


def certificate(problem: Problem, chosen: Mapping[int, Option]) -> dict[str, Any]:
    """Return the certificate of a plan.

    Args:
        problem: The network, the flows and the wishes.
        chosen: The reservation and the route of each flow.
    """
    document = given(problem)
    buffers: dict[int, Fraction] = {link.start: Fraction(0) for link in problem.links if link.is_of_switch}
    delays = []
    for ix, (flow, entry) in enumerate(zip(problem.flows, document["flows"], strict=True)):
        reserve, route = chosen[ix]
        hops = problem.hops(route)
        curve = curve_of(problem, ix, reserve)
        backlog = backlogs(curve, flow.packet, hops, problem.largest, reserve)
        delays.append(longest_delay(curve, flow.packet, hops, problem.largest, reserve))
        for link, held in zip(route, backlog, strict=True):
            start = problem.links[link].start
            if start in buffers:
                buffers[start] += held
        entry["route"] = [problem.links[link].name for link in route]
        entry["reserve"] = str(reserve)
        entry["bound"] = str(delays[ix])
        entry["backlogs"] = [str(held) for held in backlog]
    for wish, entry in zip(problem.wishes, document["wishes"], strict=True):
        if wish.delay is not None:
            entry["bound"] = str(max(delays[flow] for flow in wish.flows))
        else:
            rates = [curve_of(problem, flow, chosen[flow][0]).rate for flow in wish.flows]
            entry["bound"] = str(sum(rates, Fraction(0)))
    document["buffers"] = {problem.nodes[node]: str(ceil(held)) for node, held in buffers.items()}
    return document


def _buckets(curve: Curve) -> list[dict[str, str]]:
    return [{"burst": str(burst), "rate": str(rate)} for burst, rate in curve.buckets]
