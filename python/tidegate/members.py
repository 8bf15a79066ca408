"""Fairness among the flows of a group: their rates while they sent, in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from tidegate.maxmin import ActiveTimes, Share
from tidegate.results import Results
from tidegate.summary import Estimate, Values, estimate


@dataclass(frozen=True)
class Members:
    """The flows of a group among each other, by the mean rates of each while it sent and was measured.

    Attributes:
        group: Name of the group.
        flows: Number of its flows that have a part of the optimum in some replication, at least 2.
        optimum: The max-min fair rate of each in bit/s.
        least: Excess of the least rate over the optimum, as a share of the optimum.
        greatest: Excess of the greatest rate, likewise.
        jain: Jain's fairness index of their rates.
    """

    group: str
    flows: int
    optimum: float
    least: Estimate
    greatest: Estimate
    jain: Estimate


def active_times(results: Results, run: int) -> dict[str, tuple[float, float | None]]:
    """Return when flows started and stopped in a replication."""
    flows = results.flows.filter(pc.equal(results.flows["replication"], run))
    columns = (flows[name].to_pylist() for name in ("flow", "start", "stop"))
    return {flow: (start, stop) for flow, start, stop in zip(*columns, strict=True)}


def compare_members(
    chosen: Sequence[Mapping[str, Sequence[Share]]], results: Results, active: Sequence[ActiveTimes]
) -> list[Members]:
    """Return the flows of each group that has several, among each other."""
    rates = [_rates(results, run, one) for run, one in enumerate(active)]
    found = []
    for group in chosen[0]:
        shares = [under.get(group, ()) for under in chosen]
        most = max(map(len, shares))
        if most < 2:
            continue
        figures: dict[str, Values] = {"least": [], "greatest": [], "jain": []}
        for of_run, rate in zip(shares, rates, strict=True):
            off = [rate[one.flow] / (one.rate * one.receivers) - 1.0 for one in of_run if one.flow in rate]
            got = [rate[one.flow] for one in of_run if one.flow in rate]
            figures["least"].append(min(off, default=None))
            figures["greatest"].append(max(off, default=None))
            figures["jain"].append(jain(got))
        optimum = math.fsum(one.rate for one in shares[0]) / len(shares[0])
        found.append(Members(group, most, optimum, **{name: estimate(of) for name, of in figures.items()}))
    return found


def jain(rates: Sequence[float]) -> float | None:
    """Return Jain's fairness index of rates (Jain, Chiu and Hawe 1984); None for fewer than two, or zeros."""
    squares = math.fsum(rate * rate for rate in rates)
    if len(rates) < 2 or not squares:
        return None
    return math.fsum(rates) ** 2 / (len(rates) * squares)


def _rates(results: Results, run: int, active: ActiveTimes) -> dict[str, float]:
    """Return the mean rate of each flow in bit/s, from its start, or the warm-up's end, to its stop."""
    flows = results.flows.filter(pc.equal(results.flows["replication"], run))
    rates = {}
    for flow, received in zip(flows["flow"].to_pylist(), flows["received_bytes"].to_pylist(), strict=True):
        start, stop = active[flow]
        end = results.duration if stop is None else min(stop, results.duration)
        lasted = end - max(start, results.warmup)
        if lasted > 0:
            rates[flow] = received * 8 / lasted
    return rates
