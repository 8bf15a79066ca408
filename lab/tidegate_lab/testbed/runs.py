"""Runs a scenario's network in the kernel, and returns what was measured as a run of `tidegate` does."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate import backends
from tidegate_lab.testbed import measure, model, records
from tidegate_lab.testbed.experiment import FIGURES, PLAN
from tidegate_lab.testbed.gated import Gated, insert
from tidegate_lab.testbed.plan import Arrivals, described, plan
from tidegate_lab.uml import machine
from tidegate_lab.uml.build import Kernel

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tidegate.backends import Source
    from tidegate.source import LoadedScenario


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One run in the kernel.

    Attributes:
        tables: The tables of `tidegate run`.
        fingerprint: A hash of the times and sizes of all packets, 16 hexadecimal digits.
        packets: Packets that left a port.
        queues: What `tc` told of each node's queueing disciplines at the end.
        qdiscs: The queueing discipline at each link, as it was asked for.
        sysctls: Settings of each node.
        flows: The packets of each flow.
        clock: The time of the kernel's monotonic clock that is time 0 of the run, in ns.
    """

    tables: dict[str, pa.Table]
    fingerprint: str
    packets: int
    queues: list[Any]
    qdiscs: dict[str, list[str]]
    sysctls: dict[str, dict[str, str]]
    flows: dict[str, measure.FlowPackets]
    clock: int


def drawn(
    scenario: LoadedScenario, seed: int, found: Mapping[str, Any]
) -> tuple[Arrivals, dict[str, pa.Table]]:
    """Return what a simulation of this seed draws: the packets of open-loop flows, and its tables."""
    import numpy as np

    log, tables = backends.logged_run(scenario, seed)
    arrived = np.asarray(log.event) == log.names.index("arrived")
    packets: dict[int, np.ndarray] = {}
    for index, flow in enumerate(found["flows"]):
        if flow["source"]["kind"] == "open-loop":
            own = arrived & (np.asarray(log.flow) == index) & (np.asarray(log.link) == flow["route"][0])
            packets[index] = np.column_stack((np.asarray(log.time)[own], np.asarray(log.length)[own]))
    start, stop = (tables["flows"][name].to_pylist() for name in ("start", "stop"))
    times = [round(one * 1e9) for one in start], [None if one is None else round(one * 1e9) for one in stop]
    return Arrivals(packets, *times), tables


def run_once(
    kernel: Kernel,
    source: Source,
    seed: int,
    replication: int,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
    qdiscs: Mapping[str, list[str]] | None = None,
    gated: Gated | None = None,
    ends: Sequence[tuple[int, int]] | None = None,
) -> Outcome:
    """Carry out one run; `stop` ends it early.

    Args:
        kernel: The kernel.
        source: The scenario.
        seed: Seed of the run.
        replication: Its number.
        progress: Called with the share that is done.
        stop: Ends it early when it is set.
        qdiscs: Other disciplines for some links.
        gated: A gate in place of a link's port.
        ends: Numbers of the addresses at both ends of each flow, if flows share some.

    Raises:
        TidegateError: Something in the scenario cannot be carried over, or the kernel failed.
    """
    scenario = source.scenario
    found = described(scenario)
    arrivals, tables = drawn(scenario, seed, found)
    with machine.workspace() as place:
        planned = plan(scenario, found, arrivals, place, ends)
        for link, own in zip(found["links"], planned["links"], strict=True):
            own["qdisc"] = (qdiscs or {}).get(link["name"], own["qdisc"])
        if gated is not None:
            insert(planned, found, gated, place)
        (place / PLAN).write_text(json.dumps(planned), encoding="utf-8")
        machine.run(kernel, "tidegate_lab.testbed.experiment", place, seed=seed, progress=progress, stop=stop)
        figures = json.loads((place / FIGURES).read_text(encoding="utf-8"))
        seen = records.read_all(place, planned, found["flows"], figures["start"])
    followed = {
        index: measure.follow(index, flow, seen, arrivals.packets.get(index))
        for index, flow in enumerate(found["flows"])
    }
    return Outcome(
        tables=_tables(tables, found, followed, figures, planned, replication, seed),
        fingerprint=_fingerprint(seen),
        packets=sum(len(packets.time) for (what, _), packets in seen.items() if what == "started"),
        queues=figures["queues"],
        qdiscs={
            link["name"]: own["qdisc"] for link, own in zip(found["links"], planned["links"], strict=True)
        },
        sysctls={
            node["name"]: own["sysctls"] for node, own in zip(found["nodes"], planned["nodes"], strict=False)
        },
        flows={flow["name"]: followed[index] for index, flow in enumerate(found["flows"])},
        clock=figures["clock"],
    )


def _fingerprint(seen: Mapping[tuple[str, int], records.Packets]) -> str:
    digest = hashlib.sha256()
    for key in sorted(seen):
        packets = seen[key]
        digest.update(f"{key} {len(packets.time)}".encode())
        for column in (packets.time, packets.flow, packets.number, packets.length, packets.is_marked):
            digest.update(column.tobytes())
    return digest.hexdigest()[:16]


def _tables(
    drawn_tables: Mapping[str, pa.Table],
    found: Mapping[str, Any],
    followed: Mapping[int, measure.FlowPackets],
    figures: Mapping[str, Any],
    planned: Mapping[str, Any],
    replication: int,
    seed: int,
) -> dict[str, pa.Table]:
    """Return the tables of the run: those of the simulation with the kernel's figures in place of its own."""
    warmup, duration = planned["warmup"], planned["duration"]
    ends = _ends(found, figures, warmup, duration)
    timeouts = _timeouts(found, figures)
    rows = []
    for index in range(len(found["flows"])):
        row = measure.flow_row(followed[index], warmup, duration) | ends.get(index, {})
        rows.append(row | {"timeouts": timeouts.get(index)})
    flows = _replaced(drawn_tables["flows"], rows, replication, seed)
    groups = _replaced(
        drawn_tables["groups"],
        _groups(drawn_tables, found, rows, followed, timeouts, warmup, duration),
        replication,
        seed,
    )
    links = _replaced(drawn_tables["links"], _links(found, followed, warmup, duration), replication, seed)
    # The kernel gives no rows of the others.
    empty = {name: table.slice(0, 0) for name, table in drawn_tables.items()}
    series = model.series(drawn_tables["series"].schema, found, figures, replication, seed)
    return empty | {"flows": flows, "groups": groups, "links": links, "series": series}


def _ends(
    found: Mapping[str, Any], figures: Mapping[str, Any], warmup: int, duration: int
) -> dict[int, dict[str, Any]]:
    """Return what the ends of each connection have counted, by the index of its data."""
    kept = [index for index, flow in enumerate(found["flows"]) if flow["source"]["kind"] != "receiver"]
    span = (duration - warmup) * 1e-9
    ends = {}
    for place, index in enumerate(kept):
        before, after = (figures[when]["flows"][place] for when in ("warmup", "end"))
        if "delivered" in after:
            ends[index] = {
                "retransmissions": float(after["retransmissions"] - before["retransmissions"]),
                "goodput": (after["delivered"] - before["delivered"]) * 8 / span,
            }
    return ends


def _timeouts(found: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[int, float]:
    """Return the timeouts of each connection whose host has no other: the kernel counts them by host."""
    senders: dict[int, list[int]] = {}
    for index, flow in enumerate(found["flows"]):
        if flow["source"]["kind"] == "sender":
            senders.setdefault(found["links"][flow["route"][0]]["from"], []).append(index)
    counted = {}
    for node, flows in senders.items():
        before, after = (figures[when]["nodes"][node]["TcpExtTCPTimeouts"] for when in ("warmup", "end"))
        if len(flows) == 1:
            counted[flows[0]] = float(after - before)
    return counted


def _groups(
    drawn_tables: Mapping[str, pa.Table],
    found: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    followed: Mapping[int, measure.FlowPackets],
    timeouts: Mapping[int, float],
    warmup: int,
    duration: int,
) -> list[dict[str, Any]]:
    """Return the rows of groups: counts are sums over the flows, delays those of all packets together."""
    import numpy as np

    made = []
    for group in drawn_tables["groups"]["group"].to_pylist():
        members = [index for index, flow in enumerate(found["flows"]) if flow["group"] == group]
        own = [rows[index] for index in members]
        joined = measure.joined([followed[index] for index in members])
        row = measure.flow_row(joined, warmup, duration)
        rates = np.array([one["throughput"] for one in own])
        squares = float((rates**2).sum())
        for name in ("retransmissions", "goodput"):
            values = [one[name] for one in own if one.get(name) is not None]
            row[name] = sum(values) if values else None
        row["timeouts"] = (
            sum(timeouts[index] for index in members) if all(index in timeouts for index in members) else None
        )
        row["jain"] = float(rates.sum() ** 2 / (len(rates) * squares)) if squares else None
        made.append(row)
    return made


def _links(
    found: Mapping[str, Any], followed: Mapping[int, measure.FlowPackets], warmup: int, duration: int
) -> list[dict[str, Any]]:
    made = []
    for at, link in enumerate(found["links"]):
        passing = [
            (flow["route"].index(at), followed[index])
            for index, flow in enumerate(found["flows"])
            if at in flow["route"]
        ]
        made.append(measure.link_row(link, passing, warmup, duration) if passing else {})
    return made


def _replaced(table: pa.Table, rows: Sequence[Mapping[str, Any]], replication: int, seed: int) -> pa.Table:
    """Return a table of the simulation with other values; what the kernel does not tell is null or 0."""
    import pyarrow as pa

    kept = {"flow", "group", "from", "to", "hops", "start", "stop", "flows", "link", "rate"}
    arrays = []
    for field in table.schema:
        if field.name in kept:
            arrays.append(table[field.name].combine_chunks())
            continue
        values: list[Any] = {"replication": [replication], "seed": [seed]}.get(field.name, [None]) * len(rows)
        if field.name not in ("replication", "seed"):
            empty = None if field.nullable else 0
            values = [row.get(field.name, empty) for row in rows]
        arrays.append(pa.array(values, type=field.type))
    return pa.table(arrays, schema=table.schema)
