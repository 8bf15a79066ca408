"""Sensitivity to what the paper leaves open: the parking lot under other readings of the couplings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import Columns
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import (
    SAMPLED,
    SETTINGS,
    Figures,
    acr,
    converged,
    coupled,
    held,
    longest,
    received,
    spacing,
)
from tidegate_papers.vsvd.configurations import LOT

ROUND_TRIP = 0.04
"""The longest round trip of the parking lot, in seconds."""


def _first(results: Results) -> Values:
    """Return the mean rate of all VCs in the first round trip after the first answers, in Mbit/s."""
    step = spacing(results)
    part = slice(round(ROUND_TRIP / 4 / step), round((ROUND_TRIP / 4 + ROUND_TRIP) / step))
    return [sum(float(rate[part].mean()) for rate in run) / len(run) for run in acr(results, LOT.vcs)]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    """Return what stands for the parking lot, as it is and under each of the other readings."""
    columns: dict[str, Figures] = {}
    for setting, results in runs.items():
        reading, name = (setting.rpartition(", ")[part] for part in (0, 2))
        columns.setdefault(reading, {}).update(
            {
                f"rate in the first round trip, {name}": _first(results),
                f"Kcells received, {name}": received(results, LOT.vcs),
                f"convergence, {name}": converged(results, LOT.converging, LOT.link),
                f"longest queue, {name}": longest(results, LOT.link),
                f"per-VC queues, {name}": held(results, LOT.link),
            }
        )
    return columns


def _read(names: Sequence[str], key: str, readings: Sequence[str]) -> Measure:
    """Return how couplings are measured as they are, and under readings of a key."""
    settings: dict[str, Overrides] = {name: coupled(SETTINGS[name]) for name in names}
    for reading in readings:
        for name in names:
            settings[f"{reading}, {name}"] = coupled(f'{SETTINGS[name]}, {key} = "{reading}"')
    return Measure(_figures, settings, series=SAMPLED)


MEASURES = {
    "open-first": _read(("E", "F"), "before_brm2", ("calculated", "declared")),
    "open-input": _read(("A", "C", "E"), "per_vc_input", ("data",)),
}
"""Measures of this file, by their names."""
