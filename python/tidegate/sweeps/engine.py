"""The runs of a sweep, handed to an executor and kept as they come back."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tidegate._tidegate import TidegateError
from tidegate.replications import jobs_for
from tidegate.stopping import LEAST
from tidegate.sweeps.agenda import Agenda
from tidegate.sweeps.batch import Outcome, carry_out
from tidegate.sweeps.cluster import connected
from tidegate.sweeps.plan import Plan
from tidegate.sweeps.rows import Wanted, table_of
from tidegate.sweeps.store import Directory, Memory, Store
from tidegate.sweeps.until import Followed
from tidegate.sweeps.workers import Workers
from tidegate.tables import Table

REPORT_INTERVAL = 0.1
"""Seconds between two reports of progress."""

AHEAD = 2
"""Batches for each worker that are handed out, so that none waits for its next one."""


@dataclass(frozen=True)
class Status:
    """The progress of a sweep.

    Attributes:
        done: Runs that are done, with those of an earlier call.
        total: Runs that the sweep has, as far as it is known.
        left: Seconds that are left, about; None before the first run is done.
    """

    done: int
    total: int
    left: float | None


Report = Callable[[Status], None]
"""Called about ten times a second, in the thread of the caller."""


def conduct(
    plan: Plan,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    out: str | os.PathLike[str] | None = None,
    command: str | None = None,
    force: bool = False,
    progress: Report | None = None,
) -> Table[str]:
    """Carry out a sweep whose points are checked; the arguments are those of `tidegate.sweep`.

    `command` is noted in the manifest.
    """
    if executor is not None and cluster is not None:
        raise TidegateError("runs are carried out by an executor or by a cluster, not by both")
    number = jobs_for(sys.maxsize, jobs)
    store: Store = Memory()
    if out is not None:
        about = {
            "base_dir": str(plan.source.base_dir),
            "command": command,
            "warnings": list(plan.warnings),
        }
        store = Directory(Path(out), plan.wanted, plan.source.scenario.toml, about, force=force)
    try:
        with _carrier(executor, cluster, number) as (carrier, at_a_time):
            runs = _carry_out_all(plan, carrier, at_a_time, store, progress)
        store.finish(runs)
        return table_of(store.rows(), dataclasses.replace(plan.wanted, runs=runs))
    except BaseException:
        store.finish(None)
        raise
    finally:
        store.close()


@contextmanager
def _carrier(
    executor: Executor | None, cluster: str | None, number: int
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Provide what carries batches out, and the number of them at a time."""
    if executor is not None:
        yield executor, lambda: number
    elif cluster is not None:
        with connected(cluster) as dask:
            yield dask, lambda: dask.number
    else:
        workers = Workers(number)
        try:
            yield workers, lambda: number
        finally:
            # Nothing is left to do, or nobody waits for it any more.
            workers.shutdown(wait=False)


def _carry_out_all(
    plan: Plan, executor: Executor, at_a_time: Callable[[], int], store: Store, report: Report | None
) -> list[int]:
    """Carry out the runs that the store does not have; return the number of runs of each point."""
    wanted = plan.wanted
    followed = None if plan.until is None else [Followed(plan.until) for _ in wanted.keys]

    def needed(point: int, runs: int) -> int:
        assert followed is not None
        return min(wanted.runs[point], followed[point].needed(runs))

    least = [min(LEAST, most) for most in wanted.runs] if followed else wanted.runs
    agenda = Agenda(least, needed if followed else None, _there(store.rows(), wanted, followed))
    pending: dict[Future[list[Outcome]], tuple[int, list[int]]] = {}
    began: float | None = None
    while True:
        workers = at_a_time()
        while len(pending) < AHEAD * workers and (turn := agenda.next()) is not None:
            point, replications = turn
            batch = plan.batch(point, replications)
            pending[executor.submit(carry_out, batch)] = turn
        if report is not None:
            left = None if began is None else agenda.left(time.perf_counter() - began)
            report(Status(agenda.done, agenda.total, left))
        if not pending:
            return agenda.runs
        ended, _ = wait(pending, REPORT_INTERVAL, FIRST_COMPLETED)
        for future in ended:
            point, replications = pending.pop(future)
            outcomes = _result(future)
            store.add(wanted.keys[point], outcomes)
            if followed is not None:
                for replication, outcome in zip(replications, outcomes, strict=True):
                    followed[point].add(replication, outcome)
            seconds = sum(one.seconds for one in outcomes)
            if began is None:
                # Starting the workers is no part of what the runs take.
                began = time.perf_counter() - seconds / workers
            agenda.record(point, len(replications), seconds)


def _result(future: Future[list[Outcome]]) -> list[Outcome]:
    try:
        return future.result()
    except BrokenExecutor as error:
        raise TidegateError(f"the executor cannot go on: {error}") from error


def _there(rows: pa.Table, wanted: Wanted, followed: Sequence[Followed] | None) -> list[set[int]]:
    """Return the replications of each point whose rows are there, and take up their figures."""
    places = {key: point for point, key in enumerate(wanted.keys)}
    there: list[set[int]] = [set() for _ in wanted.keys]
    columns = ["scenario", "seed", "group", *([followed[0].until.figure] if followed else [])]
    for key, seed, group, *figure in zip(*(rows[name].to_pylist() for name in columns), strict=True):
        point, replication = places[key], seed - wanted.first_seed
        there[point].add(replication)
        if followed:
            followed[point].note(replication, group, *figure)
    return there
