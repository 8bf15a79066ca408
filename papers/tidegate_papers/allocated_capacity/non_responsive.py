"""Flows that do not respond to congestion, and the effect of isolating them."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate_papers.allocated_capacity.common import (
    CBR,
    CONNECTIONS,
    RED,
    RIO_TSW,
    SAMPLED,
    Figures,
    goodput,
    throughput,
    total,
)
from tidegate_papers.allocated_capacity.tables import CBR_TOO, RENO, RIGHT, SACK
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs

SOON = 5.0
"""Seconds from the start of a run in which the source is to be named."""


def detector(keys: str) -> Overrides:
    """Return what puts a detector at the bottleneck; `keys` is what is set of it."""
    return [("link.left-right.detector", f"{{ {keys} }}")]


OUT, ALL = detector('drops = "out"'), detector('drops = "all"')
ISOLATED = detector('drops = "out", action = "police"')


def named(results: Results) -> list[dict[str, float]]:
    """Return when each flow was first named, by its name, in each replication."""
    runs: dict[int, dict[str, float]] = {seed: {} for seed in results.seeds}
    for row in results.non_responsive.to_pylist():
        runs[row["seed"]].setdefault(row["flow"], row["named"])
    return list(runs.values())


def _connections(results: Results) -> list[float | None]:
    """Return how many connections were named, in each replication."""
    return [float(sum(name in run for name in CONNECTIONS)) for run in named(results)]


def _found(results: Results) -> Figures:
    """Return the flows that were named, and the shares of the drops."""
    runs = named(results)
    flows = results.flows.to_pylist()
    lost = {
        name: [row["dropped_packets"] for row in flows if row["flow"] == name] for name in (*CONNECTIONS, CBR)
    }
    shares = [
        {name: 100.0 * count / max(sum(run), 1) for name, count in zip(lost, run, strict=True)}
        for run in zip(*lost.values(), strict=True)
    ]
    return {
        "CBR not named within 5 s": [float(run.get(CBR, float("inf")) > SOON) for run in runs],
        "CBR named after": [run.get(CBR) for run in runs],
        "connections named": _connections(results),
        "share of the drops, CBR": [share[CBR] for share in shares],
        "share of the drops, most of a connection": [
            max(share[name] for name in CONNECTIONS) for share in shares
        ],
    }


def _beside(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {name: _found(results) for name, results in runs.items()}


def _responsive(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {MAIN: {f"connections named, {name}": _connections(results) for name, results in runs.items()}}


def _isolated(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    without = total({name: goodput(runs[WITHOUT], name) for name in CONNECTIONS})
    columns: dict[str, Figures] = {}
    for setting, results in runs.items():
        connections = total({name: goodput(results, name) for name in CONNECTIONS})
        columns[setting] = {
            "CBR": throughput(results, CBR),
            "connections in all": connections,
            "connections in all, over those without the source": [
                100.0 * (ours / theirs - 1.0)
                for ours, theirs in zip(connections, without, strict=True)
                if ours is not None and theirs
            ],
            "connections named": _connections(results),
        }
    return columns


WITHOUT = "without the source"

MEASURES = {
    "non-responsive": Measure(
        _beside,
        {
            MAIN: [*CBR_TOO[RIO_TSW], *OUT],
            "all drops": [*CBR_TOO[RIO_TSW], *ALL],
            "RED, all drops": [*CBR_TOO[RED], *ALL],
            "RED, all drops, lax": [
                *CBR_TOO[RED],
                *detector('drops = "all", share = 0.05, persistence = 0.02, window = "1s", windows = 2'),
            ],
        },
    ),
    "responsive": Measure(
        _responsive,
        {
            "Table I": [*RENO[RIO_TSW], *OUT],
            "Table III": [*SACK[RIO_TSW], *OUT],
            "Table I, RED, all drops": [*RENO[RED], *ALL],
            "Table III, RED, all drops": [*SACK[RED], *ALL],
        },
    ),
    "responsive-wide": Measure(_responsive, {name: [*sets, *OUT] for name, sets in RIGHT.items()}),
    "isolation": Measure(
        _isolated,
        {
            MAIN: [*CBR_TOO[RIO_TSW], *ISOLATED],
            "reported": [*CBR_TOO[RIO_TSW], *OUT],
            WITHOUT: [*CBR_TOO[RIO_TSW], ("flow.cbr.start", "1h")],
        },
        series=SAMPLED,
    ),
}
