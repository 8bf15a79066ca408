"""A paper's experiments carried out, and its published figures beside ours."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate import TidegateError, __version__
from tidegate.replications import Progress
from tidegate_papers import phrases
from tidegate_papers.claims import Finding, find
from tidegate_papers.curves import HeatMap, Panel, document
from tidegate_papers.families import Carried, families
from tidegate_papers.paper import Experiment, Paper, Table
from tidegate_papers.planned import Planned


@dataclass(frozen=True)
class Outcome:
    """Outcome of one experiment.

    Attributes:
        experiment: The experiment.
        findings: Its published figures and ours.
        seeds: Seeds of its replications, under the setting that has most.
        duration: Simulated seconds that were measured in each.
        warmup: Seconds before them that were not.
        fingerprints: Outcome of each replication, by setting.
        scenario_hashes: SHA-256 of the scenario, by setting.
        panels: The curves that tell its story.
        cpu_seconds: Processor time that it took; runs that another experiment looks at, too, count for
            the first of them.
    """

    experiment: Experiment
    findings: tuple[Finding, ...]
    seeds: tuple[int, ...]
    duration: float
    warmup: float
    fingerprints: Mapping[str, tuple[str, ...]]
    scenario_hashes: Mapping[str, str]
    panels: tuple[Panel | HeatMap, ...] = ()
    cpu_seconds: float = 0.0

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
class Skipped:
    """An experiment that was not carried out.

    Attributes:
        experiment: The experiment.
        why: Which recording is missing.
    """

    experiment: Experiment
    why: str


@dataclass(frozen=True)
class Report:
    """Outcome of a paper's claims.

    Attributes:
        paper: The paper.
        replications: Runs of each experiment under each setting, which an experiment may have more
            or fewer times; None for as many as its claims need.
        outcomes: Outcome of each experiment.
        wall_seconds: Seconds that it took.
        version: Version of tidegate.
        skipped: Experiments that were not carried out, for want of a recording.
        left_out: Experiments of which nothing is required, and which runs that end by what claims need
            leave out.
    """

    paper: Paper
    replications: int | None
    outcomes: tuple[Outcome, ...]
    wall_seconds: float
    version: str
    skipped: tuple[Skipped, ...] = ()
    left_out: tuple[Experiment, ...] = ()

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
        rows = [(outcome, one) for outcome in self.outcomes for one in outcome.findings]
        return {
            "paper": self.paper.name,
            "title": self.paper.title,
            "reference": self.paper.reference,
            "tidegate_version": self.version,
            "replications": self.replications,
            "experiments": [_experiment(outcome) for outcome in self.outcomes],
            "claims": [_claim(outcome, one) for outcome, one in rows if one.claim.judged],
            "figures": [_figure(outcome, one) for outcome, one in rows if not one.claim.judged],
            "skipped": {one.experiment.name: one.why for one in self.skipped},
            "left_out": [one.name for one in self.left_out],
        }

    def curves(self) -> dict[str, list[dict[str, Any]]]:
        """Return the panels of each experiment that has some, as values of JSON."""
        return {
            outcome.experiment.name: [document(panel) for panel in outcome.panels]
            for outcome in self.outcomes
            if outcome.panels
        }


def conduct(
    paper: Paper,
    *,
    replications: int | None = None,
    jobs: int | None = None,
    everything: bool = False,
    only: Sequence[str] = (),
    recordings: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Carry out a paper's experiments and put its published figures beside ours.

    Args:
        paper: The paper, from `load`.
        replications: Number of runs of each experiment, at least 1; intervals need 2. An experiment
            may have more or fewer (`Experiment.times`). None for `LEAST`, and then as many as give
            every claim its `wanted_half_width`, up to `Experiment.most_runs`; runs are `brief` then,
            and settings that are only drawn are left out.
        jobs: Runs at a time; by default as many as there are processors.
        everything: Whether experiments on request are carried out, too (`Experiment.on_request`).
        only: Names of the experiments to carry out, also of those on request; without one, all of
            them, but those that are `only_full` where no number of runs is stated.
        recordings: The folder of recordings that are not part of the package; None for none.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        TidegateError: A scenario has a mistake, an argument is out of range, or there is no such
            experiment, or no such folder.
        KeyboardInterrupt: Ctrl-C; every run has stopped by then.

    An experiment whose recording is missing (`Measure.needs`) is skipped, and `Report.skipped` says
    so.
    """
    started = time.perf_counter()
    if replications is not None and replications < 1:
        raise TidegateError(f"the number of replications must be at least 1, not {replications}")
    # Every scenario is read before the first one runs: a mistake shows at once.
    if recordings is not None and not recordings.is_dir():
        raise TidegateError(f"{recordings}: is not a folder of recordings")
    as_needed = replications is None
    wanted = paper.chosen(only, everything=everything, as_needed=as_needed)
    missing = {one.name: one.missing(recordings) for one in wanted}
    experiments = [one for one in wanted if missing[one.name] is None]
    planned = Planned(
        [(one, one.most_runs if replications is None else one.runs(replications)) for one in experiments],
        recordings,
        progress,
        as_needed=as_needed,
    )
    carried = [
        _outcome(one)
        for family in families(experiments)
        for one in family.carry_out(planned, replications, jobs)
    ]
    outcomes = sorted(carried, key=lambda outcome: experiments.index(outcome.experiment))
    wall = time.perf_counter() - started
    skipped = tuple(Skipped(one, why) for one in wanted if (why := missing[one.name]) is not None)
    left_out = () if only else _left_out(paper, wanted)
    return Report(paper, replications, tuple(outcomes), wall, __version__, skipped, left_out)


def _left_out(paper: Paper, wanted: Sequence[Experiment]) -> tuple[Experiment, ...]:
    return tuple(one for one in paper.experiments if one.only_full and one not in wanted)


def _outcome(carried: Carried) -> Outcome:
    experiment = carried.experiment
    first = max(carried.runs.values(), key=lambda results: results.replications)
    draw = experiment.measure.panels
    return Outcome(
        experiment,
        tuple(find(experiment.claims, carried.figures, carried.first)),
        first.seeds,
        first.duration - first.warmup,
        first.warmup,
        {name: one.fingerprints for name, one in carried.runs.items()},
        {name: one.scenario_hash for name, one in carried.runs.items()},
        () if draw is None else draw(carried.runs),
        carried.cpu_seconds,
    )


def _experiment(outcome: Outcome) -> dict[str, Any]:
    experiment = outcome.experiment
    return {
        "name": experiment.name,
        "title": experiment.title,
        "where": experiment.where,
        "about": experiment.about,
        "seeds": list(outcome.seeds),
        "duration": outcome.duration,
        "warmup": outcome.warmup,
    }


def _claim(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    return _figure(outcome, finding) | {
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


def _figure(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    return {
        "claim": f"{outcome.experiment.title}: {claim.name}",
        "experiment": outcome.experiment.name,
        "runs": finding.runs,
        "unit": claim.unit,
        "paper": claim.paper,
        "derived": claim.derived,
        "measured": finding.measured.mean,
        "ci95": finding.measured.half_width,
        "beside": {
            name: {"measured": one.mean, "ci95": one.half_width} for name, one in finding.beside.items()
        },
        "words": {
            "paper": phrases.published(claim),
            "derived": phrases.derived(claim),
            "measured": phrases.measured(finding),
            "allowed": phrases.allowed(claim),
            "beside": {name: phrases.figure(one) for name, one in finding.beside.items()},
        },
    }
