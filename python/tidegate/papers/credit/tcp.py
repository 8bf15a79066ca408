"""TCP over links with and without credit: Table 2, and TCP beside UDP."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.papers import measures
from tidegate.papers.claims import MAIN, Columns
from tidegate.papers.credit.common import Figures
from tidegate.papers.paper import Measure, Runs
from tidegate.results import Results
from tidegate.source import Overrides
from tidegate.summary import Values

USEFUL = 48 / 53 / 8e6
"""MB/s of payload for each bit/s of cells."""

TRAIN, HEADER = 10176, 106
"""Bytes of a packet as cells, and those of it that are no data of the transport."""

BOTTLENECK = 50.21e6 * USEFUL
"""MB/s that the slow link delivers."""

UDP_RATES = (2, 5, 10, 20, 40)
"""Mbit/s of cells."""


def delivered(results: Results, *connections: str) -> Values:
    """Return what connections delivered in MB/s, each byte once."""
    runs: dict[int, float] = dict.fromkeys(range(results.replications), 0.0)
    for row in results.flows.to_pylist():
        if row["flow"] in connections and row["goodput"] is not None:
            runs[row["replication"]] += row["goodput"] * TRAIN / (TRAIN - HEADER) * USEFUL
    return list(runs.values())


def received(results: Results, flow: str) -> Values:
    """Return what a flow without a transport brought in MB/s."""
    return [row["throughput"] * USEFUL for row in results.flows.to_pylist() if row["flow"] == flow]


def _table_2(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[name] = delivered(results, "one", "two")
    for tcps in ("one TCP", "two TCPs"):
        figures[f"{tcps}, with over without"] = measures.ratio(
            figures[f"{tcps}, with credit"], figures[f"{tcps}, without"]
        )
    return {MAIN: figures}


def _udp(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for rate in UDP_RATES:
        for control in ("with credit", "without"):
            results = runs[f"{rate}, {control}"]
            tcp, udp = delivered(results, "one"), received(results, "udp")
            figures[f"TCP beside UDP of {rate} Mbit/s, {control}"] = tcp
            figures[f"utilisation beside UDP of {rate} Mbit/s, {control}"] = [
                None if one is None or other is None else 100 * (one + other) / BOTTLENECK
                for one, other in zip(tcp, udp, strict=True)
            ]
    figures["TCP over what UDP leaves, least, with credit"] = [
        min(run)
        for run in zip(
            *(
                [
                    100 * (one or 0.0) / (BOTTLENECK - rate * 1e6 * USEFUL)
                    for one in figures[f"TCP beside UDP of {rate} Mbit/s, with credit"]
                ]
                for rate in UDP_RATES
            ),
            strict=True,
        )
    ]
    return {MAIN: figures}


CREDIT: Overrides = [
    *(
        (f"link.{link}.credit", '{ buffer = 2, n2 = 1, credit_cell = "53B" }')
        for link in ("A-s1", "B-s1", "s1-s2")
    ),
    ("link.s1-s2.dropper", '{ kind = "drop-tail", limit = "1000p" }'),
]
TWO: Overrides = [("connection.two.start", "0s")]


def _beside(rate: int) -> Overrides:
    return [("flow.udp.start", "0s"), ("flow.udp.source.rate", f"{rate}mbit")]


MEASURES = {
    "table-2": Measure(
        _table_2,
        {
            "one TCP, without": (),
            "one TCP, with credit": CREDIT,
            "two TCPs, without": TWO,
            "two TCPs, with credit": [*CREDIT, *TWO],
        },
    ),
    "udp": Measure(
        _udp,
        {
            **{f"{rate}, with credit": [*CREDIT, *_beside(rate)] for rate in UDP_RATES},
            **{f"{rate}, without": _beside(rate) for rate in UDP_RATES},
        },
    ),
}
