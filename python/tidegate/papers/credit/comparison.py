"""Credit beside rate control and beside neither: one bottleneck, and the Generic Fairness Configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.papers import measures
from tidegate.papers.claims import MAIN, Columns
from tidegate.papers.credit.common import Figures
from tidegate.papers.credit.networks import CAPACITY, COUNTS, EXPECTED
from tidegate.papers.paper import Measure, Runs
from tidegate.results import Results
from tidegate.source import Overrides
from tidegate.summary import Values

MEMORY = 2000
"""Cells for which a port without credit has memory."""

TAIL: Overrides = [("port.dropper", f'{{ kind = "drop-tail", limit = "{MEMORY}p" }}')]
STATIC = "static credit"
"""The control with which the others are compared."""


def _credit(keys: str) -> Overrides:
    """Return what gives all links credit, so that it reaches back to the hosts."""
    return [("port.credit", keys), ("host.credit", keys)]


CONTROLS: Mapping[str, Overrides] = {
    STATIC: _credit("{ n2 = 10 }"),
    "adaptive credit": _credit('{ allocation = "receiver" }'),
    "ERICA": [("port.rate_control", '{ kind = "erica", utilisation = 0.95, interval = "5ms" }'), *TAIL],
    "EPRCA": [("port.rate_control", '{ kind = "eprca" }'), *TAIL],
    "no control": TAIL,
}
RATED = {"ERICA": "1.0", "EPRCA": "0.0625"}
"""Controls of which the sources are ABR connections, and their rate increase factor."""

NRM = 32
"""In-rate cells of an ABR source for each RM cell, that one included."""

BOTTLENECK = "s1->s2"
LOADS = ("greedy", "on-off")
MULTIPLES = {"10 VCs": 10, "20 VCs": 20}
FILES = (STATIC, "adaptive credit", "no control")
"""Controls under which TCP runs: none of its packets goes over an ABR connection."""


def _rows(results: Results, groups: tuple[str, ...]) -> list[list[dict[str, Any]]]:
    """Return the rows of the table `flows` of groups, replication by replication."""
    runs: list[list[dict[str, Any]]] = [[] for _ in range(results.replications)]
    for row in results.flows.to_pylist():
        if row["group"] in groups:
            runs[row["replication"]].append(row)
    return runs


def _jain(rates: list[float]) -> float | None:
    """Return Jain's index of rates, 1 where all are the same."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares > 0 else None


def _lost(results: Results, groups: tuple[str, ...]) -> Values:
    """Return the cells that were dropped, in per cent of those sent."""
    shares: Values = []
    for rows in _rows(results, groups):
        sent = sum(row["sent_packets"] for row in rows)
        shares.append(100 * sum(row["dropped_packets"] for row in rows) / sent if sent else None)
    return shares


def _overhead(results: Results, groups: tuple[str, ...]) -> Values:
    """Return the bytes of credit cells, or of RM cells both ways, in per cent of those of the data.

    Credit cells are those of a link on average, since data pass several.
    """
    rows = results.credit.to_pylist()
    costs: list[list[float]] = [[] for _ in range(results.replications)]
    for row in rows:
        if row["overhead"] is not None:
            costs[row["replication"]].append(100 * row["overhead"])
    if rows:
        return [sum(run) / len(run) if run else None for run in costs]
    answers = _rows(results, tuple(f"{group}/ack" for group in groups))
    shares: Values = []
    for there, back in zip(_rows(results, groups), answers, strict=True):
        received = sum(row["received_packets"] for row in there)
        backward = sum(row["received_packets"] for row in back)
        forward = received / NRM if back else 0.0
        shares.append(100 * (forward + backward) / (received - forward) if received else None)
    return shares


def _peak(results: Results, *links: str) -> Values:
    """Return the most cells that were at a port at once, at the ports of several links the greatest."""
    peaks = [[float(most or 0) for most in measures.link(results, link, "queue_max")] for link in links]
    return [max(run) for run in zip(*peaks, strict=True)]


def _memory(results: Results) -> Values:
    """Return the cells for which switches have memory at a port, or a receiver with credit, at most."""
    held = [0.0] * results.replications
    for row in results.credit.to_pylist():
        held[row["replication"]] = max(held[row["replication"]], float(row["memory"]))
    return [cells or float(MEMORY) for cells in held]


def _used(results: Results, link: str) -> Values:
    return [None if share is None else 100 * share for share in measures.link(results, link, "utilisation")]


def _group(control: str, load: str) -> str:
    return f"abr-{load}" if control in RATED else load


def _one_bottleneck(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for control in CONTROLS:
        figures: Figures = {}
        for load in LOADS:
            for vcs in MULTIPLES:
                results = runs[f"{control}, {load}, {vcs}"]
                groups = (_group(control, load),)
                figures[f"utilisation, {load}, {vcs}"] = _used(results, BOTTLENECK)
                figures[f"cells dropped, {load}, {vcs}"] = _lost(results, groups)
                figures[f"most cells at s1, {load}, {vcs}"] = _peak(results, BOTTLENECK)
                figures[f"Jain index, {load}, {vcs}"] = [
                    _jain([row["throughput"] for row in rows]) for rows in _rows(results, groups)
                ]
                figures[f"overhead, {load}, {vcs}"] = _overhead(results, groups)
        figures["memory at a port, 10 VCs"] = _memory(runs[f"{control}, greedy, 10 VCs"])
        if control in FILES:
            results = runs[f"{control}, files"]
            times = {
                row["replication"]: row
                for row in results.tables["groups"].to_pylist()
                if row["group"] == "files"
            }
            figures["95 % of transfers within, TCP"] = [
                times[number]["transfer_p95"] for number in range(results.replications)
            ]
            figures["transfers, TCP"] = [times[number]["transfers"] for number in range(results.replications)]
            figures["cells dropped, TCP"] = _lost(results, ("files",))
        columns[MAIN if control == STATIC else control] = figures
    return columns


SWITCHES = ("s1->s2", "s2->s3", "s3->s4", "s4->s5")


def _gfc(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for control in CONTROLS:
        figures: Figures = {}
        for vcs in DOUBLED:
            results = runs[f"{control}, {vcs}"]
            names = {group: _group(control, group) for group in EXPECTED}
            ratios = [
                [float(run.mean()) / COUNTS[group] / (expected * CAPACITY) for run in samples]
                for group, expected in EXPECTED.items()
                for samples in [measures.samples(results, names[group], "throughput")]
            ]
            shares = [list(run) for run in zip(*ratios, strict=True)]
            every = tuple(names.values())
            figures[f"Jain index of rates over shares, {vcs}"] = [_jain(run) for run in shares]
            figures[f"least rate over its share, {vcs}"] = [min(run) for run in shares]
            used = [_used(results, link) for link in SWITCHES]
            figures[f"utilisation of the links, least, {vcs}"] = [
                min(share or 0.0 for share in run) for run in zip(*used, strict=True)
            ]
            figures[f"cells dropped, {vcs}"] = _lost(results, every)
            figures[f"most cells at a switch, {vcs}"] = _peak(results, *SWITCHES)
            figures[f"overhead, {vcs}"] = _overhead(results, every)
        columns[MAIN if control == STATIC else control] = figures
    return columns


DOUBLED = {"23 VCs": 1, "46 VCs": 2}


def _increase(control: str, name: str) -> Overrides:
    """Return what sets how fast the ABR sources of a connection increase their rates."""
    return [(f"connection.{name}.transport.rif", RATED[control])] if control in RATED else []


def _bottleneck_settings(control: str, keys: Overrides) -> dict[str, Overrides]:
    settings: dict[str, Overrides] = {}
    for load in LOADS:
        for vcs, count in MULTIPLES.items():
            kind, name = ("connection" if control in RATED else "flow"), _group(control, load)
            active = [(f"{kind}.{name}.start", "0s"), (f"{kind}.{name}.count", str(count))]
            if load == "on-off":
                # At equal load: bursts are as long, and half as frequent.
                rates = {"flow": ("source.rate", "180kbit"), "connection": ("data.off", "451111us")}
                key, half = rates[kind]
                active += [(f"{kind}.{name}.{key}", half)] if count > min(MULTIPLES.values()) else []
            settings[f"{control}, {load}, {vcs}"] = [*keys, *active, *_increase(control, name)]
    if control in FILES:
        settings[f"{control}, files"] = [*keys, ("connection.files.start", "0s")]
    return settings


def _gfc_settings(control: str, keys: Overrides) -> dict[str, Overrides]:
    kind = "connection" if control in RATED else "flow"
    settings: dict[str, Overrides] = {}
    for vcs, times in DOUBLED.items():
        active = [
            override
            for group, count in COUNTS.items()
            for override in (
                (f"{kind}.{_group(control, group)}.start", "0s"),
                (f"{kind}.{_group(control, group)}.count", str(count * times)),
                *_increase(control, _group(control, group)),
            )
        ]
        settings[f"{control}, {vcs}"] = [*keys, *active]
    return settings


MEASURES = {
    "comparison": Measure(
        _one_bottleneck,
        {
            name: overrides
            for control, keys in CONTROLS.items()
            for name, overrides in _bottleneck_settings(control, keys).items()
        },
    ),
    "comparison-gfc": Measure(
        _gfc,
        {
            name: overrides
            for control, keys in CONTROLS.items()
            for name, overrides in _gfc_settings(control, keys).items()
        },
        series=True,
    ),
}
