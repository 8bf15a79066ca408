"""The results of several runs of one scenario, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate import _tidegate, inputs
from tidegate.results import Results
from tidegate.run_tables import joined
from tidegate.source import Source

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Measured:
    """Measurements of one run.

    Attributes:
        tables: The tables of `tidegate run`, by name.
        fingerprint: Its outcome in one number, as 16 hexadecimal digits.
        packet_hops: Packets that left a port.
    """

    tables: Mapping[str, pa.Table]
    fingerprint: str
    packet_hops: int


def results_of(
    source: Source, runs: Sequence[Measured], seeds: Sequence[int], wall_seconds: float
) -> Results:
    """Return the results of several runs of a scenario, each under a seed."""
    scenario = source.scenario
    return Results(
        tables=joined([one.tables for one in runs]),
        scenario_name=scenario.name,
        scenario_toml=scenario.toml,
        base_dir=source.base_dir,
        overrides=source.overrides,
        duration=scenario.duration,
        warmup=scenario.warmup,
        seeds=tuple(seeds),
        fingerprints=tuple(one.fingerprint for one in runs),
        packet_hops=sum(one.packet_hops for one in runs),
        wall_seconds=wall_seconds,
        version=_tidegate.__version__,
        inputs=inputs.digests(scenario, source.base_dir),
        warnings=tuple(scenario.warnings),
    )
