"""Max-min fair rates of a scenario, from its routes and the rates of its links.

An allocation is max-min fair when no flow can have more except at the cost of one that has no more
than it (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate._tidegate import max_min as allocate
from tidegate.rows import Rows
from tidegate.show import quantity
from tidegate.source import Overrides, ScenarioLike, resolve

__all__ = ["MaxMin", "Share", "Span", "allocate", "max_min"]

Span = tuple[float, float]
"""Begin and end in seconds from the start of the run."""

EXACT = 1e-9
"""Rates are exact fractions, rounded to floats: a link is full up to this share."""

ELSEWHERE = "it does not send in the whole span"
VARIES = "when it sends, or its rate, is only known in a run"
UNKNOWN = "the rate that it asks for is not stated"
SPREAD = "its packets take several paths"

ActiveTimes = Mapping[str, tuple[float, float | None]]
"""Start and stop of flows by their names, in seconds, as they were in a run; None for the end of
the run."""


@dataclass(frozen=True)
class Share:
    """A flow's max-min fair rate.

    Attributes:
        flow: Its name.
        group: Name of its group.
        rate: The rate in bit/s, headers included.
        bottleneck: The first link on its route that is full and on which no flow has more; a class
            with a ceiling is `class on link`. None where its own rate or ceiling limits it.
        greedy: Whether it asks for as much as it gets.
        receivers: Number of its destinations.
    """

    flow: str
    group: str
    rate: float
    bottleneck: str | None
    greedy: bool
    receivers: int


@dataclass(frozen=True)
class MaxMin:
    """The max-min fair rates of a scenario.

    Attributes:
        aim: Share of each switch's links that is divided, above 0 and at most 1; None for the
            target utilisation that each port states.
        span: The seconds in which the flows send.
        shares: One for each flow that has a part, in the order of the scenario.
        left_out: Why another flow has none, by its name.
    """

    aim: float | None
    span: Span
    shares: Rows[Share]
    left_out: dict[str, str]


def max_min(
    scenario: ScenarioLike, *, aim: float | None = None, span: Span | None = None, sets: Overrides = ()
) -> MaxMin:
    """Return the max-min fair rates of a scenario's flows, from their routes and the rates of links.

    A flow has a part when it sends in the whole span and what it asks for is known: as much as it
    gets (a greedy source, a connection with endless data), or the mean rate of its source, which is
    then a ceiling. Acknowledgements have none. Ceilings of ports, classes and flows, envelopes, and
    the PCR of ABR VCs are kept. All flows are alike: reservations, weights, priorities and MCR have
    no effect.

    Args:
        scenario: A path, TOML text, a `tidegate.Scenario` built in Python, or what `tidegate.load`
            returned.
        aim: Share of the links that switches send on to divide, above 0 and at most 1; by default
            the target utilisation of a port that controls rates and states one (ERICA), and all of
            other links. Hosts' links are divided whole.
        span: Time span in seconds, (from, to); by default the whole run.
        sets: Overrides such as `("port.rate", "1mbit")`, applied in order.

    Raises:
        TidegateError: The scenario cannot be read, an argument is out of range, or the figures are
            too large to be computed exactly.
    """
    return of_scenario(resolve(scenario, sets).scenario, aim, span)


def of_scenario(
    scenario: _tidegate.Scenario,
    aim: float | None = None,
    span: Span | None = None,
    active: ActiveTimes | None = None,
) -> MaxMin:
    """Return the max-min fair rates of a loaded scenario, as `max_min` does.

    `active` has the times at which flows started and stopped in a run.
    """
    if aim is not None and not 0.0 < aim <= 1.0:
        raise TidegateError(f"the share of links that is aimed at ({aim:g}) is not above 0 and at most 1")
    begin, end = span if span is not None else (0.0, scenario.duration)
    if not 0.0 <= begin < end <= scenario.duration:
        raise TidegateError(
            f"from {quantity(begin, 's')} to {quantity(end, 's')} is not a part of the run, which lasts "
            f"{quantity(scenario.duration, 's')}"
        )
    names, shared = [], []
    for name, rate, switched, target in scenario.capacities():
        names.append(name)
        shared.append(round(rate * (target if aim is None else aim) if switched else rate))
    left_out, counted = {}, []
    for one in scenario.demands():
        why = _without_part(one, begin, end, scenario.duration, active)
        if why is None:
            counted.append(one)
        else:
            left_out[one["flow"]] = why
    capacities, ways = list(shared), []
    for one in counted:
        limits = [round(one[what]) for what in ("rate", "ceiling") if one[what] is not None]
        # A ceiling is a link of the flow's own.
        ways.append([*one["capacities"], *([len(capacities)] if limits else [])])
        capacities += [min(limits)] if limits else []
    rates = allocate(capacities, ways)
    limited = _bottlenecks(shared, [one["capacities"] for one in counted], rates)
    shares = Rows(
        Share(
            flow=one["flow"],
            group=one["group"],
            rate=rate,
            bottleneck=None if at is None else names[at],
            greedy=one["everything"],
            receivers=one["receivers"],
        )
        for one, rate, at in zip(counted, rates, limited, strict=True)
    )
    return MaxMin(aim, (begin, end), shares, left_out)


def _without_part(
    demand: Mapping[str, Any], begin: float, end: float, duration: float, active: ActiveTimes | None
) -> str | None:
    """Say why a flow has no part; None for one that has."""
    if demand["varies"] or (demand["drawn"] and active is None):
        return VARIES
    if min(demand["parts"]) < 1:
        return SPREAD
    start, stop = (demand["start"], demand["stop"]) if active is None else active[demand["flow"]]
    if start > begin or (stop is not None and stop < min(end, duration)):
        return ELSEWHERE
    return None if demand["everything"] or demand["rate"] is not None else UNKNOWN


def _bottlenecks(
    capacities: Sequence[int], ways: Sequence[Sequence[int]], rates: Sequence[float]
) -> list[int | None]:
    """Return for each flow the first capacity that is full and on which no flow has more."""
    used, most = np.zeros(len(capacities)), np.zeros(len(capacities))
    for way, rate in zip(ways, rates, strict=True):
        used[way] += rate
        most[way] = np.maximum(most[way], rate)
    full = used >= np.array(capacities) * (1 - EXACT)
    return [
        next((at for at in way if full[at] and rate >= most[at] * (1 - EXACT)), None)
        for way, rate in zip(ways, rates, strict=True)
    ]
