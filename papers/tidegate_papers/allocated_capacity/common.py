"""Common parts of this paper's experiments: droppers and taggers, and the counters of both ends of TCP."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate.toml import loads

Figures = dict[str, Values]

CONNECTIONS = tuple(f"c{number}" for number in range(10))
"""Connections 0 to 9."""

SMALL, LARGE = CONNECTIONS[::2], CONNECTIONS[1::2]
"""Those with target rates of 1 and of 5 Mbit/s."""

CBR = "cbr"
"""The source that does not slow down."""

BOTTLENECK = "left->right"

MBIT = 1e6

RED, RIO_TSW = "RED", "RIO-TSW"
"""The two columns of the paper's tables."""

PACKETS = 'weight = 0.002, limit = "200p", signal = "drop", mean_packet = "1500B"'
"""Parameters of the droppers that the paper leaves open."""

SAMPLED = ("cwnd", "delivered", "retransmissions", "timeouts")
"""Metrics over time that experiments look at."""


def at_bottleneck(dropper: str) -> Overrides:
    """Return what puts a dropper, a table of TOML, at the bottleneck."""
    return [("link.left-right.dropper", dropper)]


def rio(max_p_out: float, others: str = PACKETS) -> Overrides:
    """Return what puts RIO at the bottleneck, (40, 70, 0.02) for ins and (10, 30, `max_p_out`) for outs."""
    within = 'min_in = "40p", max_in = "70p", max_p_in = 0.02'
    beyond = f'min_out = "10p", max_out = "30p", max_p_out = {max_p_out}'
    return at_bottleneck(f'{{ kind = "rio", {within}, {beyond}, {others} }}')


WINDOW = 'window = "200ms"'
"""The window of the tagger: the round-trip time that it presumes."""


def tagged(others: str = WINDOW, hosts: Iterable[int] = range(10)) -> Overrides:
    """Return what puts a TSW tagger on the access links of senders; `others` is what is set of it."""
    tagger = f'{{ kind = "tsw-tagger", {others} }}'
    return [(f"link.l{host}-left.meter", tagger) for host in hosts]


def tcp(**keys: str) -> Overrides:
    """Return what sets keys of every connection's TCP."""
    return [
        (f"connection.{name}.transport.{key}", value) for key, value in keys.items() for name in CONNECTIONS
    ]


def samples(results: Results, subject: str, metric: str) -> list[np.ndarray[Any, Any]]:
    """Return all samples of a metric from the table `series`, also those of the warm-up, by replication."""
    table: Any = results.series
    wanted = pc.and_(
        pc.equal(pc.cast(table["subject"], pa.string()), subject),
        pc.equal(pc.cast(table["metric"], pa.string()), metric),
    )
    values = table.filter(wanted)["value"].to_numpy()
    return list(values.reshape(results.replications, -1))


def counted(results: Results, subject: str, metric: str) -> list[float]:
    """Return by how much a count has grown over the measured time, in each replication."""
    runs = samples(results, subject, metric)
    warm = round(len(runs[0]) * results.warmup / results.duration)
    return [float(run[-1] - (run[warm - 1] if warm else 0.0)) for run in runs]


def goodput(results: Results, connection: str) -> Values:
    """Return what a connection's receiver got in order in Mbit/s, counted in packets with their headers."""
    (found,) = (one for one in loads(results.scenario_toml)["connection"] if one["name"] == connection)
    size, header = (int(text.removesuffix("B")) for text in (found["size"], found["transport"]["header"]))
    rate = 8 * size / (size - header) / (results.duration - results.warmup) / MBIT
    return [rate * data for data in counted(results, f"{connection}/ack", "delivered")]


def throughput(results: Results, flow: str) -> Values:
    """Return what a flow without a transport delivered, in Mbit/s."""
    return [row["throughput"] / MBIT for row in results.flows.to_pylist() if row["flow"] == flow]


def rows(results: Results) -> dict[str, str]:
    """Return the number, the round-trip time and the target rate of each flow, by its name."""
    scenario = loads(results.scenario_toml)
    delays = {
        (link["from"], link["to"]): float(link["delay"].removesuffix("ms")) for link in scenario["link"]
    }
    names = {}
    flows = (*scenario["connection"], *scenario.get("flow", ()))
    for flow in (one for one in flows if one["name"] in (*CONNECTIONS, CBR)):
        links = ((flow["from"], "left"), ("left", "right"), ("right", flow["to"]))
        rtt = 2 * math.fsum(delays[link] for link in links)
        target = flow.get("reserve", "0mbit").removesuffix("mbit")
        name = flow["name"]
        number = name.upper() if name == CBR else name.removeprefix("c")
        names[name] = f"{number}: {rtt:g} ms, {target} Mbit/s"
    return names


def total(columns: Mapping[str, Values], names: Sequence[str] | None = None) -> Values:
    """Return the sum of columns, replication by replication."""
    chosen = columns.values() if names is None else (columns[name] for name in names)
    return [math.fsum(value or 0.0 for value in run) for run in zip(*chosen, strict=True)]


def extreme(columns: Mapping[str, Values], names: Sequence[str], sign: int) -> Values:
    """Return the column with the greatest mean, or with a `sign` of -1 that with the smallest."""
    return max(
        (columns[name] for name in names), key=lambda values: sign * math.fsum(v or 0.0 for v in values)
    )


def spread(columns: Mapping[str, Values]) -> Values:
    """Return how far connections are from their means over the replications, on average, in per cent.

    One replication has no spread.
    """
    runs = list(zip(*(_deviations(values) for values in columns.values()), strict=True))
    return [100.0 * math.fsum(run) / len(columns) if len(runs) > 1 else None for run in runs]


def _deviations(values: Values) -> list[float]:
    """Return by which share of their mean values are away from it."""
    measured = [value or 0.0 for value in values]
    mean = math.fsum(measured) / len(measured)
    return [abs(value / mean - 1.0) if mean else 0.0 for value in measured]
