"""A score for a policy: named suites of trials, under fixed seeds, in processes with limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tidegate._tidegate import TidegateError
from tidegate.policy import PolicyFile
from tidegate.replications import jobs_for
from tidegate.score.measures import Figures
from tidegate.score.sandbox import Job, Sandbox
from tidegate.score.seeds import PUBLIC, seeds
from tidegate.score.suites import SUITES, Suite, Trial

__all__ = ["SUITES", "Outcome", "Score", "Suite", "Trial", "score"]

REFERENCE = None
"""Stands for the policy of the trials' own files, FIFO, with whose figures others are compared."""


@dataclass(frozen=True)
class Outcome:
    """A policy in one trial.

    Attributes:
        trial: Name of the trial.
        points: 0 to 1.
        figures: What was measured, means over the seeds, in SI base units.
        fingerprints: The outcome under each seed, as 16 hexadecimal digits.
    """

    trial: str
    points: float
    figures: Figures
    fingerprints: tuple[str, ...]


@dataclass(frozen=True)
class Score:
    """The score of a policy in a suite.

    Attributes:
        policy: The policy, in one line.
        suite: Name of the suite.
        seeds: Seeds of the runs of each trial.
        outcomes: One for each trial, in the order of the suite.
    """

    policy: str
    suite: str
    seeds: tuple[int, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def points(self) -> float:
        """The mean of all trials, 0 to 1."""
        return sum(one.points for one in self.outcomes) / len(self.outcomes)


def score(
    policy: str,
    suite: str,
    *,
    python: Sequence[str | os.PathLike[str]] = (),
    secret: str | None = None,
    jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Score:
    """Score a policy: 0 to 1 in each trial of a suite, and the mean of them.

    Args:
        policy: A policy in one line, as `tidegate compare` takes it.
        suite: Name of a suite, one of `SUITES`.
        python: Files that define policies in Python.
        secret: Text from which the seeds are drawn; by default they are public ones.
        jobs: Processes at a time; by default one for each processor.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        TidegateError: The suite or the policy is unknown, the policy raised an exception, or it did
            what a policy may not do.
    """
    if suite not in SUITES:
        raise TidegateError(f"there is no suite `{suite}`\n  help: it is one of {', '.join(SUITES)}")
    if secret == "":
        raise TidegateError("a secret has at least one character")
    chosen = SUITES[suite]
    drawn = seeds(suite, PUBLIC if secret is None else secret)
    files = tuple(_file(path) for path in python)
    policies = (policy, REFERENCE) if chosen.is_relative else (policy,)
    work = [(trial, one) for trial in chosen.trials for one in policies]
    found = {}
    sandbox = Sandbox()
    with ThreadPoolExecutor(jobs_for(len(work), jobs)) as pool:
        # The first trial is carried out twice where a policy may not be the same twice.
        running = {
            pool.submit(
                sandbox.carry_out,
                Job(suite, trial.name, one, drawn, files, twice=bool(files) and trial is chosen.trials[0]),
            ): (trial.name, one)
            for trial, one in work
        }
        try:
            for done, future in enumerate(as_completed(running), 1):
                found[running[future]] = future.result()
                if progress is not None:
                    progress(done / len(work))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            sandbox.stop()
            raise
    outcomes = []
    for trial in chosen.trials:
        own = found[trial.name, policy]
        beside = found[trial.name, REFERENCE].figures if chosen.is_relative else {}
        points = trial.points(own.figures, beside)
        outcomes.append(Outcome(trial.name, min(1.0, max(0.0, points)), own.figures, own.fingerprints))
    return Score(policy, suite, drawn, tuple(outcomes))


def _file(path: str | os.PathLike[str]) -> PolicyFile:
    try:
        return PolicyFile(str(path), Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TidegateError(f"{path}: {error}") from error
