"""Tables of the results of runs: groups, connections, transfers, links, drops, and a gate's flows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tidegate.estimates import Estimate
from tidegate.reports.blocks import Table
from tidegate.results import Results
from tidegate.show import plural, quantity, with_interval
from tidegate.summary import GroupSummary

MAX_ROWS = 60
"""Rows of a table."""

INTERVAL = "± is half the 95 % interval of the mean over runs."

GROUPS = {
    "throughput": ("throughput", "bit/s"),
    "lost": ("lost", "share"),
    "delay_mean": ("mean delay", "s"),
    "delay_p99": ("99 % delay", "s"),
    "delay_max": ("max delay", "s"),
    "queueing_mean": ("mean queueing", "s"),
}
"""Figures of every group, with their headings and units."""

SOME_GROUPS = {
    "jain": ("Jain", "count"),
    "refused": ("refused", "share"),
    "warned": ("warned", "share"),
}
"""Figures of groups that not every scenario has."""

CONNECTIONS = {
    "goodput": ("goodput", "bit/s"),
    "retransmissions": ("sent again", "count"),
    "timeouts": ("timeouts", "count"),
    "transfers": ("transfers", "count"),
    "transfer_mean": ("mean time", "s"),
    "transfer_p99": ("99 % time", "s"),
}

LINKS = {
    "throughput": ("throughput", "bit/s"),
    "utilisation": ("utilisation", "share"),
    "queue_mean": ("mean queue", "count"),
    "queue_max": ("max queue", "count"),
    "dropped": ("dropped", "count"),
    "wait_mean": ("mean wait", "s"),
}

CLASSES = {
    "throughput": ("throughput", "bit/s"),
    "utilisation": ("utilisation", "share"),
    "borrowed": ("borrowed", "bit/s"),
    "dropped": ("dropped", "count"),
    "marked": ("marked", "count"),
}

USAGE = {
    "inside": ("inside", "B"),
    "yellow": ("yellow", "B"),
    "outside": ("outside", "B"),
}

GATE = {
    "throughput": ("throughput", "bit/s"),
    "arrived": ("arrived", "count"),
    "dropped": ("dropped", "count"),
}

LARGE = (
    "flows",
    "groups",
    "links",
    "classes",
    "drops",
    "transfers",
    "usage",
    "series",
    "histogram",
    "gate",
)
"""Tables of a directory that the report shows, or draws."""


def groups(results: Results) -> list[Table]:
    """Return the table of groups of flows, and that of connections where there are any."""
    rows = results.groups()
    notes = intervals(results)
    if results.warmup > 0:
        notes.append("Throughput counts what was sent after the warm-up.")
    some = {
        name: about for name, about in SOME_GROUPS.items() if any(getattr(row, name).mean for row in rows)
    }
    if "jain" in some:
        notes.append("Jain: index of the shares of a group's flows, 1 for equal ones.")
    tables = [
        figures("Groups of flows", "group", rows, GROUPS | some, {"flows": lambda row: str(row.flows)}, notes)
    ]
    connections = [row for row in rows if row.goodput.mean is not None]
    if connections:
        note = "Goodput: data that reached the application, each byte once."
        tables.append(figures("Connections", "group", connections, CONNECTIONS, {}, [note]))
    return tables


def intervals(results: Results) -> list[str]:
    """Say what intervals are, or why there are none."""
    if results.has_intervals:
        return [INTERVAL]
    return [f"{note[:1].upper()}{note[1:]}." for note in results.notes]


def links(results: Results) -> list[Table]:
    """Return the table of links that carried something, and that of drops by their reasons."""
    rows = results.link_rows()
    busy = [row for row in rows if row.packets.mean or row.dropped.mean]
    idle = len(rows) - len(busy)
    notes = [f"{plural(idle, 'idle link')} left out."] if idle else []
    notes.append("Queues are in packets, the one in service included; waits are up to the first bit out.")
    rates: Mapping[str, Callable[[Any], str]] = {"rate": lambda row: quantity(row.rate, "bit/s")}
    return [figures("Links that carried packets", "link", busy, LINKS, rates, notes), *_drops(results)]


def transfers(results: Results) -> list[Table]:
    """Return the table of transfers by size, where there are any."""
    rows = results.transfer_rows()
    if not rows:
        return []
    cells = [
        [
            row.group,
            quantity(row.largest, "B"),
            f"{row.transfers} of {row.transfers + row.unfinished}" if row.unfinished else str(row.transfers),
            *(quantity(one, "s") for one in (row.completion_p50, row.completion_p95, row.completion_p99)),
            *(quantity(one, "count") for one in (row.slowdown_p50, row.slowdown_p95, row.slowdown_p99)),
        ]
        for row in rows
    ]
    which = ("50 %", "95 %", "99 %")
    headings = [
        "group",
        "size up to",
        "ended",
        *(f"{one} time" for one in which),
        *(f"{one} slowdown" for one in which),
    ]
    note = "Slowdown: completion time over that on the empty network; all runs together."
    return [cut(Table("Transfers by size", headings, cells, notes=[note]))]


def others(results: Results) -> list[Table]:
    """Return the tables of classes, of profiles' usage and of a gate's flows, where there are any."""
    tables = []
    if classes := [row for row in results.class_rows() if row.packets.mean or row.dropped.mean]:
        named: Mapping[str, Callable[[Any], str]] = {"class": lambda row: row.class_name}
        note = "Borrowed: throughput of a class beyond its reservation."
        tables.append(figures("Classes", "link", classes, CLASSES, named, [note], words=(1,)))
    usage = [row for row in results.usage_rows() if row.inside.mean or row.outside.mean or row.yellow.mean]
    if usage:
        places: Mapping[str, Callable[[Any], str]] = {
            "profile": lambda row: row.profile or row.flow,
            "meter": lambda row: f"{row.class_name} {row.nth}".strip(),
        }
        tables.append(figures("Usage of profiles", "link", usage, USAGE, places, [], words=(1, 2)))
    gate = [row for row in results.gate_rows() if row.arrived.mean]
    if gate:
        way: Mapping[str, Callable[[Any], str]] = {"direction": lambda row: row.direction}
        tables.append(figures("Flows of the gate", "flow", gate, GATE, way, [], words=(1,)))
    return tables


def not_shown(results: Results) -> list[str]:
    """Say which tables have rows and are not in the report."""
    left = [
        f"{name} ({plural(table.num_rows, 'row')})"
        for name, table in results.tables.items()
        if name not in LARGE and table.num_rows
    ]
    return [f"Tables of the results that are not shown here: {', '.join(left)}."] if left else []


def figures(
    caption: str,
    subject: str,
    rows: Iterable[Any],
    wanted: Mapping[str, tuple[str, str]],
    texts: Mapping[str, Callable[[Any], str]],
    notes: Sequence[str],
    *,
    words: Sequence[int] = (),
) -> Table:
    """Return a table of summaries: their subject, some texts, and the figures that any of them has."""
    rows = list(rows)
    shown = {
        name: about
        for name, about in wanted.items()
        if any(getattr(row, name).mean is not None for row in rows)
    }
    cells = [
        [
            str(getattr(row, subject)),
            *(text(row) for text in texts.values()),
            *(_cell(getattr(row, name), unit) for name, (_, unit) in shown.items()),
        ]
        for row in rows
    ]
    headings = [subject, *texts, *(heading for heading, _ in shown.values())]
    return cut(Table(caption, headings, cells, words, notes))


def cut(table: Table) -> Table:
    """Return a table with at most MAX_ROWS rows, and a note on the others."""
    more = len(table.rows) - MAX_ROWS
    if more <= 0:
        return table
    notes = [*table.notes, f"{plural(more, 'more row')} left out."]
    return Table(table.caption, table.headings, table.rows[:MAX_ROWS], table.words, notes)


def _cell(figure: Estimate, unit: str) -> str:
    return with_interval(figure, unit, "\n")


def _drops(results: Results) -> list[Table]:
    found: dict[tuple[str, str], list[int]] = {}
    for row in results.drops.to_pylist():
        counts = found.setdefault((row["link"], row["reason"]), [0, 0])
        counts[0] += row["dropped_packets"]
        counts[1] += row["marked_packets"]
    rows = [
        [link, reason, f"{dropped:,}", f"{marked:,}"] for (link, reason), (dropped, marked) in found.items()
    ]
    if not rows:
        return []
    together = "All runs together." if results.replications > 1 else ""
    table = Table(
        "Drops and marks by reason",
        ["link", "reason", "dropped", "marked"],
        rows,
        (1,),
        [together] * bool(together),
    )
    return [cut(table)]


def sentence(row: GroupSummary) -> str:
    """Return what became of a group's packets, in one sentence."""
    lost = row.lost.mean or 0.0
    parts = [f"{with_interval(row.throughput, 'bit/s')} arrived"]
    parts.append(f"{with_interval(row.lost, 'share')} were lost" if lost else "nothing was lost")
    if row.transfer_p99.mean is not None:
        parts.append(f"99 % of the transfers ended within {with_interval(row.transfer_p99, 's')}")
    elif row.delay_p99.mean is not None:
        parts.append(f"99 % of the packets took at most {with_interval(row.delay_p99, 's')}")
    return f"{row.group}: {', '.join(parts)}."
