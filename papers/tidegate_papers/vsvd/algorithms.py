"""Switch algorithms beside each other in the parking lot, without VS/VD."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import SAMPLED, Figures, acr, samples, spacing
from tidegate_papers.vsvd.curves import LOT

SETTLED = 0.3
"""From when on they are looked at, in seconds."""

PER_CENT = 100.0

KINDS = {"ERICA": "erica", "EPRCA": "eprca", "CI and NI": "relative-rate", "EFCI": "efci"}
"""Switch algorithms, by their names."""

FURTHER = {
    "APRC": "aprc",
    "UCSC": "ucsc",
    "Phantom": '{ kind = "phantom", interval = "10ms", increase = 0.015625, decrease = 0.015625 }',
}
"""Algorithms that the paper cites beside EPRCA. Phantom's weights are for round trips of 40 ms."""

FOLLOWED = ("erica", "ucsc", FURTHER["Phantom"])
"""Explicit rates that sources follow at once; bits and shares of a mean move them step by step."""


def _settings(kind: str) -> Overrides:
    steps: Overrides = [
        (f"connection.{vc}.transport.{key}", value)
        for vc in LOT
        for key, value in (("rif", "0.015625"), ("rdf", "0.0625"))
    ]
    return [("duration", "600ms"), ("port.rate_control", kind), *([] if kind in FOLLOWED else steps)]


def _share(results: Results) -> Values:
    """Return the least VC's mean rate in per cent of the greatest's."""
    part = round(SETTLED / spacing(results))
    means = [[float(rate[part:].mean()) for rate in rates] for rates in acr(results, LOT)]
    return [PER_CENT * min(run) / max(run) for run in means]


def _rate(results: Results) -> Values:
    """Return the mean rate of all VCs in Mbit/s."""
    part = round(SETTLED / spacing(results))
    return [sum(float(rate[part:].mean()) for rate in run) / len(run) for run in acr(results, LOT)]


def _oscillation(results: Results) -> Values:
    """Return the standard deviation of ACR over its mean, in per cent, of the VC with the greatest."""
    part = round(SETTLED / spacing(results))
    return [
        max(PER_CENT * float(rate[part:].std() / rate[part:].mean()) for rate in rates)
        for rates in acr(results, LOT)
    ]


def _queue(results: Results) -> Values:
    part = round(SETTLED / spacing(results))
    return [float(run[part:].max()) for run in samples(results, "sw2->sw3", "queue")]


def _used(results: Results) -> Values:
    part = round(SETTLED / spacing(results))
    return [PER_CENT * float(run[part:].mean()) for run in samples(results, "sw2->sw3", "utilisation")]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"least over greatest rate, {name}, parking lot"] = _share(results)
        figures[f"oscillation, {name}, parking lot"] = _oscillation(results)
        figures[f"longest queue, {name}, parking lot"] = _queue(results)
        figures[f"utilisation, {name}, parking lot"] = _used(results)
    figures["rate of a VC, Phantom, parking lot"] = _rate(runs["Phantom"])
    return {MAIN: figures}


ALGORITHMS = Measure(
    _figures, {name: _settings(kind) for name, kind in (KINDS | FURTHER).items()}, series=SAMPLED
)
