"""Runs of one scenario under several seeds, side by side."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.captures import Captures, resolved
from tidegate.results import Results
from tidegate.run_results import Measured, results_of
from tidegate.run_tables import as_arrow
from tidegate.source import Overrides, ScenarioLike, Source, checked, resolve

__all__ = ["Progress", "Simulation", "simulate", "simulate_all"]

SLICE = 200_000
"""Events between two looks at whether to stop; they take well under 0.2 s."""

REPORT_INTERVAL = 0.1
"""Seconds between two reports of progress."""

LARGEST_SEED = 2**63 - 1

FACTORS = (0.01, 100.0)
"""The least and the greatest factor on reserved rates at which the workahead of flows is
measured."""

Progress = Callable[[float], None]
"""Called from time to time with the share that is done, 0 to 1, in the thread of the caller."""


def simulate(
    scenario: ScenarioLike,
    *,
    replications: int = 1,
    jobs: int | None = None,
    seed: int | None = None,
    series: bool = False,
    workahead: Sequence[float] = (),
    captures: Captures | None = None,
    scheduler: str | None = None,
    sets: Overrides = (),
    progress: Progress | None = None,
    **values: str | float,
) -> Results:
    """Run a scenario and return what was measured.

    Args:
        scenario: A path, TOML text, a `tidegate.Scenario` built in Python, or what `tidegate.load`
            returned.
        replications: Number of runs, at least 1; run k, from 0, has the seed `seed` + k.
        jobs: Runs at a time, at least 1; by default as many as there are processors. The number
            changes no result.
        seed: Seed of the first run, below 2⁶³; by default the scenario's own.
        series: Whether to record queues, utilisation and throughput over time.
        workahead: Factors on the reserved rates of flows at which to measure their exact maximum
            workahead W along their routes, as (1, 1.02), each from 0.01 to 100; the table
            `workahead`.
        captures: A pcapng file for each link whose packets to capture: `{"s1-s2": "out.pcapng"}` for
            both directions of a link, `{"s1->s2": ...}` for one; of one run only.
        scheduler: Scheduler of all ports of switches that state none of their own; an
            override of `port.scheduler`.
        sets: Overrides such as `("switch.buffer", "50p")`, applied in order.
        progress: Called about ten times a second with the share that is done, 0 to 1.
        values: More overrides, by their paths: `duration="10s"`, or `**{"switch.buffer": "50p"}`.

    Raises:
        TidegateError: The scenario cannot be read or has a mistake, or an argument is out of range.
        KeyboardInterrupt: Ctrl-C; every run has stopped by then.
    """
    chosen = [] if scheduler is None else [("port.scheduler", scheduler)]
    return run(
        resolve(scenario, [*chosen, *checked(sets), *((path, str(value)) for path, value in values.items())]),
        replications=replications,
        jobs=jobs,
        seed=seed,
        series=series,
        workahead=workahead,
        captures=captures,
        progress=progress,
    )


def run(
    source: Source,
    *,
    replications: int = 1,
    jobs: int | None = None,
    seed: int | None = None,
    series: bool | Sequence[str] = False,
    workahead: Sequence[float] = (),
    captures: Captures | None = None,
    progress: Progress | None = None,
) -> Results:
    """Do what `simulate` does, for a scenario that is already resolved."""
    simulation = Simulation(source, replications, seed, series, workahead, captures=captures)
    (results,) = simulate_all([simulation], jobs=jobs, progress=progress)
    return results


@dataclass(frozen=True)
class Simulation:
    """The runs of one scenario: what `simulate` takes, for `simulate_all`.

    Attributes:
        scenario: A path, TOML text, a `tidegate.Scenario` built in Python, or what `tidegate.load`
            returned.
        replications: Number of runs, at least 1.
        seed: Seed of the first; None for the scenario's own.
        series: Whether to record quantities over time, or the metrics of which to keep them.
        workahead: Factors at which to measure the exact W of flows.
        keep: Takes results and returns the part that is kept while others run; None for everything.
        captures: A pcapng file for each link to capture.
    """

    scenario: ScenarioLike | Source
    replications: int = 1
    seed: int | None = None
    series: bool | Sequence[str] = False
    workahead: Sequence[float] = ()
    keep: Callable[[Results], Results] | None = None
    captures: Captures | None = None


def simulate_all(
    simulations: Sequence[Simulation], *, jobs: int | None = None, progress: Progress | None = None
) -> list[Results]:
    """Carry out runs of several scenarios, as many at a time as there are jobs.

    The results are returned in the order of the scenarios. Every scenario is read before the first
    one runs.

    `progress` is called with the share of the simulated time that is done.

    Raises:
        TidegateError: A scenario cannot be read or has a mistake, or an argument is out of range.
        KeyboardInterrupt: Ctrl-C; every run has stopped by then.
    """
    stop = threading.Event()
    works = [_Work(stop, one) for one in simulations]
    workers = jobs_for(sum(one.replications for one in simulations), jobs)
    with ThreadPoolExecutor(workers, thread_name_prefix="tidegate") as pool:
        try:
            for work in works:
                work.submit(pool)
            return _wait_all(works, progress)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def seeds_of(source: Source, replications: int, seed: int | None) -> tuple[int, ...]:
    """Return the seed of every replication.

    Raises:
        TidegateError: There are no replications, or a seed is out of range.
    """
    if replications < 1:
        raise TidegateError(f"the number of replications must be at least 1, not {replications}")
    first = source.scenario.seed if seed is None else seed
    if not 0 <= first <= LARGEST_SEED:
        raise TidegateError(f"`seed` ({first}) is not from 0 to {LARGEST_SEED}")
    if first > LARGEST_SEED - replications + 1:
        raise TidegateError(f"the last of {replications} seeds from {first} on is above {LARGEST_SEED}")
    return tuple(range(first, first + replications))


def factors_of(workahead: Sequence[float]) -> list[float]:
    """Return the factors at which to measure the workahead of flows, each once.

    Raises:
        TidegateError: One is out of range, or given twice.
    """
    factors = [float(factor) for factor in workahead]
    for factor in factors:
        if not FACTORS[0] <= factor <= FACTORS[1]:
            raise TidegateError(
                f"a factor on the reserved rates is from {FACTORS[0]:g} to {FACTORS[1]:g}, not {factor:g}"
            )
        if factors.count(factor) > 1:
            raise TidegateError(f"the factor {factor:g} on the reserved rates is given twice")
    return factors


def jobs_for(replications: int, jobs: int | None) -> int:
    """Return the number of runs at a time.

    Raises:
        TidegateError: `jobs` is below 1.
    """
    if jobs is None:
        jobs = len(os.sched_getaffinity(0))
    if jobs < 1:
        raise TidegateError(f"the number of jobs must be at least 1, not {jobs}")
    return min(jobs, replications)


class _Work:
    """The runs of one scenario, which threads share.

    Each replication is one task, and keeps only its tables when it is done.

    Args:
        stop: Set when all are to stop.
        simulation: The runs to carry out.

    Raises:
        TidegateError: The scenario cannot be read or has a mistake, or a setting is out of range.
    """

    def __init__(self, stop: threading.Event, simulation: Simulation) -> None:
        self._stop = stop
        self._simulation = simulation
        self._source = resolve(simulation.scenario)
        self._seeds = seeds_of(self._source, simulation.replications, simulation.seed)
        self._factors = factors_of(simulation.workahead)
        if simulation.captures and simulation.replications > 1:
            raise TidegateError(f"a capture is of one run, not of {simulation.replications}")
        self._captures = resolved(self._source.scenario.links, simulation.captures or {})
        self._done = [0.0] * len(self._seeds)
        self._futures: list[Future[Measured]] = []
        self._started = time.perf_counter()

    def submit(self, pool: ThreadPoolExecutor) -> None:
        """Hand every replication to a pool."""
        self._futures = [pool.submit(self.replicate, index) for index in range(len(self._seeds))]

    def replicate(self, index: int) -> Measured:
        """Carry out one replication.

        Raises:
            CancelledError: The runs are to stop.
        """
        self._check_stopped()
        if not index:
            self._started = time.perf_counter()
        scenario = self._source.scenario
        series = self._simulation.series
        run = _tidegate.Run(
            scenario,
            self._seeds[index],
            index,
            bool(series),
            workahead=self._factors,
            captures=self._captures,
        )
        while not run.advance(SLICE):
            self._check_stopped()
            self._done[index] = run.progress
        self._done[index] = 1.0
        metrics = None if isinstance(series, bool) else series
        return Measured(as_arrow(run.tables(), metrics), run.fingerprint, run.packet_hops)

    def _check_stopped(self) -> None:
        if self._stop.is_set():
            raise CancelledError

    @property
    def whole(self) -> float:
        """Simulated seconds of all replications."""
        return self._source.scenario.duration * len(self._seeds)

    @property
    def done(self) -> float:
        """Simulated seconds that are done."""
        return self._source.scenario.duration * sum(self._done)

    def pending(self) -> set[Future[Measured]]:
        """Return the replications that are not over, and raise what one has failed with."""
        for future in self._futures:
            if future.done():
                future.result()
        return {future for future in self._futures if not future.done()}

    def gather(self) -> Results:
        """Put together what all replications have measured, and forget what is not to be kept."""
        finished = [future.result() for future in self._futures]
        self._futures = []
        source = self._source
        results = results_of(source, finished, self._seeds, time.perf_counter() - self._started)
        return results if self._simulation.keep is None else self._simulation.keep(results)


def _wait_all(works: Sequence[_Work], progress: Progress | None) -> list[Results]:
    """Wait for all runs, and for the first one that fails; return what they have measured."""
    whole = sum(work.whole for work in works)
    gathered: list[Results] = []
    while len(gathered) < len(works):
        # They are carried out in their order.
        wait(works[len(gathered)].pending(), timeout=REPORT_INTERVAL)
        while len(gathered) < len(works) and not works[len(gathered)].pending():
            gathered.append(works[len(gathered)].gather())
        if progress is not None:
            progress(sum(work.done for work in works) / whole)
    return gathered
