"""The process in which a trial runs: reads a job on standard input, and prints its figures.

While the simulator calls a policy in Python, the policy may not sleep, start processes, use the network,
or simulate.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from types import FrameType
from typing import Any

from tidegate import _tidegate, replications
from tidegate._tidegate import TidegateError
from tidegate.policy import PolicyFile, define
from tidegate.results import Results
from tidegate.score.measures import mean
from tidegate.score.sandbox import MEMORY_LIMIT
from tidegate.score.suites import SUITES
from tidegate.source import of_text

FORBIDDEN = {
    "os.exec": "start processes",
    "os.fork": "start processes",
    "os.posix_spawn": "start processes",
    "os.system": "start processes",
    "subprocess.Popen": "start processes",
    "socket.connect": "use the network",
}
"""Audit events of Python (PEP 578) that a policy may not raise, and what they are."""


def main() -> None:
    """Carry out the job on standard input."""
    job = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (job["cpu_limit"], job["cpu_limit"] + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    try:
        answer = carried_out(job)
    except TidegateError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))


def carried_out(job: dict[str, Any]) -> dict[str, Any]:
    """Return the figures and the fingerprints of a job.

    Raises:
        TidegateError: The policy is unknown, raised an exception, differs from run to run, or did what
            a policy may not do.
    """
    files = [PolicyFile(**file) for file in job["files"]]
    permits = guard({file.path for file in files})
    for file in files:
        define(file)
    trial = SUITES[job["suite"]].trial(job["trial"])
    # The policy comes last: it stands for whatever the text has there.
    sets = [] if job["policy"] is None else [("port.policy", job["policy"])]
    source = of_text(trial.text, sets, trial.name)

    def run(seed: int) -> Results:
        permits.append(seed)
        return replications.run(source, seed=seed, jobs=1)

    runs = [run(seed) for seed in job["seeds"]]
    if job["twice"] and run(job["seeds"][0]).fingerprints != runs[0].fingerprints:
        raise TidegateError(
            f"{job['policy']}: two runs under one seed differ; `check_deterministic` says where"
        )
    figures = [trial.measure(results) for results in runs]
    return {
        "figures": {name: mean([one[name] for one in figures]) for name in figures[0]},
        "fingerprints": [results.fingerprints[0] for results in runs],
    }


def guard(files: set[str]) -> list[int]:
    """Refuse from now on what the policies of some files may not do.

    Returns:
        Permits to simulate, of which each run takes one.
    """
    permits: list[int] = []

    def refuse_policies(what: str) -> None:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename in files:
                place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise PermissionError(f"a policy may not {what} ({place})")
            frame = frame.f_back

    def audit(event: str, _: tuple[object, ...]) -> None:
        if event in FORBIDDEN:
            refuse_policies(FORBIDDEN[event])

    sleep, made = time.sleep, _tidegate.Run

    def guarded_sleep(seconds: float) -> None:
        refuse_policies("sleep")
        sleep(seconds)

    def guarded_run(*arguments: Any, **named: Any) -> _tidegate.Run:
        # A run of a policy may be made in a thread that does not show it.
        if not permits:
            raise PermissionError("a policy may not simulate")
        permits.pop()
        return made(*arguments, **named)

    vars(time)["sleep"] = guarded_sleep
    vars(_tidegate)["Run"] = guarded_run
    sys.addaudithook(audit)
    return permits


if __name__ == "__main__":
    main()
