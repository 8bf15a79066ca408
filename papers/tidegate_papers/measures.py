"""Figures that papers publish, out of what runs have measured; each once for every replication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate import Results
from tidegate.result_tables import LinksColumn
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
        for rows in flows(results, choose)
    ]


def delivered(results: Results, choose: Choose = everything) -> Values:
    """Return the packets that all flows together received in a second."""
    seconds = results.duration - results.warmup
    return [sum(row["received_packets"] for row in rows) / seconds for rows in flows(results, choose)]


def lost(results: Results, choose: Choose = everything) -> Values:
    """Return the packets that were dropped in the network."""
    return [sum(row["dropped_packets"] for row in rows) for rows in flows(results, choose)]


def warned(results: Results, choose: Choose = everything) -> Values:
    """Return the checks at which a flow was warned, by any monitor on its way, in per cent of all."""
    return [
        _per_cent(sum(row["warnings"] for row in rows), sum(row["checks"] for row in rows))
        for rows in flows(results, choose)
    ]


def share_lost(results: Results, choose: Choose) -> Values:
    """Return the packets that were dropped in the network, in per cent of those sent."""
    return [
        _per_cent(sum(row["dropped_packets"] for row in rows), sum(row["sent_packets"] for row in rows))
        for rows in flows(results, choose)
    ]


def share_discarded(results: Results, choose: Choose) -> Values:
    """Return the packets that envelopes discarded, in per cent of those that sources brought."""
    return [
        _per_cent(
            discarded := sum(row["discarded_packets"] for row in rows),
            discarded + sum(row["sent_packets"] for row in rows),
        )
        for rows in flows(results, choose)
    ]


def queueing(results: Results, choose: Choose) -> Values:
    """Return the mean queueing delay over all packets, in seconds."""
    return [_mean(rows) for rows in flows(results, choose)]


def queueing_sd(results: Results, choose: Choose) -> Values:
    """Return the standard deviation of the queueing delay over all packets, in seconds."""
    return [_sd(rows) for rows in flows(results, choose)]


def queueing_max(results: Results, choose: Choose) -> Values:
    """Return the longest queueing delay, in seconds."""
    return [
        max((row["queueing_max"] for row in rows if row["received_packets"]), default=None)
        for rows in flows(results, choose)
    ]


def queueing_p99(results: Results, group: str) -> Values:
    """Return the 99 % quantile of the queueing delay over all packets of a group, in seconds."""
    figures = results.group_figures()
    values = next(values["queueing_p99"] for (name, _), values in figures.items() if name == group)
    # Identical replications are there once.
    return values * (results.replications // len(values))


def queueing_above(results: Results, group: str, delays: Sequence[float]) -> list[Values]:
    """Return the share of a group's packets whose queueing delay was above each of `delays`, 0 to 1.

    A delay within a bin of the histogram counts as its lower edge.
    """
    table: Any = results.histogram
    of_group = pc.equal(pc.cast(table["group"], pa.string()), group)
    of_queueing = pc.equal(pc.cast(table["metric"], pa.string()), "queueing")
    bins = table.filter(pc.and_(of_group, of_queueing))
    replication, lower, count = (bins[name].to_numpy() for name in ("replication", "lower", "count"))
    shares: list[Values] = [[] for _ in delays]
    for number in range(results.replications):
        of_run = replication == number
        packets = count[of_run].sum()
        for values, delay in zip(shares, delays, strict=True):
            values.append(float(count[of_run & (lower > delay)].sum() / packets) if packets else None)
    return shares


def link(results: Results, name: str, column: LinksColumn) -> Values:
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


def ratio(one: Values, other: Values) -> Values:
    """Return how many times another figure one is, replication by replication."""
    return [
        None if part is None or not whole else part / whole for part, whole in zip(one, other, strict=True)
    ]


def minus(one: Values, other: Values) -> Values:
    """Return by how much one figure is above another, replication by replication."""
    return [
        None if more is None or less is None else more - less for more, less in zip(one, other, strict=True)
    ]


def both(one: Choose, other: Choose) -> Choose:
    """Choose what both choose."""
    return lambda row: one(row) and other(row)


def flows(results: Results, choose: Choose) -> Iterator[list[Row]]:
    """Yield the rows of the chosen flows, replication by replication."""
    rows = results.flows.to_pylist()
    flows = len(rows) // results.replications
    for start in range(0, len(rows), flows):
        yield [row for row in rows[start : start + flows] if choose(row)]


def _per_cent(part: int, whole: int) -> float | None:
    return 100.0 * part / whole if whole else None


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
