"""The runs of a paper's experiments: those that run the same look at the same runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate import Results, Simulation, simulate_all
from tidegate.replications import Progress
from tidegate.source import LoadedScenario
from tidegate_papers.paper import Experiment

Keep = Callable[[Results], Results]


@dataclass
class _Run:
    """Runs of a scenario that several experiments may look at.

    Attributes:
        scenario: The scenario.
        count: Number of them.
        series: Whether an experiment needs quantities over time.
        histogram: Whether one needs how often each delay occurred.
        workahead: Factors at which an experiment needs the exact W of flows.
        keep: Takes what was measured and returns what is kept of it; None for everything.
        left: Number of experiments' settings that are still to look at them.
        done: The results; None before the runs, and once they are no longer needed.
    """

    scenario: LoadedScenario
    count: int
    series: bool = False
    histogram: bool = False
    workahead: tuple[float, ...] = ()
    keep: Keep | None = None
    left: int = 0
    done: Results | None = None

    @property
    def work(self) -> float:
        """About how much work they are."""
        return self.count * self.scenario.duration * len(self.scenario.flows)

    @property
    def simulation(self) -> Simulation:
        """The runs to carry out."""
        return Simulation(
            self.scenario, self.count, series=self.series, workahead=self.workahead, keep=self._kept
        )

    def _kept(self, results: Results) -> Results:
        if self.keep is not None:
            return self.keep(results)
        if self.histogram:
            return results
        return replace(
            results, tables={**results.tables, "histogram": results.histogram.schema.empty_table()}
        )


class Planned:
    """All runs to carry out. Every scenario is read before the first one runs; probes change no outcome.

    Args:
        experiments: The experiments, in the order in which they are carried out.
        replications: Replications of the paper.
        recordings: The folder of recordings; None for none.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        TidegateError: A scenario has a mistake.
    """

    def __init__(
        self,
        experiments: Sequence[Experiment],
        replications: int,
        recordings: Path | None,
        progress: Progress | None,
    ) -> None:
        self._recordings = recordings
        self._runs: dict[tuple[str, Path, int, Keep | None], _Run] = {}
        self._settings = {one.name: self._plan(one, replications) for one in experiments}
        self._meter = _Meter(progress, sum(run.work for run in self._runs.values()))

    def _plan(self, experiment: Experiment, replications: int) -> dict[str, _Run]:
        measure = experiment.measure
        count = experiment.runs(replications)
        settings = {}
        for name, scenario in experiment.scenarios(self._recordings).items():
            key = (scenario.toml, scenario.base_dir, count, measure.keep)
            run = self._runs.setdefault(key, _Run(scenario, count, keep=measure.keep))
            run.series |= measure.series
            run.histogram |= measure.histogram
            run.workahead = tuple(dict.fromkeys((*run.workahead, *measure.workahead)))
            run.left += 1
            settings[name] = run
        return settings

    def results(self, experiment: Experiment, jobs: int | None) -> dict[str, Results]:
        """Return what was measured under each setting of an experiment, whose turn it is, by their names."""
        settings = self._settings[experiment.name]
        # Two settings may come to the same runs.
        pending = {id(run): run for run in settings.values() if run.done is None}
        self._conduct(list(pending.values()), jobs)
        return {name: self._results(run) for name, run in settings.items()}

    def _results(self, run: _Run) -> Results:
        """Return what runs have measured, and keep it while it is needed."""
        results = run.done
        if results is None:
            raise LookupError(f"no run of {run.scenario.name} is kept")
        run.left -= 1
        run.done = results if run.left else None
        return results

    def _conduct(self, pending: Sequence[_Run], jobs: int | None) -> None:
        """Carry runs out, those of several settings at a time."""
        if not pending:
            return
        progress = self._meter.part(sum(run.work for run in pending))
        simulations = [run.simulation for run in pending]
        measured = simulate_all(simulations, jobs=jobs, progress=progress)
        for run, results in zip(pending, measured, strict=True):
            run.done = results


class _Meter:
    """Progress over runs of unequal length."""

    def __init__(self, progress: Progress | None, whole: float) -> None:
        self._progress = progress
        self._whole = whole
        self._done = 0.0

    def part(self, work: float) -> Progress | None:
        """Return the next run's progress callback, weighted by `work`."""
        before, self._done = self._done, self._done + work
        tell = self._progress
        if tell is None:
            return None
        return lambda share: tell((before + share * work) / self._whole)
