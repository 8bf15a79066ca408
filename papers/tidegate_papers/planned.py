"""The runs of a paper's experiments: those that run the same look at the same runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tidegate import Results, Simulation, simulate_all
from tidegate.replications import Progress
from tidegate.source import LoadedScenario
from tidegate_papers.paper import Experiment
from tidegate_papers.replicated import replicated

Keep = Callable[[Results], Results]

Counts = dict[str, int]
"""Numbers of runs under the settings of an experiment, by their names."""


@dataclass
class _Runs:
    """Runs of a scenario that several experiments may look at.

    Attributes:
        scenario: The scenario.
        most: Number of them that may be needed.
        series: Metrics over time that an experiment needs.
        one_by_one: Whether they are carried out one at a time.
        histogram: Whether one needs how often each delay occurred.
        workahead: Factors at which an experiment needs the exact W of flows.
        keep: Takes what one run measured and returns what is kept of it; None for everything.
        left: Number of experiments' settings that are still to look at them.
        done: The results of each so far, which are forgotten once they are no longer needed.
    """

    scenario: LoadedScenario
    most: int = 0
    series: tuple[str, ...] = ()
    one_by_one: bool = False
    histogram: bool = False
    workahead: tuple[float, ...] = ()
    keep: Keep | None = None
    left: int = 0
    done: list[Results] = field(default_factory=list)

    def work(self, runs: int) -> float:
        """Return about how much work so many runs are."""
        return runs * self.scenario.duration * len(self.scenario.flows)

    def missing(self, count: int) -> list[Simulation]:
        """Return the runs that are missing until there are `count`, one by one."""
        return [
            Simulation(
                self.scenario,
                seed=self.scenario.seed + number,
                series=self.series or False,
                workahead=self.workahead,
                keep=self._kept,
            )
            for number in range(len(self.done), count)
        ]

    def _kept(self, results: Results) -> Results:
        if self.keep is not None:
            return self.keep(results)
        tables = dict(results.tables)
        if not self.histogram:
            tables["histogram"] = results.histogram.schema.empty_table()
        tables["series"] = _with_words_once(results.series)
        return replace(results, tables=tables)


def _with_words_once(series: pa.Table) -> pa.Table:
    """Return a table with each of its words once, and their numbers in the rows: a third of the memory."""
    for name in ("subject", "metric"):
        place = series.schema.get_field_index(name)
        series = series.set_column(place, name, series[name].dictionary_encode())
    return series


class Planned:
    """All runs to carry out. Every scenario is read before the first one runs; probes change no outcome.

    Args:
        experiments: The experiments, in the order in which they are carried out, each with the
            largest number of runs that it may need.
        recordings: The folder of recordings; None for none.
        progress: Called with the share that is done, 0 to 1.
        as_needed: Whether runs end by what claims need.

    Raises:
        TidegateError: A scenario has a mistake.
    """

    def __init__(
        self,
        experiments: Sequence[tuple[Experiment, int]],
        recordings: Path | None,
        progress: Progress | None,
        *,
        as_needed: bool,
    ) -> None:
        self._recordings = recordings
        self._as_needed = as_needed
        self._runs: dict[tuple[str, Path, Keep | None], _Runs] = {}
        self._settings = {one.name: self._plan(one, most) for one, most in experiments}
        self._meter = _Meter(progress, sum(runs.work(runs.most) for runs in self._runs.values()))

    def _plan(self, experiment: Experiment, most: int) -> dict[str, _Runs]:
        measure = experiment.measure
        settings = {}
        for name, scenario in experiment.scenarios(self._recordings, as_needed=self._as_needed).items():
            key = (scenario.toml, scenario.base_dir, measure.keep)
            runs = self._runs.setdefault(key, _Runs(scenario, keep=measure.keep))
            runs.most = max(runs.most, most)
            runs.series = tuple(dict.fromkeys((*runs.series, *measure.series)))
            runs.one_by_one |= measure.one_by_one
            runs.histogram |= measure.histogram
            runs.workahead = tuple(dict.fromkeys((*runs.workahead, *measure.workahead)))
            runs.left += 1
            settings[name] = runs
        return settings

    def counts(self, experiment: Experiment, count: int) -> Counts:
        """Return `count` runs under each setting of an experiment."""
        return dict.fromkeys(self._settings[experiment.name], count)

    def results(self, experiment: Experiment, counts: Counts, jobs: int | None) -> dict[str, Results]:
        """Return what so many runs measured under each setting of an experiment, by their names."""
        settings = self._settings[experiment.name]
        # Two settings may come to the same runs.
        wanted: dict[int, tuple[_Runs, int]] = {}
        for name, runs in settings.items():
            _, count = wanted.get(id(runs), (runs, 0))
            wanted[id(runs)] = runs, max(count, counts[name])
        alone = [(runs, count) for runs, count in wanted.values() if runs.one_by_one]
        self._conduct(alone, 1)
        self._conduct([one for one in wanted.values() if one not in alone], jobs)
        return {name: replicated(runs.done[: counts[name]]) for name, runs in settings.items()}

    def forget(self, experiment: Experiment) -> None:
        """Forget the runs at which only this experiment was still to look."""
        for runs in self._settings.pop(experiment.name).values():
            runs.left -= 1
            if not runs.left:
                self._meter.skip(runs.work(runs.most - len(runs.done)))
                runs.done = []

    def _conduct(self, wanted: Sequence[tuple[_Runs, int]], jobs: int | None) -> None:
        """Carry missing runs out, those of several settings at a time."""
        missing = [(runs, one) for runs, count in wanted for one in runs.missing(count)]
        if not missing:
            return
        progress = self._meter.part(sum(runs.work(1) for runs, _ in missing))
        measured = simulate_all([one for _, one in missing], jobs=jobs, progress=progress)
        for (runs, _), results in zip(missing, measured, strict=True):
            runs.done.append(results)


class _Meter:
    """Progress over runs of unequal length.

    Args:
        progress: Called with the share that is done, 0 to 1.
        whole: Most work that there may be.
    """

    def __init__(self, progress: Progress | None, whole: float) -> None:
        self._progress = progress
        self._whole = whole
        self._done = 0.0

    def part(self, work: float) -> Progress | None:
        """Return the next runs' progress callback, weighted by `work`."""
        before, self._done = self._done, self._done + work
        tell = self._progress
        if tell is None:
            return None
        return lambda share: tell((before + share * work) / self._whole)

    def skip(self, work: float) -> None:
        """Count work as done that was not needed."""
        self._done += work
        if self._progress is not None:
            self._progress(self._done / self._whole)
