"""Subjects of the paper without figures: tagging without chance, other averages, drop-tail, two ways."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.allocated_capacity.aggregates import AGGREGATES
from tidegate_papers.allocated_capacity.assurance import ASSURANCE
from tidegate_papers.allocated_capacity.common import (
    BOTTLENECK,
    CONNECTIONS,
    PACKETS,
    RIO_TSW,
    SAMPLED,
    WINDOW,
    Figures,
    at_bottleneck,
    rio,
    tagged,
)
from tidegate_papers.allocated_capacity.sensitivity import timeouts
from tidegate_papers.allocated_capacity.tables import RENO, SACK, column
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import Row
from tidegate_papers.paper import Measure, Runs

SHOWN = ("total", "least of the 5 Mbit/s connections", "most of the 1 Mbit/s connections")


def _shown(results: Results) -> Figures:
    """Return what stands for a column of a table."""
    figures = column(results, "")
    shown: Figures = {what: figures[f"{what}, "] for what in SHOWN}
    shown["timeouts of a connection"] = timeouts(results)
    return shown


def _beside(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {name: _shown(results) for name, results in runs.items()}


DETERMINISTIC = tagged(f'{WINDOW}, tagging = "deterministic"')

TAGGING = Measure(
    _beside,
    {
        MAIN: RENO[RIO_TSW],
        "deterministic": [*RENO[RIO_TSW], *DETERMINISTIC],
        "SACK": SACK[RIO_TSW],
        "SACK, deterministic": [*SACK[RIO_TSW], *DETERMINISTIC],
    },
    series=SAMPLED,
)

AVERAGES = Measure(
    _beside,
    {
        MAIN: RENO[RIO_TSW],
        **{
            governs: [*RENO[RIO_TSW], *rio(0.2, f'governs = "{governs}", {PACKETS}')]
            for governs in ("out", "in", "both")
        },
    },
    series=SAMPLED,
)


def together(results: Results) -> Values:
    """Return how the windows of two connections are correlated over time, on average over all pairs."""
    windows = zip(*(measures.samples(results, name, "cwnd") for name in CONNECTIONS), strict=True)
    upper = np.triu_indices(len(CONNECTIONS), 1)
    return [float(np.corrcoef(run)[upper].mean()) for run in windows]


def _synchronised(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns = {}
    for name, results in runs.items():
        figures = column(results, "")
        columns[name] = {
            "total": figures["total, "],
            "correlation of two windows": together(results),
            "shortest round-trip time over longest": figures["shortest round-trip time over longest, "],
            "timeouts of a connection": timeouts(results),
            "mean queue": measures.link(results, BOTTLENECK, "queue_mean"),
        }
    return columns


DROP_TAIL = Measure(
    _synchronised,
    {
        MAIN: (),
        **{
            f"drop-tail, {packets}": at_bottleneck(f'{{ kind = "drop-tail", limit = "{packets}p" }}')
            for packets in (40, 200)
        },
    },
    series=SAMPLED,
)


def _back(name: str) -> Overrides:
    """Return what is set of the connections that go back: their senders' access links have taggers, too."""
    tagger = tagged()[0][1]
    return [(f"link.right-r{host}.meter", tagger) for host in range(10)] if name == RIO_TSW else []


def _acknowledged(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for setting, results in runs.items():
        other, name = (setting.rpartition(", ")[part] for part in (0, 2))
        figures = _shown(results)
        figures["queueing of acknowledgements"] = [
            None if delay is None else 1e3 * delay for delay in measures.queueing(results, _answers)
        ]
        shown = columns.setdefault(other, {})
        shown |= {f"{what}, {name}": values for what, values in figures.items()}
    return columns


def _answers(row: Row) -> bool:
    return row["group"] in {f"{name}/ack" for name in CONNECTIONS}


ONE_WAY = [(f"connection.b{number}.start", "1h") for number in range(10)]

TWO_WAY = Measure(
    _acknowledged,
    {
        f"{other}{name}": [*sets, *_back(name), *more]
        for other, more in (("", ()), ("one way, ", ONE_WAY))
        for name, sets in RENO.items()
    },
    series=SAMPLED,
)

MEASURES = {
    "tagging": TAGGING,
    "averages": AVERAGES,
    "drop-tail": DROP_TAIL,
    "two-way": TWO_WAY,
    "aggregates": AGGREGATES,
    "assurance": ASSURANCE,
}
