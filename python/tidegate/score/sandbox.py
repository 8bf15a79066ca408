"""A process for one trial of a policy, with limits on its time and its memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass

from tidegate._tidegate import TidegateError
from tidegate.policy import PolicyFile

CPU_LIMIT = 30
"""Seconds of processor time of a trial."""

WALL_LIMIT = 300
"""Seconds after which a trial is ended that does nothing."""

MEMORY_LIMIT = 4 << 30
"""Bytes of address space of a trial."""


@dataclass(frozen=True)
class Job:
    """A trial to carry out.

    Attributes:
        suite: Name of the suite.
        trial: Name of the trial.
        policy: The policy, in one line; None for that of the file.
        seeds: Seeds of the runs.
        files: Files that define policies in Python.
        twice: True if the first run is carried out again and has to be the same.
        cpu_limit: Seconds of processor time.
    """

    suite: str
    trial: str
    policy: str | None
    seeds: tuple[int, ...]
    files: tuple[PolicyFile, ...]
    twice: bool = False
    cpu_limit: int = CPU_LIMIT


@dataclass(frozen=True)
class Carried:
    """A trial that was carried out.

    Attributes:
        figures: What was measured, means over the seeds.
        fingerprints: The outcome under each seed.
    """

    figures: dict[str, float]
    fingerprints: tuple[str, ...]


class Sandbox:
    """The processes of a score, which end with it."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()

    def stop(self) -> None:
        """End all processes, and those that policies have started."""
        for process in tuple(self._running):
            _kill(process)

    def carry_out(self, job: Job) -> Carried:
        """Carry out a trial in a process of its own.

        Raises:
            TidegateError: The policy is unknown, raised an exception, took too long, or did what a
                policy may not do.
        """
        command = [sys.executable, "-m", "tidegate.score.worker"]
        # The order of sets is the same in every process.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        ) as process:
            self._running.add(process)
            try:
                printed, said = process.communicate(json.dumps(asdict(job)), timeout=WALL_LIMIT)
            except subprocess.TimeoutExpired:
                raise TidegateError(f"{job.policy}: the trial `{job.trial}` did not end") from None
            finally:
                _kill(process)
                self._running.discard(process)
        return _answered(job, process.returncode, printed, said)


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _answered(job: Job, code: int, printed: str, said: str) -> Carried:
    """Return what a process answered.

    Raises:
        TidegateError: The policy is unknown, raised an exception, took too long, or did what a policy
            may not do.
    """
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        raise TidegateError(
            f"{job.policy}: the trial `{job.trial}` took more than {job.cpu_limit} s of processor time"
        )
    try:
        # A policy may print: the last line is the answer.
        answer = json.loads(printed.splitlines()[-1])
    except (IndexError, ValueError):
        what = said.strip().splitlines()[-1:] or [f"its process ended with {code}"]
        raise TidegateError(f"{job.policy}: the trial `{job.trial}` failed: {what[0]}") from None
    if "error" in answer:
        raise TidegateError(answer["error"])
    return Carried(answer["figures"], tuple(answer["fingerprints"]))
