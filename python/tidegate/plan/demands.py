"""Demands of a plan, which can be dropped one by one: the wishes, and the rates of the flows.

A flow has a route and a reservation if a demand is about it. Its reservation is then at least the rate of its
contract, whatever the demand is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tidegate.plan.curves import Curve, needed
from tidegate.plan.problem import Flow, Problem
from tidegate.plan.routing import Cut, Option, UndecidedError, overbooked, solve
from tidegate.plan.wishes import Wish
from tidegate.show import quantity


@dataclass(frozen=True)
class Demand:
    """One demand.

    Attributes:
        name: Its name: that of a wish, or `the rate of FLOW`.
        flows: Indices of its flows.
        wish: The wish; None if it is about the rates of the flows' contracts.
    """

    name: str
    flows: tuple[int, ...]
    wish: Wish | None


def demands(problem: Problem) -> list[Demand]:
    """Return the demands of a requirements file: the wishes first, and then the rates by group.

    Conflicts drop the first ones first, so that a wish is named only where rates alone could be kept.
    """
    groups: dict[str, list[int]] = {}
    for ix, flow in enumerate(problem.flows):
        if flow.curve is not None:
            groups.setdefault(flow.group, []).append(ix)
    rates = [Demand(f"the rate of {group}", tuple(flows), None) for group, flows in groups.items()]
    return [Demand(wish.name, wish.flows, wish) for wish in problem.wishes] + rates


class Planner:
    """Options of flows under sets of demands, and routes that fit.

    Args:
        problem: The network, the flows and the wishes.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rates = [link.hop.rate for link in problem.links]
        self.cuts = list(_cuts(problem))
        self._of_delays: dict[tuple[object, ...], list[int | None]] = {}

    def options(self, chosen: Iterable[Demand]) -> dict[int, list[Option]]:
        """Return the options of each flow that these demands are about: routes, and the rates they need."""
        least: dict[int, int] = {}
        delays: dict[int, Fraction] = {}
        for demand in chosen:
            for flow in demand.flows:
                least[flow] = max(least.get(flow, 0), _least(self.problem.flows[flow]))
            wish = demand.wish
            if wish is not None and wish.delay is not None:
                for flow in demand.flows:
                    delays[flow] = min(wish.delay, delays.get(flow, wish.delay))
            if wish is not None and wish.total is not None:
                for flow, share in shares(self.problem, wish).items():
                    least[flow] = max(least[flow], share)
        found: dict[int, list[Option]] = {}
        for flow, rate in least.items():
            routes = self.problem.routes[flow]
            of_delay = self._of_delay(flow, delays[flow]) if flow in delays else [0] * len(routes)
            found[flow] = [
                (max(rate, needs), route)
                for route, needs in zip(routes, of_delay, strict=True)
                if needs is not None
            ]
        return found

    def solve(self, chosen: Iterable[Demand]) -> dict[int, Option] | None:
        """Return the route and the reservation of each flow; None if no choice of routes fits.

        Raises:
            UndecidedError: The search has ended without an answer.
        """
        chosen = list(chosen)
        if any(_lacks(self.problem, demand) for demand in chosen):
            return None
        options = self.options(chosen)
        places = solve(list(options.values()), self.rates, self.cuts)
        if places is None:
            return None
        return {flow: some[place] for (flow, some), place in zip(options.items(), places, strict=True)}

    def why(self, chosen: Sequence[Demand]) -> str:
        """Return the reason for which demands cannot be kept together, in words."""
        for demand in chosen:
            if lacks := _lacks(self.problem, demand):
                return (
                    f"{demand.name}: the contracts of its flows have {quantity(float(lacks), 'bit/s')} less"
                )
        options = self.options(chosen)
        for flow, some in options.items():
            if not some:
                one = self.problem.flows[flow]
                if not self.problem.routes[flow]:
                    ends = f"{self.problem.nodes[one.start]} to {self.problem.nodes[one.end]}"
                    return f"there is no route of {one.name} from {ends}"
                return f"no route of {one.name} is so fast, whatever is reserved"
        found = overbooked(list(options.values()), self.rates, self.cuts)
        if found is None:
            return "no choice of routes fits the links"
        cut, needs, has = found
        name = cut.name or self.problem.links[next(iter(cut.links))].name
        return f"{name}: {quantity(needs, 'bit/s')} must be reserved, of {quantity(has, 'bit/s')}"

    def _of_delay(self, flow: int, delay: Fraction) -> list[int | None]:
        """Return the rate that each route of a flow needs for a delay."""
        one = self.problem.flows[flow]
        # Alike flows need the same.
        key = one.curve, one.packet, one.start, one.end, one.stated, delay
        if key not in self._of_delays:
            curve = one.curve or paced(one, 0)
            self._of_delays[key] = [
                needed(curve, one.packet, self.problem.hops(route), self.problem.largest, delay)
                for route in self.problem.routes[flow]
            ]
        return self._of_delays[key]


def paced(flow: Flow, rate: int) -> Curve:
    """Return the contract of a flow whose rate is that of the plan: a packet, and the rate in bit/s."""
    return Curve(((Fraction(flow.packet), Fraction(rate)),))


def shares(problem: Problem, wish: Wish) -> dict[int, int]:
    """Return the rates in bit/s that a wish of a total asks of the flows that have none of their own.

    Flows with a contract give its rate; the rest of the total is divided among the others in equal parts, but
    to none of them more than its widest route can carry.
    """
    assert wish.total is not None
    curves = {flow: problem.flows[flow].curve for flow in wish.flows}
    rest = ceil(wish.total - sum((curve.rate for curve in curves.values() if curve is not None), Fraction(0)))
    widest = {
        flow: max((min(hop.rate for hop in problem.hops(route)) for route in problem.routes[flow]), default=0)
        for flow, curve in curves.items()
        if curve is None
    }
    found: dict[int, int] = {}
    # The narrowest first, until all others can carry their part.
    for flow in sorted(widest, key=lambda one: widest[one]):
        part = max(0, ceil(Fraction(rest, len(widest) - len(found))))
        if part <= widest[flow]:
            return found | dict.fromkeys(widest.keys() - found.keys(), part)
        found[flow] = widest[flow]
        rest -= widest[flow]
    # More than all routes carry has no plan.
    return dict.fromkeys(widest, wish.total)


def _lacks(problem: Problem, demand: Demand) -> Fraction | None:
    """Return the bit/s that contracts lack for a total; None if none, or if a flow has no contract."""
    wish = demand.wish
    if wish is None or wish.total is None:
        return None
    curves = [problem.flows[flow].curve for flow in wish.flows]
    if any(curve is None for curve in curves):
        return None
    lacks = wish.total - sum((curve.rate for curve in curves if curve is not None), Fraction(0))
    return lacks if lacks > 0 else None


def _least(flow: Flow) -> int:
    """Return the least reservation of a flow, in bit/s: its rate, or a packet a second without one."""
    rate = 8 * flow.packet if flow.curve is None else ceil(flow.curve.rate)
    return max(rate, flow.least)


def _cuts(problem: Problem) -> Iterable[Cut]:
    for node, name in enumerate(problem.nodes):
        out = frozenset(ix for ix, link in enumerate(problem.links) if link.start == node)
        into = frozenset(ix for ix, link in enumerate(problem.links) if link.end == node)
        if len(out) > 1:
            yield Cut(f"the links of {name}", out)
        if len(into) > 1:
            yield Cut(f"the links to {name}", into)


@dataclass(frozen=True)
class Conflict:
    """Demands that cannot be kept together.

    Attributes:
        demands: Their names.
        is_minimal: Whether every one of them can be dropped to have a plan for the others.
        why: Why they cannot be kept together.
    """

    demands: tuple[str, ...]
    is_minimal: bool
    why: str


def conflict(planner: Planner, chosen: Sequence[Demand]) -> Conflict:
    """Return a minimal conflict among demands that cannot be kept together.

    One demand after the other is dropped if the rest still cannot be kept.
    """
    left = list(chosen)
    is_minimal = True
    for demand in chosen:
        rest = [one for one in left if one is not demand]
        try:
            if planner.solve(rest) is None:
                left = rest
        except UndecidedError:
            is_minimal = False
    return Conflict(tuple(one.name for one in left), is_minimal, planner.why(left))
