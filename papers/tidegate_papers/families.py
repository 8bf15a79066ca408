"""Experiments that look at one another's figures, carried out over the same number of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegate import stopping
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import FULL, Experiment, Runs
from tidegate_papers.planned import Planned

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
    """

    experiment: Experiment
    runs: Runs
    figures: Columns
    first: Columns | None


class Family:
    """An experiment and those that take its figures.

    Args:
        members: They, in the order of the paper.
    """

    def __init__(self, members: Sequence[Experiment]) -> None:
        self._members = members

    def carry_out(self, planned: Planned, replications: int | None, jobs: int | None) -> Iterator[Carried]:
        """Yield the experiments, one by one, with what was measured.

        Args:
            planned: All runs.
            replications: Replications of the paper; None for as many as claims need.
            jobs: Runs at a time.
        """
        first: Figures = {}
        count = None
        if replications is None:
            most = min(one.most_runs for one in self._members)
            count = min(stopping.LEAST, most)
            if count < most:
                first = self._figures(planned, count, jobs)
                count = min(max(count, self._needed(first)), most)
        figures: Figures = {}
        for one in self._members:
            runs = planned.results(one, count or one.runs(replications or FULL), jobs)
            figures[one.name] = one.measure.figures(runs, figures)
            yield Carried(one, runs, figures[one.name], first.get(one.name))
            planned.forget(one)

    def _figures(self, planned: Planned, count: int, jobs: int | None) -> Figures:
        figures: Figures = {}
        for one in self._members:
            figures[one.name] = one.measure.figures(planned.results(one, count, jobs), figures)
        return figures

    def _needed(self, first: Figures) -> int:
        """Return the number of runs that the claims of all members need, by figures of the first stage."""
        needed = [
            stopping.runs_needed(first[one.name][MAIN][claim.name], claim.wanted_half_width)
            for one in self._members
            for claim in one.claims
            if claim.wanted_half_width is not None
        ]
        return max(needed, default=0)


def families(experiments: Sequence[Experiment]) -> list[Family]:
    """Return experiments with those that take their figures, in the order of the first of each."""
    members: dict[str, list[Experiment]] = {}
    for one in experiments:
        members.setdefault(one.measure.after or one.name, []).append(one)
    return [Family(each) for each in members.values()]
