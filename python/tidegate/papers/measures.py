"""Figures that papers publish, out of what runs have measured; each once for every replication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.results import Results
from tidegate.summary import Values

Row = dict[str, Any]
Choose = Callable[[Row], bool]
"""Chooses flows by their rows of the table `flows`."""


def everything(_: Row) -> bool:
    """Choose all flows."""
    return True


def throughput(results: Results, choose: Choose, size: int) -> Values:
    """Return the mean throughput of a flow, in packets of `size` bytes a second."""
    return [
        math.fsum(row["throughput"] for row in rows) / len(rows) / (8 * size)
        for rows in _flows(results, choose)
    ]


def delivered(results: Results, choose: Choose = everything) -> Values:
    """Return the packets that all flows together received in a second."""
    seconds = results.duration - results.warmup
    return [sum(row["received_packets"] for row in rows) / seconds for rows in _flows(results, choose)]


def lost(results: Results, choose: Choose = everything) -> Values:
    """Return the packets that were dropped in the network."""
    return [sum(row["dropped_packets"] for row in rows) for rows in _flows(results, choose)]


def queueing(results: Results, choose: Choose) -> Values:
    """Return the mean queueing delay over all packets, in seconds."""
    return [_mean(rows) for rows in _flows(results, choose)]


def queueing_sd(results: Results, choose: Choose) -> Values:
    """Return the standard deviation of the queueing delay over all packets, in seconds."""
    return [_sd(rows) for rows in _flows(results, choose)]


def link(results: Results, name: str, column: str) -> Values:
    """Return what the table `links` holds in a column for a link."""
    of_link = pc.equal(pc.cast(results.links["link"], pa.string()), name)
    values: Values = results.links.filter(of_link)[column].to_pylist()
    return values


def samples(results: Results, subject: str, metric: str) -> list[np.ndarray[Any, Any]]:
    """Return the samples of a metric over the measured time, from the table `series`."""
    table: Any = results.series
    wanted = pc.and_(
        pc.equal(pc.cast(table["subject"], pa.string()), subject),
        pc.equal(pc.cast(table["metric"], pa.string()), metric),
    )
    # A sample that ends with the warm-up lies before it; its end is a rounded sum.
    later = pc.greater(table["time"], results.warmup * (1 + 1e-9))
    rows = table.filter(pc.and_(wanted, later))
    values = rows["value"].to_numpy()
    return list(values.reshape(results.replications, -1))


def _flows(results: Results, choose: Choose) -> Iterator[list[Row]]:
    """Yield the rows of the chosen flows, replication by replication."""
    rows = results.flows.to_pylist()
    flows = len(rows) // results.replications
    for start in range(0, len(rows), flows):
        yield [row for row in rows[start : start + flows] if choose(row)]


def _mean(rows: list[Row]) -> float | None:
    packets = sum(row["received_packets"] for row in rows)
    if not packets:
        return None
    waited = math.fsum(row["received_packets"] * (row["queueing_mean"] or 0.0) for row in rows)
    return float(waited / packets)


def _sd(rows: list[Row]) -> float | None:
    """Return the spread within flows and between their means, together."""
    packets = sum(row["received_packets"] for row in rows)
    mean = _mean(rows)
    if mean is None or packets < 2:
        return None
    squares = math.fsum(
        (row["received_packets"] - 1) * (row["queueing_sd"] or 0.0) ** 2
        + row["received_packets"] * (row["queueing_mean"] - mean) ** 2
        for row in rows
        if row["received_packets"]
    )
    return math.sqrt(squares / (packets - 1))
