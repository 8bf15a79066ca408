"""Sweeps: one scenario at many points, each under the same seeds, as one table."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from pathlib import Path

from tidegate.source import Overrides, ScenarioLike, Source, resolve
from tidegate.sweeps.engine import Report, Status, conduct
from tidegate.sweeps.plan import prepare
from tidegate.sweeps.request import Value, Values, request
from tidegate.sweeps.rows import table_of
from tidegate.sweeps.store import read
from tidegate.sweeps.summary import summary
from tidegate.tables import Table

__all__ = ["Report", "Status", "Value", "Values", "load", "summary", "sweep"]


def sweep(
    scenario: ScenarioLike | Source,
    values: Values | None = None,
    *,
    design: str | None = None,
    points: int | None = None,
    design_seed: int | None = None,
    csv: str | os.PathLike[str] | None = None,
    replications: int | None = None,
    until: str | None = None,
    seed: int | None = None,
    sets: Overrides = (),
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Report | None = None,
) -> Table[str]:
    """Run a scenario at every point of a sweep; return a table with a row for each run and group of flows.

    Replication k has the same seed at every point, and so the same random numbers. What the section
    `[sweep]` of the scenario says holds where an argument is not given.

    Args:
        scenario: A scenario in any form that `tidegate.simulate` takes.
        values: Values of each parameter by its key, as in {"flow.voice.count": ["1", "2", "4"]}; a
            single value is a setting of every point, and text such as "64kbit..512kbit" a range.
        design: `product` (the default: every combination), `zip` (the first values together, then
            the second), `random` or `latin-hypercube` (values that are drawn).
        points: Number of points that are drawn.
        design_seed: Seed with which they are; 1 by default.
        csv: A file with more parameters in its heading and a point in each line.
        replications: Number of runs of each point, by default 10; with `until` the most of them, by
            default 200.
        until: A figure and half its 95 % interval, as `delay_p99:5%`: a point has at least 10 runs, and
            as many as that needs in every group of flows; `voice.delay_p99:5%` is of one group.
        seed: Seed of replication 0; by default the scenario's own.
        sets: More settings of every point.
        jobs: Runs at a time: processes of this computer, by default as many as it has processors; with
            `executor`, how many batches it carries out at a time.
        executor: Carries the runs out, as those of `concurrent.futures` do; the same rows come back.
        cluster: A scheduler of Dask (`tcp://HOST:PORT`), or jobs of SLURM
            (`slurm:partition=short,jobs=8`), that carries them out; `pip install tidegate[cluster]`.
        out: Directory to which rows are appended as they come. A sweep that was ended there goes on
            where it was.
        force: Whether runs in `out` that do not belong to this sweep are removed.
        progress: Learns about ten times a second how far the sweep is.

    Raises:
        TidegateError: The scenario, a point or an argument is unusable; no run has begun then. Or the
            workers cannot go on.
        KeyboardInterrupt: Ctrl-C; `out` holds what is done.
    """
    asked = request(
        scenario,
        values,
        design=design,
        points=points,
        design_seed=design_seed,
        csv=csv,
        replications=replications,
        until=until,
        sets=sets,
    )
    plan = prepare(resolve(scenario, asked.fixed), asked, seed)
    return conduct(
        plan, jobs=jobs, executor=executor, cluster=cluster, out=out, force=force, progress=progress
    )


def load(directory: str | os.PathLike[str]) -> Table[str]:
    """Read the table of a sweep, or the part of it that is done.

    Raises:
        TidegateError: `directory` holds no sweep, or cannot be read.
    """
    rows, wanted, _ = read(Path(directory))
    return table_of(rows, wanted)
