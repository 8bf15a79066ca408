"""Means over replications with their intervals, for groups of flows, links and flows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tidegate._tidegate import half_width_95, rare_half_width_95
from tidegate.rows import Rows

__all__ = [
    "Estimate",
    "GateSummary",
    "GroupSummary",
    "LinkSummary",
    "UsageSummary",
    "Values",
    "estimate",
]

NO_INTERVAL = "no interval from one run"
"""The note for figures that come from a single replication."""

RARE = 0.01
"""Mean share up to which losses are rare: their interval is then at least that of `rare_half_width_95`."""

Values = list[float | None]
"""One figure of each replication; None where nothing was measured."""


class Estimate(NamedTuple):
    """A mean over the replications in which something was measured.

    Attributes:
        mean: The mean; None if no replication measured anything.
        half_width: Half the width of its 95 % interval; None from fewer than two replications.
    """

    mean: float | None
    half_width: float | None


@dataclass(frozen=True)
class GroupSummary:
    """A group of flows: those of one `[[flow]]` in the scenario.

    Delays are end to end and in seconds, over the packets of all its flows.

    Attributes:
        group: Its name.
        flows: Number of its flows.
        jain: Jain's fairness index of the bytes that its flows received: 1 when all received as much, and 1
            divided by their number when one received all. The mean is None for one flow.
        sent: Packets that left the sources.
        received: Packets that arrived, of multicast flows the copies at all destinations.
        marked: Packets that arrived with congestion marked on the way (CE, EFCI).
        dropped: Packets dropped on the route; of a multicast flow one before a fork counts once.
        discarded: Packets that envelopes discarded at the sources; not counted as sent.
        lost: Share of the copies due at destinations that drops and losses kept from them, 0 to 1: of a flow
            with one destination, of its packets. Where losses are rare, its half interval reaches the upper
            limit of Korn and Graubard (1998).
        warned: Share of the checks of their monitors at which its flows were warned, 0 to 1.
        refused: Share of its flows that were refused when they were to be set up, 0 to 1.
        throughput: Bits received in a second of measured time by all its flows together, in bit/s, of packets
            that were sent after the warm-up.
        throughput_per_flow: The same, divided by the number of flows.
        goodput: Bits of data that receivers handed to their applications in a second of measured time, each
            once and without headers, in bit/s. The mean is None without a transport that counts it.
        retransmissions: Packets of data that senders sent again; likewise.
        timeouts: Times that a retransmission timer expired with data outstanding; likewise.
        transfers: Finite transfers that began and ended in the measured time; the mean is None for none, as
            are those below.
        transfer_mean: Mean time from the start of a transfer until all of it was acknowledged, in seconds.
        transfer_p95: 95 % quantile of that time.
        transfer_p99: 99 % quantile of that time.
        delay_mean: Mean delay.
        delay_p99: 99 % quantile of the delay.
        delay_max: Largest delay in a replication.
        queueing_mean: Mean queueing delay, summed over hops.
        queueing_p99: 99 % quantile of the queueing delay.
    """

    group: str
    flows: int
    jain: Estimate
    sent: Estimate
    received: Estimate
    marked: Estimate
    dropped: Estimate
    discarded: Estimate
    lost: Estimate
    warned: Estimate
    refused: Estimate
    throughput: Estimate
    throughput_per_flow: Estimate
    goodput: Estimate
    retransmissions: Estimate
    timeouts: Estimate
    transfers: Estimate
    transfer_mean: Estimate
    transfer_p95: Estimate
    transfer_p99: Estimate
    delay_mean: Estimate
    delay_p99: Estimate
    delay_max: Estimate
    queueing_mean: Estimate
    queueing_p99: Estimate


@dataclass(frozen=True)
class LinkSummary:
    """One direction of a link.

    Attributes:
        link: Its name, as `s1->s2`.
        rate: Its rate in bit/s.
        packets: Packets sent.
        throughput: Bits sent in a second of measured time, in bit/s, including packets that entered the
            network during the warm-up.
        dropped: Packets dropped at its port.
        marked: Times that its port marked congestion on a packet.
        utilisation: Share of the measured time in which it was sending, 0 to 1.
        in_traffic: Green packets as a share of what its port could have sent, 0 to 1 and above. The mean is
            None where packets pass no meter that colours.
        in_traffic_max: Its maximum over the seconds of a replication; the mean is None when less than a
            second was measured.
        queue_mean: Queue length as a time average in packets, the packet in service included.
        queue_max: Longest queue in a replication in packets.
        wait_mean: Mean seconds from last bit in to first bit out.
    """

    link: str
    rate: int
    packets: Estimate
    throughput: Estimate
    dropped: Estimate
    marked: Estimate
    utilisation: Estimate
    in_traffic: Estimate
    in_traffic_max: Estimate
    queue_mean: Estimate
    queue_max: Estimate
    wait_mean: Estimate


@dataclass(frozen=True)
class UsageSummary:
    """A profile at one meter: a customer's usage at a boundary, in bytes of the measured time.

    Attributes:
        link: The link at whose port the meter stands.
        class_name: The class whose meter it is; empty for the port's own.
        nth: Number of the meter in that class or port, from 1.
        profile: Name of the shared profile; empty for a flow's own.
        flow: Name of the flow whose own profile it is; empty for a shared one.
        inside: Inside the profile (green).
        yellow: Beyond its committed rate or burst, within the excess.
        outside: Outside the profile (red).
        congested_inside: Inside, and arrived with congestion marked; 0 where the meter does not look for it.
        congested_outside: The same for yellow and outside.
    """

    link: str
    class_name: str
    nth: int
    profile: str
    flow: str
    inside: Estimate
    yellow: Estimate
    outside: Estimate
    congested_inside: Estimate
    congested_outside: Estimate


@dataclass(frozen=True)
class GateSummary:
    """One flow of a gate's file, in one direction.

    Attributes:
        flow: Its name; `(no match)` for traffic that no flow of the file matches.
        direction: `up` or `down`.
        flows: Number of flows at the end: with `each`, those that were created and not forgotten.
        throughput: Rate at which it sent, as the link is charged for it, in bit/s.
        arrived: Packets that arrived at it.
        dropped: Packets dropped.
    """

    flow: str
    direction: str
    flows: Estimate
    throughput: Estimate
    arrived: Estimate
    dropped: Estimate


def estimate(values: Sequence[float | None]) -> Estimate:
    """Return the mean of the figures that there are, with its interval."""
    measured = [float(value) for value in values if value is not None]
    if not measured:
        return Estimate(None, None)
    return Estimate(math.fsum(measured) / len(measured), half_width_95(measured))


def share(shares: Values, trials: Values) -> Estimate:
    """Return the mean of a share of `trials`, such as losses; where it is rare, with an interval that covers.

    Most replications have no rare event, so the mean is far from normal.
    """
    mean, half_width = estimate(shares)
    if mean is None or half_width is None or mean > RARE:
        return Estimate(mean, half_width)
    pairs = [
        (part, number) for part, number in zip(shares, trials, strict=True) if part is not None and number
    ]
    rare = rare_half_width_95([(round(part * number), int(number)) for part, number in pairs])
    return Estimate(mean, half_width if rare is None else max(half_width, rare))


def group_estimates(figures: Mapping[str, Values]) -> dict[str, Estimate]:
    """Return the mean of every figure of a group, with its interval."""
    estimates = {name: estimate(values) for name, values in figures.items()}
    due = figures["due"]
    del estimates["due"]
    return estimates | {"lost": share(figures["lost"], due)}


def groups(table: pa.Table, replications: int) -> Rows[GroupSummary]:
    """Summarise the table `groups`, in the order of the scenario."""
    return Rows(
        GroupSummary(group, flows, **group_estimates(figures))
        for (group, flows), figures in group_figures(table, replications).items()
    )


def group_figures(table: pa.Table, replications: int) -> dict[tuple[str, int], dict[str, Values]]:
    """Return every figure of `GroupSummary` in each replication, by (group, number of its flows)."""
    columns = _by_row(table, replications)
    figures = {}
    for row in range(table.num_rows // replications):
        flows = columns("flows", row)[0]
        sent = columns("sent_packets", row)
        throughput = columns("throughput", row)
        due = columns("due_copies", row)
        figures[columns("group", row)[0], flows] = {
            "jain": columns("jain", row),
            "sent": sent,
            "received": columns("received_packets", row),
            "marked": columns("marked_packets", row),
            "dropped": columns("dropped_packets", row),
            "discarded": columns("discarded_packets", row),
            "due": due,
            "lost": [_ratio(*pair) for pair in zip(columns("missed_copies", row), due, strict=True)],
            "warned": [
                _ratio(*pair) for pair in zip(columns("warnings", row), columns("checks", row), strict=True)
            ],
            "refused": [_ratio(refused, flows) for refused in columns("refused", row)],
            "throughput": throughput,
            "throughput_per_flow": [_ratio(bits, flows) for bits in throughput],
            "goodput": columns("goodput", row),
            "retransmissions": columns("retransmissions", row),
            "timeouts": columns("timeouts", row),
            "transfers": columns("transfers", row),
            "transfer_mean": columns("transfer_mean", row),
            "transfer_p95": columns("transfer_p95", row),
            "transfer_p99": columns("transfer_p99", row),
            "delay_mean": columns("delay_mean", row),
            "delay_p99": columns("delay_p99", row),
            "delay_max": columns("delay_max", row),
            "queueing_mean": columns("queueing_mean", row),
            "queueing_p99": columns("queueing_p99", row),
        }
    return figures


def links(table: pa.Table, replications: int, measured: float) -> Rows[LinkSummary]:
    """Summarise the table `links` of runs that measured so many seconds, in the order of the scenario."""
    columns = _by_row(table, replications)
    return Rows(
        LinkSummary(
            link=link,
            rate=columns("rate", row)[0],
            packets=estimate(columns("packets", row)),
            throughput=estimate([sent * 8 / measured for sent in columns("bytes", row)]),
            dropped=estimate(columns("dropped_packets", row)),
            marked=estimate(columns("marked_packets", row)),
            utilisation=estimate(columns("utilisation", row)),
            in_traffic=estimate(columns("in_traffic", row)),
            in_traffic_max=estimate(columns("in_traffic_max", row)),
            queue_mean=estimate(columns("queue_mean", row)),
            queue_max=estimate(columns("queue_max", row)),
            wait_mean=estimate(columns("wait_mean", row)),
        )
        for row, link in enumerate(table["link"][: table.num_rows // replications].to_pylist())
    )


def usage(table: pa.Table, replications: int) -> Rows[UsageSummary]:
    """Summarise the table `usage`. A flow that was never set up has used nothing."""
    figures = ("inside", "yellow", "outside", "congested_inside", "congested_outside")
    records: dict[tuple[str, str, int, str, str], dict[str, Values]] = {}
    for row in table.to_pylist():
        key = (row["link"], row["class"], row["nth"], row["profile"], row["flow"])
        of_profile = records.setdefault(key, {name: [0.0] * replications for name in figures})
        for name in figures:
            of_profile[name][row["replication"]] = float(row[f"{name}_bytes"])
    return Rows(
        UsageSummary(
            link=link,
            class_name=class_name,
            nth=nth,
            profile=profile,
            flow=flow,
            inside=estimate(used["inside"]),
            yellow=estimate(used["yellow"]),
            outside=estimate(used["outside"]),
            congested_inside=estimate(used["congested_inside"]),
            congested_outside=estimate(used["congested_outside"]),
        )
        for (link, class_name, nth, profile, flow), used in records.items()
    )


def gate(table: pa.Table, replications: int, measured: float) -> Rows[GateSummary]:
    """Summarise the table `gate` of runs that measured so many seconds, in the order of the gate's file."""
    columns = _by_row(table, replications)
    return Rows(
        GateSummary(
            flow=columns("flow", row)[0],
            direction=columns("direction", row)[0],
            flows=estimate(columns("flows", row)),
            throughput=estimate([sent * 8 / measured for sent in columns("sent_bytes", row)]),
            arrived=estimate(columns("arrived_packets", row)),
            dropped=estimate(columns("dropped_packets", row)),
        )
        for row in range(table.num_rows // replications)
    )


def flows(table: pa.Table, replications: int) -> list[dict[str, Any]]:
    """Return a dictionary for each row of the table `flows`: constants, means, and `ci95`."""
    return _estimated(table, replications, ("flow", "group", "from", "to", "hops"))


def workahead(table: pa.Table, replications: int) -> list[dict[str, Any]]:
    """Return a dictionary for each row of the table `workahead`, as `flows` does."""
    return _estimated(table, replications, ("flow", "group", "link", "hop", "factor", "rate"))


def _estimated(table: pa.Table, replications: int, fixed: Sequence[str]) -> list[dict[str, Any]]:
    columns = _by_row(table, replications)
    varying = [name for name in table.column_names if name not in (*fixed, "replication", "seed")]
    rows = []
    for row in range(table.num_rows // replications):
        estimates = {name: estimate(columns(name, row)) for name in varying}
        rows.append(
            {name: columns(name, row)[0] for name in fixed}
            | {name: one.mean for name, one in estimates.items()}
            | {"ci95": {name: one.half_width for name, one in estimates.items()}}
        )
    return rows


def _by_row(table: pa.Table, replications: int) -> Callable[[str, int], list[Any]]:
    """Return a look-up of a column's values for one subject in all replications.

    Every replication of a scenario lists the same subjects in the same order.
    """
    subjects = table.num_rows // replications
    lists: dict[str, list[Any]] = {}

    def look_up(column: str, row: int) -> list[Any]:
        if column not in lists:
            lists[column] = table[column].to_pylist()
        return lists[column][row::subjects]

    return look_up


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
