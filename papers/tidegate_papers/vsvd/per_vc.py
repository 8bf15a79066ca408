"""Per-VC queues: other schedulers that serve them, and feedback that reads them (section 8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import ratio
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.beyond import EDGE, SATELLITE_EDGES, WORKGROUP
from tidegate_papers.vsvd.common import (
    KCELLS,
    SAMPLED,
    SETTINGS,
    Figures,
    converged,
    coupled,
    longest,
    per_vc,
    received,
    waiting,
)
from tidegate_papers.vsvd.configurations import LOT

PORTS = ("sw1->sw2", "sw2->sw3")
"""The ports of the parking lot that VCs share."""

SCHEDULERS = {"FIFO": "fifo", "round robin": "round-robin", "DRR": "drr"}
"""Schedulers that serve the per-VC queues whenever the link is free; FIFO has one queue for all."""

AIM = "5ms"
"""The queueing delay at which the feedback by per-VC queues aims."""


def _scheduled(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for setting, results in runs.items():
        figures[f"Kcells received, {setting}"] = received(results, LOT.vcs)
        figures[f"convergence, {setting}"] = converged(results, LOT.converging, LOT.link)
        figures[f"queues of the bottleneck, {setting}"] = [
            float(np.max(cells)) / KCELLS for cells in waiting(results, [LOT.link])
        ]
    return {MAIN: figures}


def _services() -> dict[str, Overrides]:
    settings: dict[str, Overrides] = {f"ACR2, {name}": coupled(SETTINGS[name]) for name in ("C", "D")}
    for service, scheduler in SCHEDULERS.items():
        for name in ("C", "D"):
            settings[f"{service}, {name}"] = [
                *coupled(f'{SETTINGS[name]}, service = "scheduler"'),
                ("port.scheduler", scheduler),
            ]
    return settings


def _at_the_end(results: Results) -> Values:
    """Return the cells in the per-VC queues behind the satellite at the end of the run, in thousands."""
    return [float(cells[-1]) / KCELLS for cells in per_vc(results, [EDGE])]


def _drained(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"per-VC queues behind the satellite at the end, {name}"] = _at_the_end(results)
        figures[f"Kcells received, {name}"] = received(results, ("vc1", "vc2"))
        figures[f"longest queue of the workgroup switch, {name}"] = longest(results, WORKGROUP)
    kept, drained = (
        figures[f"per-VC queues behind the satellite at the end, {name}"] for name in ("rates", "queues")
    )
    figures["at the end, queues over rates"] = ratio(drained, kept)
    return {MAIN: figures}


def _at_edges(more: str) -> Overrides:
    return [(f"link.{link}.vsvd", f"{{ {SETTINGS['D']}{more} }}") for link in SATELLITE_EDGES]


MEASURES = {
    "schedulers": Measure(_scheduled, _services(), series=SAMPLED),
    "per-vc-queues": Measure(
        _drained,
        {"rates": _at_edges(""), "queues": _at_edges(f', per_vc_delay = "{AIM}"')},
        series=SAMPLED,
    ),
}
"""Measures of this file, by their names."""
