"""The gate file of a plan for one link."""

from __future__ import annotations

from math import ceil
from typing import Any

from tidegate.plan import Plan
from tidegate.plan.certificate import curve_of
from tidegate.plan.curves import SCHEDULER
from tidegate.quantities import Rate, Size
from tidegate.toml import value_to_toml

__all__ = ["gate_toml"]

LEAD = 0.25
"""Seconds of `lead` in gate files that state none: bounds hold where no packet takes longer at its rate."""


def gate_toml(plan: Plan) -> str | None:
    """Return a gate's file with the reservations of a plan.

    Members of a group are one flow of the gate, with all that they reserve: their bursts are added as
    well, so that the bound is the same. None unless all flows cross one link alone, in either direction,
    and each group has a section `[[match]]`.
    """
    problem = plan.problem
    ways = _ways(plan)
    if ways is None or {flow.group for flow in problem.flows} - problem.matches.keys():
        return None
    slowest = max(8 * problem.flows[ix].packet / reserve for ix, (reserve, _) in plan.chosen.items())
    scheduler = {"kind": SCHEDULER} | ({"lead": f"{ceil(slowest)}s"} if slowest > LEAD else {})
    lines = [
        f"# {problem.source.scenario.name}: it holds if no frame has more than {problem.largest} bytes.",
        "# Put your interfaces here: tidegate gate check FILE. docs/gate.md",
        "version = 1",
        "",
        "[gate]",
        'inside = "inside"',
        'outside = "outside"',
        *(f"{way} = {_toml(Rate(rate))}" for way, rate in ways.items()),
        "",
        "[port]",
        f"scheduler = {_toml(scheduler)}",
    ]
    for group, match in problem.matches.items():
        lines += _flow(plan, group, match)
    return "\n".join(lines) + "\n"


def _ways(plan: Plan) -> dict[str, int] | None:
    """Return the rate of each direction of the one link that all flows cross; None if there are several."""
    links = plan.problem.links
    routes = [route for _, route in plan.chosen.values()]
    up = links[routes[0][0]]
    ends = {(up.start, up.end), (up.end, up.start)}
    if any(len(route) > 1 or (links[route[0]].start, links[route[0]].end) not in ends for route in routes):
        return None
    back = next((link for link in links if (link.end, link.start) == (up.start, up.end)), up)
    return {"up": up.hop.rate, "down": back.hop.rate}


def _flow(plan: Plan, group: str, match: dict[str, Any]) -> list[str]:
    """Return the lines of a flow of the gate; up is the direction of the first flow of the plan."""
    problem = plan.problem
    up = problem.links[plan.chosen[0][1][0]].start
    reserved = {"up": 0, "down": 0}
    ahead = {"up": 0, "down": 0}
    for ix, flow in enumerate(problem.flows):
        if flow.group == group:
            way = "up" if flow.start == up else "down"
            reserve = plan.chosen[ix][0]
            reserved[way] += reserve
            corners = curve_of(problem, ix, reserve).corners()
            ahead[way] += ceil(max(sent - reserve * time / 8 for time, sent in corners))
    lines = ["", "[[flow]]", f"name = {_toml(group)}", f"match = {_toml(match)}"]
    lines.append(f"workahead = {_toml(Size(max(ahead.values())))}")
    return lines + [f"{way} = {{ reserve = {_toml(Rate(rate))} }}" for way, rate in reserved.items() if rate]


def _toml(value: object) -> str:
    return value_to_toml(value, "")
