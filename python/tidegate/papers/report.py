"""A paper's experiments carried out, and its published figures beside ours."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tidegate import _tidegate
from tidegate import replications as runs
from tidegate.papers.claims import Columns, Finding, find
from tidegate.papers.curves import Panel
from tidegate.papers.paper import Experiment, Paper, Table
from tidegate.replications import Progress
from tidegate.results import Results
from tidegate.source import Source


@dataclass(frozen=True)
class Outcome:
    """What became of one experiment.

    Attributes:
        experiment: The experiment.
        findings: Its published figures and ours.
        seeds: Seeds of its replications.
        duration: Simulated seconds that were measured in each.
        warmup: Seconds before them that were not.
        fingerprints: Outcome of each replication, by setting.
        scenario_hashes: SHA-256 of the scenario, by setting.
        panels: The curves that tell its story.
    """

    experiment: Experiment
    findings: tuple[Finding, ...]
    seeds: tuple[int, ...]
    duration: float
    warmup: float
    fingerprints: Mapping[str, tuple[str, ...]]
    scenario_hashes: Mapping[str, str]
    panels: tuple[Panel, ...] = ()

    @property
    def listed(self) -> list[Finding]:
        """The findings that are not cells of the experiment's tables."""
        cells = {table.cell(*at) for table in self.experiment.tables for at in table.places}
        return [one for one in self.findings if one.claim.name not in cells]

    def cells(self, table: Table) -> list[list[Finding]]:
        """Return the findings of a table, row by row."""
        by_name = {one.claim.name: one for one in self.findings}
        return [[by_name[table.cell(column, row)] for column in table.columns] for row in table.rows]


@dataclass(frozen=True)
class Report:
    """What became of a paper's claims.

    Attributes:
        paper: The paper.
        replications: Runs of each experiment under each setting.
        outcomes: What became of each experiment.
        wall_seconds: Seconds that it took.
        version: Version of tidegate.
    """

    paper: Paper
    replications: int
    outcomes: tuple[Outcome, ...]
    wall_seconds: float
    version: str

    @property
    def findings(self) -> list[Finding]:
        """All claims that can hold or not, over all experiments."""
        return [one for outcome in self.outcomes for one in outcome.findings if one.claim.judged]

    @property
    def broken(self) -> list[Finding]:
        """The required claims that do not hold."""
        return [one for one in self.findings if one.claim.required and one.holds is False]

    @property
    def unexpected(self) -> list[str]:
        """The required claims that do not come out as the paper's data say, one sentence for each.

        What is not known to be unmet must hold; an undecided claim does not.
        """
        return [
            f"{outcome.experiment.title}: {one.claim.name}: "
            + (
                "holds, and is listed as unmet"
                if one.holds
                else "is undecided"
                if one.holds is None
                else "does not hold"
            )
            for outcome in self.outcomes
            for one in outcome.findings
            if one.claim.required and (one.holds if one.claim.unmet else not one.holds)
        ]

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints; every figure is in its claim's unit."""
        rows = [(outcome.experiment, one) for outcome in self.outcomes for one in outcome.findings]
        return {
            "paper": self.paper.name,
            "title": self.paper.title,
            "reference": self.paper.reference,
            "tidegate_version": self.version,
            "replications": self.replications,
            "claims": [_claim(experiment, one) for experiment, one in rows if one.claim.judged],
            "figures": [_figure(experiment, one) for experiment, one in rows if not one.claim.judged],
        }


def conduct(
    paper: Paper,
    *,
    replications: int = 10,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Carry out a paper's experiments and put its published figures beside ours.

    Args:
        paper: What `tidegate.papers.load` returned.
        replications: Number of runs of each experiment, at least 1; intervals need 2. An experiment may
            have a multiple of it (`Experiment.times`).
        jobs: Runs at a time; by default as many as there are processors.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        TidegateError: A scenario has a mistake, or an argument is out of range.
        KeyboardInterrupt: Ctrl-C; every run has stopped by then.
    """
    started = time.perf_counter()
    # Every scenario is read before the first one runs: a mistake shows at once.
    sources = [one.sources() for one in paper.experiments]
    keys = [
        {name: _key(experiment, source) for name, source in by_name.items()}
        for experiment, by_name in zip(paper.experiments, sources, strict=True)
    ]
    # Experiments that run the same look at the same runs.
    runs_left = Counter(key for by_name in keys for key in by_name.values())
    meter = _Meter(progress, sum(key.work for key in runs_left))
    done: dict[_Key, Results] = {}
    outcomes = []
    figures: dict[str, Columns] = {}
    for experiment, by_name, keys_of in zip(paper.experiments, sources, keys, strict=True):
        results = {}
        for name, source in by_name.items():
            key = keys_of[name]
            if key not in done:
                done[key] = runs.run(
                    source,
                    replications=replications * experiment.times,
                    jobs=jobs,
                    series=experiment.measure.series,
                    progress=meter.part(key.work),
                )
            results[name] = done[key]
            runs_left[key] -= 1
            if not runs_left[key]:
                del done[key]
        figures[experiment.name] = experiment.measure.figures(results, figures)
        draw = experiment.measure.panels
        first = next(iter(results.values()))
        outcomes.append(
            Outcome(
                experiment,
                tuple(find(experiment.claims, figures[experiment.name])),
                first.seeds,
                first.duration - first.warmup,
                first.warmup,
                {name: one.fingerprints for name, one in results.items()},
                {name: one.scenario_hash for name, one in results.items()},
                () if draw is None else draw(results),
            )
        )
    wall = time.perf_counter() - started
    return Report(paper, replications, tuple(outcomes), wall, _tidegate.__version__)


class _Key(NamedTuple):
    """What makes two settings the same runs, and about how much work these are."""

    scenario: str
    base_dir: Path
    times: int
    series: bool
    work: float


def _key(experiment: Experiment, source: Source) -> _Key:
    scenario = source.scenario
    work = experiment.times * scenario.duration * len(scenario.flows)
    return _Key(scenario.toml, source.base_dir, experiment.times, experiment.measure.series, work)


class _Meter:
    """Progress over runs of unequal length."""

    def __init__(self, progress: Progress | None, whole: float) -> None:
        self._progress = progress
        self._whole = whole
        self._done = 0.0

    def part(self, work: float) -> Progress | None:
        """Return what is to be told the progress of the next run, which is of this much work."""
        before, self._done = self._done, self._done + work
        tell = self._progress
        if tell is None:
            return None
        return lambda share: tell((before + share * work) / self._whole)


def _claim(experiment: Experiment, finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    return _figure(experiment, finding) | {
        "tolerance": claim.tolerance,
        "factor": claim.factor,
        "at_most": claim.at_most,
        "at_least": claim.at_least,
        "every_replication": claim.every,
        "worst": finding.worst,
        "required": claim.required,
        "holds": finding.holds,
        "why": finding.why,
    }


def _figure(experiment: Experiment, finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    return {
        "claim": f"{experiment.title}: {claim.name}",
        "experiment": experiment.name,
        "unit": claim.unit,
        "paper": claim.paper,
        "measured": finding.measured.mean,
        "ci95": finding.measured.half_width,
        "beside": {
            name: {"measured": one.mean, "ci95": one.half_width} for name, one in finding.beside.items()
        },
    }
