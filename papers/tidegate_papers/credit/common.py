"""Common parts of this paper's experiments."""

from __future__ import annotations

from typing import Any

from tidegate import Results
from tidegate.summary import Values

Figures = dict[str, Values]

CELL_TIME = 10e-6
"""Seconds that a cell of 53 bytes takes on a link of 42.4 Mbit/s."""


def credit(results: Results, column: str, link: str) -> Values:
    """Return what the table `credit` holds in a column for a link."""
    return [row[column] for row in results.credit.to_pylist() if row["link"] == link]


def rates(results: Results, group: str) -> list[list[float]]:
    """Return the throughput of each flow of a group in bit/s, replication by replication."""
    runs: dict[int, list[float]] = {number: [] for number in range(results.replications)}
    for row in results.flows.to_pylist():
        if row["group"] == group:
            runs[row["replication"]].append(row["throughput"])
    return list(runs.values())


def total(results: Results, group: str) -> Values:
    """Return the throughput of a group in bit/s."""
    return [sum(run) for run in rates(results, group)]


def dropped(results: Results) -> Values:
    """Return the packets that were dropped in the network, of all flows."""
    runs = dict.fromkeys(range(results.replications), 0)
    for row in results.flows.to_pylist():
        runs[row["replication"]] += row["dropped_packets"]
    return [float(count) for count in runs.values()]


def stalled(results: Results) -> Values:
    """Return the VCs that had stalled at the end."""
    runs = dict.fromkeys(range(results.replications), 0)
    rows: list[dict[str, Any]] = results.stalls.to_pylist()
    for row in rows:
        runs[row["replication"]] += row["until"] is None
    return [float(count) for count in runs.values()]
