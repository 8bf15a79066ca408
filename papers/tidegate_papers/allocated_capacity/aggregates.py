"""Profiles of aggregates of TCP connections: the first approach, and the second beside it."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate_papers.allocated_capacity.common import (
    CONNECTIONS,
    PACKETS,
    RED,
    SAMPLED,
    Figures,
    at_bottleneck,
    goodput,
    total,
)
from tidegate_papers.allocated_capacity.sensitivity import timeouts
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs

ORGANISATIONS = {"20 Mbit/s": CONNECTIONS[:5], "10 Mbit/s": CONNECTIONS[5:]}
"""Connections of each organisation, by what it has bought."""

SECOND = "second approach"


def meters(window: str, approach: str = "long") -> Overrides:
    """Return what sets the profile meters of both organisations."""
    meter = f'{{ kind = "tsw-tagger", window = "{window}", approach = "{approach}" }}'
    return [(f"link.{name}-left.meter", meter) for name in ("large", "small")]


def _column(results: Results) -> Figures:
    goodputs = {name: goodput(results, name) for name in CONNECTIONS}
    shown: Figures = {
        f"organisation of {rate}": total(goodputs, members) for rate, members in ORGANISATIONS.items()
    }
    shown["total"] = total(goodputs)
    shown["timeouts of a connection"] = timeouts(results)
    return shown


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns = {name: _column(results) for name, results in runs.items()}
    lost = (columns[name]["timeouts of a connection"] for name in (SECOND, MAIN))
    columns[MAIN][f"timeouts, {SECOND} beyond the first"] = minus(*lost)
    return columns


AGGREGATES = Measure(
    _figures,
    {
        MAIN: (),
        "window of 200 ms": meters("200ms"),
        "window of 8 s": meters("8s"),
        SECOND: meters("200ms", "short"),
        RED: at_bottleneck(f'{{ kind = "red", min_th = "10p", max_th = "30p", max_p = 0.02, {PACKETS} }}'),
    },
    series=SAMPLED,
)
