"""The road to Axel: Deferred, whose stamps advance unevenly, and Axel without its bound (section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise

from tidegate import Results
from tidegate.explain.stamps import TICKS_PER_SECOND, Stamped, stamps
from tidegate_papers.axel.common import (
    DEFERRED,
    DELAYS,
    MILLISECOND,
    PACKET_BITS,
    POLICIES,
    RATE,
    SERVERS,
    Figures,
    settings,
    worst,
)
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.measures import ratio
from tidegate_papers.paper import Measure, Runs

Earlier = Mapping[str, Columns]

VIRTUAL_CLOCK = "VirtualClock"

TICK = PACKET_BITS / RATE
"""Advance of VirtualClock's stamps for a packet: 48 bytes at the reserved rate, in s."""

SHOWN = 0.01
"""Increments in s above which Figure 3 leaves them out."""

WATCHED = "bursty/1"
PER_CENT = 100.0


def increments(stamped: list[Stamped]) -> list[float]:
    """Return by how much each stamp is above that of the packet before, in s."""
    return [(after.stamp - before.stamp) / TICKS_PER_SECOND for before, after in pairwise(stamped)]


def _figure_3(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for policy, results in runs.items():
        steps = [
            increments(stamps(results, WATCHED, SERVERS[0], number)) for number in range(results.replications)
        ]
        figures |= {
            f"stamps that fall, {policy}": [sum(step < 0 for step in one) for one in steps],
            f"increments of about 0.0005 s, {policy}": [
                _share(0.95 * TICK < step < 1.05 * TICK for step in one) for one in steps
            ],
            f"increments below it, {policy}": [_share(step <= 0.95 * TICK for step in one) for one in steps],
            f"increments above it, {policy}": [_share(step >= 1.05 * TICK for step in one) for one in steps],
            f"smallest increment, {policy}": [min(one) / MILLISECOND for one in steps],
        }
    return {MAIN: figures}


def _share(chosen: Iterable[bool]) -> float:
    of_all = list(chosen)
    return PER_CENT * sum(of_all) / len(of_all)


def _figure_3_panels(runs: Runs) -> tuple[Panel, ...]:
    panels = []
    for policy, results in runs.items():
        stamped = stamps(results, WATCHED, SERVERS[0], 0)
        points = [
            (one.arrived, step)
            for one, step in zip(stamped[1:], increments(stamped), strict=True)
            if step <= SHOWN
        ]
        curve = Curve(policy, [at for at, _ in points], [[step] for _, step in points], joined=False)
        panels.append(Panel(f"{policy}, the first run", "time (s)", "increment of the stamp (s)", (curve,)))
    return tuple(panels)


def _unbacklogged(runs: Runs, _: Earlier) -> Columns:
    pairs = zip(*(results.fingerprints for results in runs.values()), strict=True)
    return {MAIN: {"outcomes that differ from VirtualClock's": [int(one != other) for one, other in pairs]}}


UNBOUNDED = "without its bound"

REAL = {
    VIRTUAL_CLOCK: POLICIES[VIRTUAL_CLOCK],
    "Axel": '{ kind = "axel", backlog = "real" }',
    UNBOUNDED: '{ kind = "axel-unbounded", backlog = "real" }',
}
"""Backlogs are those at the port itself: at an ideal server of rate r none drains faster than at
r."""

CYCLING = "cycling"

Gain = list[tuple[float, float]]
"""When each packet came, and how far its stamp is before that of VirtualClock, in s."""


def _taken_over(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {
        f"{what}, others, {policy}": worst(results, "others", figure)
        for policy, results in runs.items()
        for what, figure in DELAYS.items()
    }
    others = [policy for policy in REAL if policy != VIRTUAL_CLOCK]
    largest: list[list[float]] = [
        [max(by for _, by in _gain(runs, policy, number)) for policy in others]
        for number in range(runs[VIRTUAL_CLOCK].replications)
    ]
    for policy, values in zip(others, zip(*largest, strict=True), strict=True):
        figures[f"largest gain, {policy}"] = list(values)
    unbounded, axel = (figures[f"mean, others, {policy}"] for policy in (UNBOUNDED, "Axel"))
    figures["mean, others, without its bound over Axel"] = ratio(unbounded, axel)
    return {MAIN: figures}


def _gain(runs: Runs, policy: str, replication: int) -> Gain:
    """Return what a policy's stamps of the flow that fills and drains its backlog gain on VirtualClock's."""
    ours, baseline = (
        {one.sequence: one for one in _stamps_of_cycling(runs[name], replication)}
        for name in (policy, VIRTUAL_CLOCK)
    )
    return [
        (one.arrived, (baseline[number].stamp - one.stamp) / TICKS_PER_SECOND)
        for number, one in ours.items()
        if number in baseline
    ]


@lru_cache(maxsize=len(REAL))
def _stamps_of_cycling(results: Results, replication: int) -> list[Stamped]:
    """Return the stamps of the flow that fills and drains its backlog; every policy is compared with one."""
    return stamps(results, CYCLING, SERVERS[0], replication)


def _taken_over_panels(runs: Runs) -> tuple[Panel, ...]:
    curves = []
    for policy in (UNBOUNDED, "Axel"):
        gain = _gain(runs, policy, 0)
        curves.append(Curve(policy, [at for at, _ in gain], [[by] for _, by in gain], points=False))
    level = Level(MAX_GAINED, "W / r", right=True)
    return (
        Panel(
            "The flow that fills and drains its backlog, in the first run",
            "time (s)",
            "stamp before VirtualClock's (s)",
            tuple(curves),
            levels=(level,),
        ),
    )


MAX_GAINED = 0.8
"""W / r of the flow that fills and drains its backlog, in s."""

_LEARNT = {name: POLICIES[name] for name in (DEFERRED, VIRTUAL_CLOCK)}

MEASURES = {
    "figure-3": Measure(
        _figure_3,
        {name: [*sets, ("duration", "2s")] for name, sets in settings(_LEARNT).items()},
        panels=_figure_3_panels,
    ),
    "unbacklogged": Measure(_unbacklogged, settings(_LEARNT)),
    "taken-over": Measure(_taken_over, settings(REAL), panels=_taken_over_panels),
}
