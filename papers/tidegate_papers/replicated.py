"""Results of several runs of a scenario, out of those of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from tidegate import Results


def replicated(runs: Sequence[Results]) -> Results:
    """Return the results of runs, each of one seed, as those of replications numbered from 0."""
    first = runs[0]
    if len(runs) == 1:
        return first
    return replace(
        first,
        tables={
            name: pa.concat_tables([_numbered(run.tables[name], number) for number, run in enumerate(runs)])
            for name in first.tables
        },
        seeds=tuple(seed for run in runs for seed in run.seeds),
        fingerprints=tuple(one for run in runs for one in run.fingerprints),
        packet_hops=sum(run.packet_hops for run in runs),
        wall_seconds=math.fsum(run.wall_seconds for run in runs),
    )


def _numbered(table: pa.Table, number: int) -> pa.Table:
    """Return a table with its rows ascribed to a replication."""
    place = table.schema.get_field_index("replication")
    if place < 0:
        return table
    numbers = pa.repeat(pa.scalar(number, pa.int64()), table.num_rows)
    return table.set_column(place, table.schema.field(place), numbers)
