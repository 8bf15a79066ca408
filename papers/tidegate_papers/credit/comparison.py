"""Credit beside rate control and beside neither: one bottleneck, and the Generic Fairness Configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.credit.common import Figures
from tidegate_papers.credit.networks import CAPACITY, COUNTS, EXPECTED
from tidegate_papers.paper import RECORDING, Measure, Runs

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
BACK = ("d->s2", "s2->s1", "s1->h")
"""The links that only answers pass."""

SWITCHES = ("s1->s2", "s2->s3", "s3->s4", "s4->s5")
"""The links between switches in the Generic Fairness Configuration."""
OPEN = ("greedy", "on-off")
"""Loads that are flows, and ABR connections under rate control."""

TCP = ("TCP", "files")
"""Loads that are connections of TCP, whose cells go over ABR VCs under rate control."""

MULTIPLES = {"10 VCs": 10, "20 VCs": 20}
TRACE = "packets/BC-pAug89-first100001.TL.gz"
"""Packets of an Ethernet, August 1989 (Leland and Wilson, Internet Traffic Archive): 1.71 Mbit/s of
cells."""

SPEEDS = {"10 VCs": "0.21", "20 VCs": "0.105"}
"""At which the recording is played, so that all VCs together bring 85 % of the bottleneck's
rate."""


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

    Credit cells are those of a link on average, since data pass several; links on which only
    answers go do not count.
    """
    costs: list[list[float]] = [[] for _ in range(results.replications)]
    rows = results.credit.to_pylist()
    for row in rows:
        if row["link"] not in BACK and row["overhead"] is not None:
            costs[row["replication"]].append(100 * row["overhead"])
    if rows:
        return [sum(run) / len(run) if run else None for run in costs]
    answers = _rows(results, tuple(f"{group}/ack" for group in groups))
    shares: Values = []
    for there, back in zip(_rows(results, groups), answers, strict=True):
        received = sum(row["received_packets"] for row in there)
        # The destination of a VC that carries another transport absorbs its RM cells, and answers
        # each.
        forward = sum(row["absorbed_packets"] for row in there)
        backward: float = forward
        if groups[0].startswith("abr-"):
            forward = received / NRM
            received -= forward
            backward = sum(row["received_packets"] for row in back)
        shares.append(100 * (forward + backward) / received if received else None)
    return shares


def _peak(results: Results, *links: str) -> Values:
    """Return the most cells that were at a port at once, at the ports of several links the greatest."""
    peaks = [[float(most or 0) for most in measures.link(results, link, "queue_max")] for link in links]
    return [max(run) for run in zip(*peaks, strict=True)]


def _memory(results: Results, control: str, group: str) -> Values:
    """Return the cells for which a port or a receiver has memory, at most.

    Of static credit it is the memory of the VCs of a group alone.
    """
    held: list[dict[str, float]] = [{} for _ in range(results.replications)]
    if control == STATIC:
        flows = {row["flow"] for row in results.flows.to_pylist() if row["group"] == group}
        for row in results.credit_vcs.to_pylist():
            if row["flow"] in flows:
                cells = held[row["replication"]]
                cells[row["link"]] = cells.get(row["link"], 0.0) + row["buf_alloc"]
    else:
        for row in results.credit.to_pylist():
            held[row["replication"]][row["link"]] = float(row["memory"])
    return [max(cells.values(), default=float(MEMORY)) for cells in held]


def _used(results: Results, link: str) -> Values:
    return [None if share is None else 100 * share for share in measures.link(results, link, "utilisation")]


def _group(control: str, load: str) -> str:
    return f"abr-{load}" if control in RATED and load not in TCP else load


def _at(results: Results, control: str, load: str, vcs: str) -> Figures:
    """Return what is compared of a load of so many VCs."""
    groups = (_group(control, load),)
    figures: Figures = {
        f"utilisation, {load}, {vcs}": _used(results, BOTTLENECK),
        f"cells dropped, {load}, {vcs}": _lost(results, groups),
        f"most cells at s1, {load}, {vcs}": _peak(results, BOTTLENECK),
        f"Jain index, {load}, {vcs}": [
            _jain([row["throughput"] for row in rows]) for rows in _rows(results, groups)
        ],
        f"overhead, {load}, {vcs}": _overhead(results, groups),
    }
    if load == "files":
        rows = [row for row in results.tables["groups"].to_pylist() if row["group"] == load]
        rows.sort(key=lambda row: int(row["replication"]))
        figures[f"95 % of transfers within, {vcs}"] = [row["transfer_p95"] for row in rows]
        figures[f"transfers, {vcs}"] = [row["transfers"] for row in rows]
    return figures


def _one_bottleneck(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for control in CONTROLS:
        figures: Figures = {}
        for load in (*OPEN, *TCP):
            for vcs in MULTIPLES:
                figures |= _at(runs[f"{control}, {load}, {vcs}"], control, load, vcs)
        for vcs in MULTIPLES:
            figures[f"memory at a port, {vcs}"] = _memory(
                runs[f"{control}, greedy, {vcs}"], control, "greedy"
            )
        columns[MAIN if control == STATIC else control] = figures
    return columns


def _traced(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for control in CONTROLS:
        figures: Figures = {}
        for vcs in MULTIPLES:
            figures |= _at(runs[f"{control}, {vcs}"], control, "traced", vcs)
        columns[MAIN if control == STATIC else control] = figures
    return columns


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


HALVED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "on-off": {"flow": ("source.rate", "180kbit"), "connection": ("data.off", "451111us")},
    "files": {"connection": ("data.think", "850ms")},
}
"""Settings for twice the VCs at an equal load: bursts are as long, and half as frequent; so are
files."""


def _bottleneck_settings(control: str, keys: Overrides) -> dict[str, Overrides]:
    settings: dict[str, Overrides] = {}
    for load in (*OPEN, *TCP):
        for vcs, count in MULTIPLES.items():
            name = _group(control, load)
            kind = "connection" if control in RATED or load in TCP else "flow"
            active = [(f"{kind}.{name}.start", "0s"), (f"{kind}.{name}.count", str(count))]
            if load in HALVED and count > min(MULTIPLES.values()):
                key, half = HALVED[load][kind]
                active.append((f"{kind}.{name}.{key}", half))
            if load in TCP and control in RATED:
                active.append(
                    (f"{kind}.{name}.vc", f'{{ pcr = "4240kbit", icr = "400kbit", rif = {RATED[control]} }}')
                )
            increase = _increase(control, name) if load in OPEN else []
            settings[f"{control}, {load}, {vcs}"] = [*keys, *active, *increase]
    return settings


def _traced_settings(control: str, keys: Overrides) -> dict[str, Overrides]:
    name = _group(control, "traced")
    settings: dict[str, Overrides] = {}
    for vcs, count in MULTIPLES.items():
        played = f"file = {RECORDING}, speed = {SPEEDS[vcs]}"
        source = (
            ("connection", "data", f'{{ kind = "trace-data", {played} }}')
            if control in RATED
            else ("flow", "source", f'{{ kind = "trace", {played} }}')
        )
        kind, key, value = source
        settings[f"{control}, {vcs}"] = [
            *keys,
            (f"{kind}.{name}.start", "0s"),
            (f"{kind}.{name}.count", str(count)),
            # The VCs play the same recording, each from its beginning on.
            (f"{kind}.{name}.every", f"{10 / count:g}s"),
            (f"{kind}.{name}.{key}", value),
            ("duration", "80s"),
            ("warmup", "20s"),
            *_increase(control, name),
        ]
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
    "comparison-traced": Measure(
        _traced,
        {
            name: overrides
            for control, keys in CONTROLS.items()
            for name, overrides in _traced_settings(control, keys).items()
        },
        needs=TRACE,
    ),
    "comparison-gfc": Measure(
        _gfc,
        {
            name: overrides
            for control, keys in CONTROLS.items()
            for name, overrides in _gfc_settings(control, keys).items()
        },
        series=("throughput",),
    ),
}
