"""Speed and accuracy with which the rates of a run come to the max-min fair ones.

Response and convergence times are those of Kalyanaraman et al. 1998, section 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate import _tidegate
from tidegate._tidegate import USUAL_NEARNESS, TidegateError, convergence_time, response_time
from tidegate.maxmin import ELSEWHERE, EXACT, ActiveTimes, MaxMin, Share, Span, of_scenario
from tidegate.members import Members, active_times, compare_members
from tidegate.results import Results
from tidegate.rows import Rows
from tidegate.show import quantity
from tidegate.summary import Estimate, Values, estimate

__all__ = ["USUAL_NEARNESS", "Fairness", "convergence_time", "measure_fairness", "response_time"]

Array = npt.NDArray[np.float64]

LAST = 4
"""Final figures are means over the last of so many equal parts of the span."""


@dataclass(frozen=True)
class Nearness:
    """A rate compared with its optimum: that of one flow, or of all flows of a group together.

    Attributes:
        subject: Name of the flow or of the group.
        metric: The series that is its rate: `acr` or `throughput`.
        optimum: Its max-min fair rate in bit/s.
        bottleneck: The limiting link or class, as in `Share`.
        mean: Its mean rate in the last quarter of the span, in bit/s.
        off: Excess of that mean over the optimum, as a share of the optimum.
    """

    subject: str
    metric: str
    optimum: float
    bottleneck: str | None
    mean: Estimate
    off: Estimate


@dataclass(frozen=True, eq=False)
class Fairness:
    """Speed and accuracy with which the rates of a run come to the max-min fair ones.

    Times are in seconds from the start of the first sample of the span; a list has one figure for
    each replication (of identical ones there is one), None for a run in which it never happened.

    Attributes:
        results: The results of the run.
        optimum: The max-min fair rates; where starts are drawn, those of the first replication.
        spacing: Seconds from one sample to the next.
        rows: One for each rate.
        members: One for each group of several flows.
        queues: Links whose queues must be short for convergence; empty where queues do not matter.
        response: Until every rate has come within 10 % of its optimum or has passed it, each at a
            time of its own.
        convergence: Until the averages of all rates over 5 ms (or one sample, if that is longer)
            are within 10 % of their optima, and fewer than 50 packets are in each of `queues`, both
            permanently.
        final: Mean distance in the last quarter of the span.
        time: Ends of the samples, in seconds from the start of the run.
        rates: Each rate over time in bit/s, by replication and sample; NaN where there is none.
        distance: At each sample the greatest |rate - optimum| / optimum, by replication and sample.
    """

    results: Results
    optimum: MaxMin
    spacing: float
    rows: Rows[Nearness]
    members: Rows[Members]
    queues: tuple[str, ...]
    response: Values
    convergence: Values
    final: Values
    time: Array
    rates: dict[str, Array]
    distance: Array

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rates over time, in SI base units; the distance is a mean over runs."""
        figures = {"response": self.response, "convergence": self.convergence, "final_distance": self.final}
        window, tolerance, packets = USUAL_NEARNESS
        begin, end = self.optimum.span
        return {
            "scenario": self.results.scenario_name,
            "scenario_sha256": self.results.scenario_hash,
            "tidegate_version": self.results.version,
            "seeds": list(self.results.seeds),
            "notes": self.results.notes,
            "aim": self.optimum.aim,
            "from": begin,
            "to": end,
            "sample": self.spacing,
            "tolerance": tolerance,
            "averaged_over": window,
            "queue_below": packets if self.queues else None,
            "queues": list(self.queues),
            "rates": self.rows.to_dicts(),
            "members": self.members.to_dicts(),
            **{
                name: {**estimate(values)._asdict(), "replications": list(values)}
                for name, values in figures.items()
            },
            "time": self.time.tolist(),
            "distance": [_known(one) for one in self.distance.mean(axis=0).tolist()],
            "left_out": self.optimum.left_out,
        }


def measure_fairness(
    results: Results,
    *,
    aim: float | None = None,
    groups: Sequence[str] | None = None,
    span: tuple[float | None, float | None] = (None, None),
) -> Fairness:
    """Compare the rates of a run with the max-min fair ones, over time.

    The rate of a flow is its series `acr` where it has one. Otherwise the throughput of its group
    stands for all flows of the group. Where every rate is an ACR, convergence also needs short
    queues at the bottlenecks (a transport that probes with losses keeps them filled).

    Args:
        results: Results with series: from `simulate(..., series=True)` or `tidegate run --out`.
        aim: Share of the links that switches send on to divide, as in `max_min`; by default what
            their ports aim at.
        groups: Groups whose rates are compared; by default those of flows that ask for as much as
            they get. Others keep their part of the optimum.
        span: Time span in seconds, (from, to). Only flows that send in the whole span have a part:
            by default it begins with the last of those that ask for as much as they get and go on
            to the end, and not before the end of the warm-up, and lasts until the end of the run.

    Raises:
        TidegateError: The results hold no series, the span has no sample, no flow counts, a group
            is unknown or has no max-min fair rate, or an argument is out of range.
    """
    scenario = results.scenario()
    runs = 1 if results.identical else results.replications
    active = [active_times(results, run) for run in range(runs)]
    begin = _begin(scenario, results, active) if span[0] is None else span[0]
    end = scenario.duration if span[1] is None else span[1]
    optima = [of_scenario(scenario, aim, (begin, end), one) for one in active]
    optimum = optima[0]
    if results.series.num_rows == 0:
        raise TidegateError(
            "these results have no rates over time\n  help: `tidegate run --out` records them, unless there "
            "are too many points, and so does `simulate(..., series=True)`"
        )
    part = _samples_in(optimum.span, scenario)
    chosen = [_chosen(one, scenario, groups) for one in optima]
    recorded = _Recorded(results, runs, scenario, part)
    tracks = _tracks(chosen, recorded)
    spacing = scenario.sample
    rates = {one.subject: one.rates for one in tracks}
    queues = _queues(tracks, scenario.links)
    longest = np.max(list(recorded.of(queues, "queue").values()), axis=0) if queues else None
    tolerance = USUAL_NEARNESS[1]
    response: Values = []
    convergence: Values = []
    distances = []
    for run in range(runs):
        courses = [one.rates[run].tolist() for one in tracks]
        fair = [one.optima[run] for one in tracks]
        waiting = [0.0] * len(courses[0]) if longest is None else longest[run].tolist()
        response.append(response_time(spacing, courses, fair, tolerance))
        convergence.append(convergence_time(spacing, courses, fair, waiting, USUAL_NEARNESS))
        distances.append(_tidegate.distances(courses, fair))
    distance = np.array(distances)
    return Fairness(
        results=results,
        optimum=optimum,
        spacing=spacing,
        rows=Rows(one.nearness() for one in tracks),
        members=Rows(compare_members(chosen, results, active)),
        queues=queues,
        response=response,
        convergence=convergence,
        final=_last_mean(distance),
        time=spacing * (1.0 + np.arange(part.start, part.stop)),
        rates=rates,
        distance=distance,
    )


def _samples_in(span: Span, scenario: _tidegate.Scenario) -> slice:
    """Return the samples that are wholly in a span.

    Raises:
        TidegateError: There are none.
    """
    begin, end = (at / scenario.sample for at in span)
    first, last = math.ceil(begin - EXACT * begin), min(math.floor(end + EXACT * end), scenario.samples)
    if first >= last:
        raise TidegateError(
            f"there is no sample from {quantity(span[0], 's')} to {quantity(span[1], 's')}\n"
            f"  help: one is taken every {quantity(scenario.sample, 's')} (`sample` of the scenario)"
        )
    return slice(first, last)


def _begin(scenario: _tidegate.Scenario, results: Results, active: Sequence[ActiveTimes]) -> float:
    """Return when the last flow has started that asks for as much as it gets and goes on to the end."""
    greedy = [one["flow"] for one in scenario.demands() if one["everything"] and not one["varies"]]
    starts = [
        start
        for of_run in active
        for start, stop in map(of_run.__getitem__, greedy)
        if (stop is None or stop >= scenario.duration) and start < scenario.duration
    ]
    return max([results.warmup, *starts])


def _chosen(
    optimum: MaxMin, scenario: _tidegate.Scenario, wanted: Sequence[str] | None
) -> dict[str, list[Share]]:
    """Return the flows that are looked at, by group.

    Raises:
        TidegateError: There are none, or a group is unknown or has no max-min fair rate.
    """
    group_of = {one["flow"]: one["group"] for one in scenario.demands()}
    # Without the rate of every member that sends in the span, that of the group has no optimum.
    unknown = {group_of[flow]: why for flow, why in optimum.left_out.items() if why != ELSEWHERE}
    by_group: dict[str, list[Share]] = {}
    for share in optimum.shares:
        if share.group not in unknown:
            by_group.setdefault(share.group, []).append(share)
    if wanted is None:
        found = {name: flows for name, flows in by_group.items() if all(one.greedy for one in flows)}
        if not found:
            raise TidegateError(_nobody(optimum, scenario))
        return found
    from tidegate.plots.style import chosen

    if not wanted:
        raise TidegateError(
            "no group is named: leave `groups` out for those that ask for as much as they get"
        )
    names, _ = chosen(scenario.groups, wanted, len(scenario.groups))
    for name in names:
        if name not in by_group:
            elsewhere = (why for flow, why in optimum.left_out.items() if group_of[flow] == name)
            why = unknown.get(name) or next(elsewhere, "it answers")
            raise TidegateError(f"group `{name}` has no max-min fair rate: {why}")
    return {name: by_group[name] for name in names}


def _nobody(optimum: MaxMin, scenario: _tidegate.Scenario) -> str:
    """Say why no flow is looked at."""
    begin, end = (quantity(at, "s") for at in optimum.span)
    greedy = [one["flow"] for one in scenario.demands() if one["everything"]]
    if not greedy:
        return (
            "no flow asks for as much as it gets\n"
            "  help: a greedy source and a connection with endless data do; other groups can be named"
        )
    which = f"`{greedy[0]}`" if len(greedy) == 1 else f"`{greedy[0]}` and {len(greedy) - 1} more"
    return (
        f"no flow that asks for as much as it gets has a part from {begin} to {end}: {which} "
        f"({optimum.left_out[greedy[0]]})\n"
        "  help: take another span (--from, --to), or name other groups"
    )


@dataclass(frozen=True)
class _Track:
    """A rate over time, and what it should be in each replication."""

    subject: str
    metric: str
    optima: tuple[float, ...]
    bottlenecks: tuple[str, ...]
    rates: Array

    def nearness(self) -> Nearness:
        means = _last_mean(self.rates)
        off: Values = [
            None if mean is None else mean / optimum - 1.0
            for mean, optimum in zip(means, self.optima, strict=True)
        ]
        first = next(iter(self.bottlenecks), None)
        optimum = math.fsum(self.optima) / len(self.optima)
        return Nearness(self.subject, self.metric, optimum, first, estimate(means), estimate(off))


@dataclass(frozen=True)
class _Recorded:
    """The series of results, in some samples of some replications."""

    results: Results
    runs: int
    scenario: _tidegate.Scenario
    part: slice

    def of(self, subjects: Sequence[str], metric: str) -> dict[str, Array]:
        """Return the samples of each subject that has the metric, by replication; NaN where there is none."""
        table: Any = self.results.series
        table = table.filter(pc.equal(pc.cast(table["metric"], pa.string()), metric))
        place = pc.index_in(pc.cast(table["subject"], pa.string()), value_set=pa.array(subjects, pa.string()))
        known = place.is_valid()
        table, place = table.filter(known), place.filter(known).to_numpy()
        values = np.full((len(subjects), self.results.replications, self.scenario.samples), np.nan)
        # A series begins when its subject does.
        sample = np.rint(table["time"].to_numpy() / self.scenario.sample).astype(int) - 1
        if sample.size and not (sample.min() >= 0 and sample.max() < self.scenario.samples):
            raise TidegateError("these results cannot be read: a sample is not within the run")
        values[place, table["replication"].to_numpy(), sample] = table["value"].to_numpy()
        return {subjects[at]: values[at, : self.runs, self.part] for at in np.unique(place)}


def _tracks(chosen: Sequence[Mapping[str, Sequence[Share]]], recorded: _Recorded) -> list[_Track]:
    """Return the rate of each flow that has an ACR, and else of each group, if it is in every replication."""
    first = chosen[0]
    named = [one.flow for shares in first.values() for one in shares]
    acr = recorded.of(named, "acr")
    throughput = recorded.of(list(first), "throughput")
    tracks = []
    for group, shares in first.items():
        if any(group not in one for one in chosen):
            continue
        if all(share.flow in acr for share in shares):
            rates = [{one.flow: one.rate for one in under[group]} for under in chosen]
            tracks += [
                _Track(one.flow, "acr", tuple(run[one.flow] for run in rates), _limits([one]), acr[one.flow])
                for one in shares
                if all(one.flow in run for run in rates)
            ]
        else:
            # A packet is received once by each of its destinations.
            total = tuple(math.fsum(one.rate * one.receivers for one in under[group]) for under in chosen)
            tracks.append(_Track(group, "throughput", total, _limits(shares), throughput[group]))
    return tracks


def _limits(shares: Sequence[Share]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.bottleneck for one in shares if one.bottleneck is not None))


def _queues(tracks: Sequence[_Track], links: Sequence[str]) -> tuple[str, ...]:
    """Return the bottlenecks whose queues must be short: none unless rates are explicit."""
    if any(one.metric != "acr" for one in tracks):
        return ()
    limits = dict.fromkeys(limit for one in tracks for limit in one.bottlenecks)
    # Behind the name of a class is that of its link.
    at_links = (limit if limit in links else limit.rpartition(" on ")[2] for limit in limits)
    return tuple(dict.fromkeys(at_links))


def _last_mean(values: Array) -> Values:
    """Return for each replication the mean of the samples that there are in the last quarter."""
    last = values[:, -max(1, values.shape[1] // LAST) :]
    return [_known(float(run[~np.isnan(run)].mean())) if (~np.isnan(run)).any() else None for run in last]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
