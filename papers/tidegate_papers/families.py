"""Experiments that look at one another's figures, carried out over the same number of runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from tidegate import stopping
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Experiment, Runs
from tidegate_papers.planned import Counts, Planned

Figures = dict[str, Columns]
"""Figures of experiments, by their names."""


@dataclass(frozen=True)
class Carried:
    """An experiment that was carried out.

    Attributes:
        experiment: The experiment.
        runs: Results under each of its settings.
        figures: Its figures.
        first: Its figures in the first stage; None where there was one stage.
        cpu_seconds: Processor time that it took: runs that others look at, too, count for the first.
    """

    experiment: Experiment
    runs: Runs
    figures: Columns
    first: Columns | None
    cpu_seconds: float


class Family:
    """An experiment and those that take its figures.

    Args:
        members: They, in the order of the paper.
    """

    def __init__(self, members: Sequence[Experiment]) -> None:
        self._head = members[0]
        self._members = members

    def carry_out(self, planned: Planned, replications: int | None, jobs: int | None) -> Iterator[Carried]:
        """Yield the experiments, one by one, with what was measured.

        Args:
            planned: All runs.
            replications: Replications of the paper; None for as many as claims need.
            jobs: Runs at a time.
        """
        started = time.process_time()
        first: Figures = {}
        if replications is not None:
            counts = {one.name: planned.counts(one, one.runs(replications)) for one in self._members}
        else:
            most = min(one.most_runs for one in self._members)
            least = min(stopping.LEAST, most)
            if least < most:
                first = self._figures(planned, least, jobs)
            counts = self._counts(planned, first, least, most)
        heads: dict[int, Figures] = {}
        of_head = max(counts[self._head.name].values())
        for one in self._members:
            count = min(max(counts[one.name].values()), of_head)
            runs = planned.results(one, counts[one.name], jobs)
            if one is not self._head and count not in heads:
                heads[count] = self._of_head(planned, count, jobs)
            figures = one.measure.figures(runs, heads.get(count, {}))
            heads.setdefault(count, {one.name: figures})
            yield Carried(one, runs, figures, first.get(one.name), time.process_time() - started)
            started = time.process_time()
            if one is not self._head:
                planned.forget(one)
        planned.forget(self._head)

    def _figures(self, planned: Planned, count: int, jobs: int | None) -> Figures:
        figures: Figures = {}
        for one in self._members:
            runs = planned.results(one, planned.counts(one, count), jobs)
            figures[one.name] = one.measure.figures(runs, figures)
        return figures

    def _of_head(self, planned: Planned, count: int, jobs: int | None) -> Figures:
        """Return the figures of the first member over so many runs, for those that take them."""
        head = self._head
        runs = planned.results(head, planned.counts(head, count), jobs)
        return {head.name: head.measure.figures(runs, {})}

    def _counts(self, planned: Planned, first: Figures, least: int, most: int) -> dict[str, Counts]:
        """Return the number of runs of each member under each setting, by figures of the first stage."""
        counts = {one.name: planned.counts(one, least) for one in self._members}
        of_head = counts[self._head.name]
        for one in self._members if first else ():
            for claim, needed in _needed(one, first[one.name]).items():
                read = one.measure.read_by(claim)
                _raise(counts[one.name], read, min(needed, most))
                if self._head.name in read:
                    _raise(of_head, set(of_head), min(needed, most))
        return counts


def _raise(counts: Counts, names: Set[str], count: int) -> None:
    """Have at least so many runs under the settings of these names."""
    for name in names & counts.keys():
        counts[name] = max(counts[name], count)


def _needed(experiment: Experiment, first: Columns) -> dict[str, int]:
    """Return the number of runs that each claim needs, by the figures of the first stage."""
    return {
        claim.name: stopping.runs_needed(first[MAIN][claim.name], claim.wanted_half_width)
        for claim in experiment.claims
        if claim.wanted_half_width is not None
    }


def families(experiments: Sequence[Experiment]) -> list[Family]:
    """Return experiments with those that take their figures, in the order of the first of each."""
    members: dict[str, list[Experiment]] = {}
    for one in experiments:
        members.setdefault(one.measure.after or one.name, []).append(one)
    return [Family(each) for each in members.values()]
