"""VCs with data in both directions (section 2.4), and a backward ACR."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import Row
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import MBIT, SAMPLED, Figures, samples, spacing

DIRECTIONS = {"vc1": "s->sw1", "back1": "d->sw2", "vc2": "s->sw1", "back2": "d->sw2"}
"""The first link of each direction."""

LAST = 0.1
"""Seconds at the end of a run over which rates are averaged."""


def _rate(results: Results, vc: str) -> Values:
    part = round(LAST / spacing(results))
    return [float(run[-part:].mean()) / MBIT for run in samples(results, f"{vc} on {DIRECTIONS[vc]}", "acr")]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    (results,) = runs.values()
    figures: Figures = {f"rate of {vc}": _rate(results, vc) for vc in DIRECTIONS}
    figures["packets dropped"] = [
        float(sum(row["dropped_packets"] for row in rows)) for rows in measures.flows(results, _all)
    ]
    return {MAIN: figures}


def _all(_: Row) -> bool:
    return True


MEASURES = {"one-vc": Measure(_figures, series=SAMPLED)}
"""Measures of this file, by their names."""
