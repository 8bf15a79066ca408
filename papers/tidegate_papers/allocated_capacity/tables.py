"""Tables I to IV: what each connection gets under RED, and under RIO with its packets tagged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidegate import Results
from tidegate.source import Overrides
from tidegate_papers.allocated_capacity.common import (
    CBR,
    CONNECTIONS,
    LARGE,
    RED,
    RIO_TSW,
    SAMPLED,
    SMALL,
    WINDOW,
    Figures,
    at_bottleneck,
    extreme,
    goodput,
    rio,
    rows,
    spread,
    tagged,
    tcp,
    throughput,
    total,
)
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import minus, ratio
from tidegate_papers.paper import Measure, Runs

Earlier = Mapping[str, Columns]

OUTSIDE = "tagger outside host"
IN_HOST = "tagger in host"
RECEIVER = "receiver's meter"

MARKING = (
    '{ kind = "red", min_th = "15p", max_th = "40p", max_p = 0.02, weight = 0.002, limit = "200p", '
    'signal = "mark", mean_packet = "1500B" }'
)
"""Table II: a RED that only marks, until the buffer is full."""


def column(results: Results, name: str) -> Figures:
    """Return the figures of a column of a table."""
    connections = {connection: goodput(results, connection) for connection in CONNECTIONS}
    figures: Figures = {}
    flows = dict(connections)
    named = rows(results)
    if CBR in named:
        flows[CBR] = figures[f"CBR, {name}"] = throughput(results, CBR)
    figures |= {f"throughput, {name}, {named[flow]}": values for flow, values in flows.items()}
    figures[f"throughput, {name}, total"] = figures[f"total, {name}"] = total(flows)
    for rate, members in ((1, SMALL), (5, LARGE)):
        figures[f"least of the {rate} Mbit/s connections, {name}"] = extreme(connections, members, -1)
        figures[f"most of the {rate} Mbit/s connections, {name}"] = extreme(connections, members, 1)
    figures[f"shortest round-trip time over longest, {name}"] = ratio(
        total(connections, CONNECTIONS[:2]), total(connections, CONNECTIONS[-2:])
    )
    figures[f"spread between runs, {name}"] = spread(connections)
    return figures


def columns(runs: Runs, _: Earlier) -> Columns:
    """Return the figures of all columns of a table."""
    figures: Figures = {}
    for name, results in runs.items():
        figures |= column(results, name)
    return {MAIN: figures}


def _sack(runs: Runs, earlier: Earlier) -> Columns:
    """Return Table III, and by how much runs differ more than with Reno."""
    figures = dict(columns(runs, earlier)[MAIN])
    for name in runs:
        ours, renos = (table[f"spread between runs, {name}"] for table in (figures, earlier["table-1"][MAIN]))
        figures[f"spread between runs beyond Reno's, {name}"] = minus(ours, renos)
    return {MAIN: figures}


def _clearing() -> Overrides:
    """Return what puts a meter at each receiver, which takes marks off the packets inside its profile."""
    meter = f'{{ kind = "clearing-meter", {WINDOW} }}'
    return [(f"link.right-r{host}.meter", meter) for host in range(len(CONNECTIONS))]


def in_host(round_trips: int = 2, others: str = "") -> Overrides:
    """Return what tags packets over a window of so many of the round-trip times that their TCP measures."""
    return tagged(f"{WINDOW}, round_trips = {round_trips}{others}")


RENO = {RED: (), RIO_TSW: [*rio(0.2), *tagged()]}
SACK = {
    RED: tcp(recovery="sack"),
    RIO_TSW: [*tcp(recovery="sack"), *rio(0.5), *tagged()],
}

MARKED = [*tcp(ecn="on"), *at_bottleneck(MARKING)]
ECN = {RED: MARKED, RECEIVER: [*MARKED, *_clearing()]}
RIGHT = {OUTSIDE: [*rio(0.5), *tagged()], IN_HOST: [*rio(0.5), *in_host()]}
CBR_TOO = {RED: (), RIO_TSW: [*rio(0.5), *tagged(hosts=range(11))]}

MEASURES = {
    "table-1": Measure(columns, RENO, series=SAMPLED),
    "table-2": Measure(columns, ECN, series=SAMPLED),
    "table-3": Measure(_sack, SACK, series=SAMPLED, after="table-1"),
    "table-3-right": Measure(columns, RIGHT, series=SAMPLED),
    "table-4": Measure(columns, CBR_TOO, series=SAMPLED),
}
"""Runs of 20 s."""

LONG = {f"{name}-long": replace(measure, figures=columns) for name, measure in MEASURES.items()}
"""Runs of 200 s."""
