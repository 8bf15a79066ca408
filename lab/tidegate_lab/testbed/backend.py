"""Several runs of a scenario in the kernel: what `tidegate compare --on linux` calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from tidegate.backends import Measured, jobs_for, results_of, seeds_of
from tidegate_lab.testbed import runs
from tidegate_lab.uml import build

if TYPE_CHECKING:
    from tidegate.backends import Source
    from tidegate.results import Results

REPORT_INTERVAL = 0.1
"""Time between two reports of progress, in s."""


def run(
    source: Source,
    *,
    replications: int = 1,
    jobs: int | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Results:
    """Run a scenario in the kernel and return what was measured, in the tables of `tidegate.simulate`.

    Args:
        source: The scenario.
        replications: Number of runs, at least 1; run k, from 0, has the seed `seed` + k.
        jobs: Kernels at a time; by default as many as there are processors.
        seed: Seed of the first run; by default the scenario's own.
        progress: Called about ten times a second with the share that is done, 0 to 1.

    Raises:
        TidegateError: The kernel is not built, something in the scenario cannot be carried over to
            it, or a run failed.
    """
    results, _ = run_and_describe(source, replications=replications, jobs=jobs, seed=seed, progress=progress)
    return results


def run_and_describe(
    source: Source,
    *,
    replications: int = 1,
    jobs: int | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Results, dict[str, Any]]:
    """Do what `run` does, and say what ran: kernel, queueing disciplines and settings."""
    kernel = build.find()
    seeds = seeds_of(source, replications, seed)
    began = time.perf_counter()
    done = [0.0] * len(seeds)
    stop = threading.Event()

    def carry_out(index: int) -> runs.Outcome:
        def tell(share: float) -> None:
            done[index] = share

        return runs.run_once(kernel, source, seeds[index], index, tell, stop)

    with ThreadPoolExecutor(jobs_for(replications, jobs)) as pool:
        try:
            pending = [pool.submit(carry_out, index) for index in range(len(seeds))]
            while not all(one.done() for one in pending):
                for one in pending:
                    if one.done():
                        one.result()
                wait(pending, timeout=REPORT_INTERVAL)
                if progress is not None:
                    progress(sum(done) / len(done))
            outcomes = [one.result() for one in pending]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    about = {
        "kernel": kernel.version,
        "qdiscs": outcomes[0].qdiscs,
        "sysctls": outcomes[0].sysctls,
        "queues": [one.queues for one in outcomes],
    }
    measured = [Measured(one.tables, one.fingerprint, one.packets) for one in outcomes]
    return results_of(source, measured, seeds, time.perf_counter() - began), about
