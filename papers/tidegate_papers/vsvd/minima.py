"""ERICA with minimum cell rates, and sources that lose what they do not use."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import (
    NONE,
    SAMPLED,
    SETTINGS,
    Figures,
    acr,
    coupled,
    longest,
    received,
    spacing,
)
from tidegate_papers.vsvd.configurations import LOT

MINIMA = {"vc1": "70mbit", "vc2": "10mbit"}
"""MCR of VCs of the parking lot; the third has none."""

LAST = 0.1
"""Seconds at the end of a run over which rates are averaged."""

SHARES = "port.rate_control.fairness"


def _rates(results: Results) -> list[Values]:
    """Return the mean ACR of each VC at the end, in Mbit/s."""
    part = round(LAST / spacing(results))
    runs = [[float(rate[-part:].mean()) for rate in run] for run in acr(results, LOT.vcs)]
    return [list(rates) for rates in zip(*runs, strict=True)]


def _minima(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for setting, results in runs.items():
        beside, name = (setting.rpartition(", ")[part] for part in (0, 2))
        figures = columns.setdefault(beside, {})
        for vc, rate in zip(LOT.vcs, _rates(results), strict=True):
            figures[f"rate of {vc}, {name}"] = rate
        figures[f"longest queue, {name}"] = longest(results, LOT.link)
    return columns


def _with_minima() -> Measure:
    """Return how minima are measured: added to equal shares, and under ERICA as it is."""
    minima: Overrides = [
        ("duration", "500ms"),
        *((f"connection.{vc}.transport.mcr", rate) for vc, rate in MINIMA.items()),
        *((f"connection.{vc}.transport.icr", rate) for vc, rate in MINIMA.items()),
    ]
    ports: dict[str, Overrides] = {NONE: [], "D": coupled(SETTINGS["D"])}
    settings: dict[str, Overrides] = {
        name: [*port, *minima, (SHARES, '"mcr-plus"')] for name, port in ports.items()
    }
    settings |= {f"equal shares, {name}": [*port, *minima] for name, port in ports.items()}
    return Measure(_minima, settings, series=SAMPLED)


BURSTS = "vc2"
"""The VC of `unused.toml` that sends in bursts."""


def _unused(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"longest queue, {name}"] = longest(results, "sw1->sw2")
        for vc in ("vc1", BURSTS):
            figures[f"Kcells received by {vc}, {name}"] = received(results, (vc,))
    kept, lost = figures["longest queue, rule 5"], figures["longest queue, rule 13"]
    figures["longest queue, rule 13 over rule 5"] = [
        (less or 0.0) / more if more else None for less, more in zip(lost, kept, strict=True)
    ]
    return {MAIN: figures}


MEASURES = {
    "minima": _with_minima(),
    "unused": Measure(
        _unused,
        {"rule 5": [], "rule 13": [(f"connection.{BURSTS}.transport.headroom", "10mbit")]},
    ),
}
"""Measures of this file, by their names."""
