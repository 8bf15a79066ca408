"""The trial of a plan: its wishes beside what simulations measure, and an attack on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tidegate.attack import Attack, attack_on
from tidegate.attack.search import Limits
from tidegate.bounds import TICK, beside, complaint
from tidegate.estimates import Estimate, estimate
from tidegate.plan import Plan
from tidegate.replications import simulate

if TYPE_CHECKING:
    from tidegate.plan.wishes import Wish
    from tidegate.results import Results
    from tidegate.source import LoadedScenario

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """A wish in simulations.

    Attributes:
        wish: Its name.
        figure: The largest delay of its flows in s, or their throughput together in bit/s: the mean over the
            replications, with its interval.
        worst: The largest delay, or the least throughput, of all replications; None if nothing arrived.
        is_kept: Whether it was kept in all of them.
    """

    wish: str
    figure: Estimate
    worst: float | None
    is_kept: bool


@dataclass(frozen=True)
class Trial:
    """The simulations of a plan.

    Attributes:
        measured: What they say of each wish.
        dropped: Packets of planned flows that switches dropped.
        complaint: A flow that was above its bound, in words; None if there is none.
    """

    measured: tuple[Measured, ...]
    dropped: int
    complaint: str | None


def simulated(
    plan: Plan, scenario: LoadedScenario, bounds: Sequence[Mapping[str, Any]], replications: int
) -> Trial:
    """Simulate a plan, and look at its wishes.

    Args:
        plan: The plan.
        scenario: Its scenario.
        bounds: The bounds of the scenario's flows.
        replications: Number of runs.
    """
    results = simulate(scenario, replications=replications)
    places = {name: place for place, name in enumerate(scenario.flows)}
    runs: list[dict[int, Row]] = [{} for _ in range(replications)]
    for row in results.flows.to_pylist():
        runs[row["replication"]][places[row["flow"]]] = row
    planned = {flow.place for flow in plan.problem.flows}
    return Trial(
        measured=tuple(_measured(plan, wish, runs, results) for wish in plan.problem.wishes),
        dropped=sum(row["dropped_packets"] for run in runs for place, row in run.items() if place in planned),
        complaint=complaint(beside(bounds, results)),
    )


def attacked(
    plan: Plan, scenario: LoadedScenario, bounds: Sequence[Mapping[str, Any]], tries: int
) -> tuple[str, Attack] | None:
    """Attack the flow whose bound is nearest to its wish; None if there is no wish of a delay.

    Args:
        plan: The plan.
        scenario: Its scenario.
        bounds: The bounds of the scenario's flows.
        tries: Runs of the search.

    Returns:
        The name of the wish, and the attack.
    """
    flows, entries = plan.problem.flows, plan.certificate["flows"]
    near = [
        (Fraction(entries[flow]["bound"]) / wish.delay, -flow, wish.name)
        for wish in plan.problem.wishes
        if wish.delay is not None
        for flow in wish.flows
    ]
    if not near:
        return None
    _, flow, name = max(near)
    place = flows[-flow].place
    return name, attack_on(scenario, place, bounds[place], Limits(tries, None))


def _measured(plan: Plan, wish: Wish, runs: Sequence[Mapping[int, Row]], results: Results) -> Measured:
    flows = [plan.problem.flows[flow].place for flow in wish.flows]
    rows = [[run[flow] for flow in flows] for run in runs]
    if wish.delay is not None:
        of_runs = [[row["delay_max"] for row in some if row["delay_max"] is not None] for some in rows]
        largest = [max(delays, default=None) for delays in of_runs]
        worst = max((delay for delay in largest if delay is not None), default=None)
        kept = worst is None or worst <= float(wish.delay) + results.packet_hops * TICK
        return Measured(wish.name, estimate(largest), worst, kept)
    assert wish.total is not None
    window = results.duration - results.warmup
    carried = [sum(row["throughput"] or 0.0 for row in some) for some in rows]
    sent = [sum(8 * row["sent_bytes"] for row in some) / window for some in rows]
    on_the_way = _on_the_way(plan, wish) / window
    kept = all(
        rate >= min(wish.total, offered) - on_the_way for rate, offered in zip(carried, sent, strict=True)
    )
    return Measured(wish.name, estimate(carried), min(carried), kept)


def _on_the_way(plan: Plan, wish: Wish) -> float:
    """Return the bits of a wish's flows that may be in the network at the end of a run."""
    entries = [plan.certificate["flows"][flow] for flow in wish.flows]
    return float(
        sum(
            Fraction(one["reserve"]) * Fraction(one["bound"]) + 8 * Fraction(one["packet"]) for one in entries
        )
    )
