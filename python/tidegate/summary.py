"""Means over replications with their intervals, for groups of flows, links and flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.arrow_arrays import number_array, numbers
from tidegate.averages import Array, Averages, average, figure, names, values, widen
from tidegate.estimates import Estimate, Values, estimate, share
from tidegate.result_tables import GateColumn, GroupsColumn, LinksColumn

__all__ = [
    "Estimate",
    "GateSummary",
    "GroupSummary",
    "LinkSummary",
    "UsageSummary",
    "Values",
    "estimate",
]

SAME_IN_GROUPS: tuple[GroupsColumn, ...] = (
    "goodput",
    "retransmissions",
    "timeouts",
    "transfers",
    "transfer_mean",
    "transfer_p95",
    "transfer_p99",
    "delay_mean",
    "delay_p99",
    "delay_max",
    "queueing_mean",
    "queueing_p99",
)
"""Figures of `GroupSummary` that are columns of the table `groups`."""

SAME_IN_LINKS: tuple[LinksColumn, ...] = (
    "utilisation",
    "in_traffic",
    "in_traffic_max",
    "queue_mean",
    "queue_max",
    "wait_mean",
)
"""Figures of `LinkSummary` that are columns of the table `links`."""


@dataclass(frozen=True)
class GroupSummary:
    """A group: flows of one `[[flow]]`, of a direction of one `[[connection]]`, or of those of one `group`.

    Delays are end to end and in seconds, over the packets of all its flows.

    Attributes:
        group: Its name.
        flows: Number of its flows.
        jain: Jain's fairness index of the bytes that its flows received: 1 when all received as
            much, and 1 divided by their number when one received all. The mean is None for one
            flow.
        sent: Packets that left the sources.
        received: Packets that arrived, of multicast flows the copies at all destinations.
        marked: Packets that arrived with congestion marked on the way (CE, EFCI).
        dropped: Packets dropped on the route; of a multicast flow one before a fork counts once.
        discarded: Packets that envelopes discarded at the sources; not counted as sent.
        lost: Share of the copies due at destinations that drops and losses kept from them, 0 to 1:
            of a flow with one destination, of its packets. Where losses are rare, its half interval
            reaches the upper limit of Korn and Graubard (1998).
        warned: Share of the checks of their monitors at which its flows were warned, 0 to 1.
        refused: Share of its flows that were refused when they were to be set up, 0 to 1.
        throughput: Bits received in a second of measured time by all its flows together, in bit/s,
            of packets that were sent after the warm-up.
        throughput_per_flow: `throughput` divided by the number of flows.
        goodput: Bits of data that receivers handed to their applications in a second of measured
            time, each once and without headers, in bit/s. The mean is None without a transport that
            counts it.
        retransmissions: Packets of data that senders sent again; likewise.
        timeouts: Times that a retransmission timer expired with data outstanding; likewise.
        transfers: Finite transfers that began and ended in the measured time; the mean is None for
            none, as are those below.
        transfer_mean: Mean time from the start of a transfer until all of it was acknowledged, in
            seconds.
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
        throughput: Bits sent in a second of measured time, in bit/s, including packets that entered
            the network during the warm-up.
        dropped: Packets dropped at its port.
        marked: Times that its port marked congestion on a packet.
        utilisation: Share of the measured time in which it was sending, 0 to 1.
        in_traffic: Green packets as a share of what its port could have sent, 0 to 1 and above. The
            mean is None where packets pass no meter that colours.
        in_traffic_max: Its maximum over the seconds of a replication; the mean is None when less
            than a second was measured.
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
class ClassSummary:
    """A class at one direction of a link, with the classes in it.

    Attributes:
        link: Name of the link.
        class_name: Name of the class.
        packets: Packets sent.
        dropped: Packets dropped at the port.
        marked: Packets marked at the port.
        throughput: Bit/s sent in the measured time.
        utilisation: Its throughput as a share of the link's rate.
        borrowed: Bit/s beyond its reservation; the mean is None without one.
    """

    link: str
    class_name: str
    packets: Estimate
    dropped: Estimate
    marked: Estimate
    throughput: Estimate
    utilisation: Estimate
    borrowed: Estimate


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
        congested_inside: Inside, and arrived with congestion marked; 0 where the meter does not
            look for it.
        congested_outside: Yellow or outside, likewise.
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


def group_estimates(figures: Mapping[str, Values]) -> dict[str, Estimate]:
    """Return the mean of every figure of a group, with its interval."""
    estimates = {name: estimate(values) for name, values in figures.items()}
    due = figures["due"]
    del estimates["due"]
    return estimates | {"lost": share(figures["lost"], due)}


def group_figures(table: pa.Table, replications: int) -> dict[tuple[str, int], dict[str, Values]]:
    """Return every figure of `GroupSummary` in each replication, by (group, number of its flows)."""
    subjects = names(table, ("group", "flows"), replications)
    keys = zip(*(column.to_pylist() for column in subjects.values()), strict=True)
    columns = {name: values(of_all.T) for name, of_all in _group_columns(table, replications).items()}
    return {
        key: dict(zip(columns, figures, strict=True))
        for key, figures in zip(keys, zip(*columns.values(), strict=True), strict=True)
    }


def groups(table: pa.Table, replications: int, _: float) -> Averages:
    """Summarise the table `groups`, in the order of the scenario: the figures of `GroupSummary`."""
    columns = _group_columns(table, replications)
    due = columns.pop("due")
    averages = average(names(table, ("group", "flows"), replications), columns)
    widen(averages, "lost", columns["lost"], due)
    return averages


def _group_columns(table: pa.Table, replications: int) -> dict[str, Array]:
    """Return every figure of `GroupSummary` by replication and group, and the copies that were due."""

    def of(column: GroupsColumn) -> Array:
        return figure(table, column, replications)

    flows, throughput, due = of("flows"), of("throughput"), of("due_copies")
    return {
        "jain": of("jain"),
        "sent": of("sent_packets"),
        "received": of("received_packets"),
        "marked": of("marked_packets"),
        "dropped": of("dropped_packets"),
        "discarded": of("discarded_packets"),
        "due": due,
        "lost": _ratio(of("missed_copies"), due),
        "warned": _ratio(of("warnings"), of("checks")),
        "refused": _ratio(of("refused"), flows),
        "throughput": throughput,
        "throughput_per_flow": _ratio(throughput, flows),
        **{name: of(name) for name in SAME_IN_GROUPS},
    }


def _ratio(part: Array, whole: Array) -> Array:
    """Return a share; NaN of nothing."""
    of_whole: Array = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)
    return of_whole


def links(table: pa.Table, replications: int, measured: float) -> Averages:
    """Summarise the table `links` of runs that measured so many seconds: the figures of `LinkSummary`."""

    def of(column: LinksColumn) -> Array:
        return figure(table, column, replications)

    figures = {
        "packets": of("packets"),
        "throughput": of("bytes") * 8 / measured,
        "dropped": of("dropped_packets"),
        "marked": of("marked_packets"),
    }
    same = {name: of(name) for name in SAME_IN_LINKS}
    return average(names(table, ("link", "rate"), replications), figures | same)


def usage(table: pa.Table, replications: int, _: float) -> Averages:
    """Summarise the table `usage`: the figures of `UsageSummary`.

    A flow that was never set up has used nothing.
    """
    columns = {"link": "link", "class": "class_name", "nth": "nth", "profile": "profile", "flow": "flow"}
    keys = table.select(list(columns)).combine_chunks()
    # Some profiles are in some replications only: the first row of each stands for its subject.
    places: dict[tuple[object, ...], int] = {}
    subjects = [
        places.setdefault(key, len(places))
        for key in zip(*(keys[name].to_pylist() for name in columns), strict=True)
    ]
    first = number_array(np.unique(np.array(subjects, np.int64), return_index=True)[1])
    replication = numbers(table["replication"])
    figures = {}
    for name in ("inside", "yellow", "outside", "congested_inside", "congested_outside"):
        figures[name] = np.zeros((replications, len(places)))
        figures[name][replication, subjects] = numbers(table[f"{name}_bytes"])
    fixed = {to: keys[name].take(first).combine_chunks() for name, to in columns.items()}
    return average(fixed, figures)


def classes(table: pa.Table, replications: int, _: float) -> Averages:
    """Summarise the table `classes`: the figures of `ClassSummary`."""
    columns = {
        "packets": "packets",
        "dropped_packets": "dropped",
        "marked_packets": "marked",
        "throughput": "throughput",
        "utilisation": "utilisation",
        "borrowed": "borrowed",
    }
    fixed = names(table, ("link", "class"), replications)
    figures = {to: figure(table, name, replications) for name, to in columns.items()}
    return average({"link": fixed["link"], "class_name": fixed["class"]}, figures)


def gate(table: pa.Table, replications: int, measured: float) -> Averages:
    """Summarise the table `gate` of runs that measured so many seconds: the figures of `GateSummary`."""

    def of(column: GateColumn) -> Array:
        return figure(table, column, replications)

    figures = {
        "flows": of("flows"),
        "throughput": of("sent_bytes") * 8 / measured,
        "arrived": of("arrived_packets"),
        "dropped": of("dropped_packets"),
    }
    return average(names(table, ("flow", "direction"), replications), figures)


def flows(table: pa.Table, replications: int, _: float) -> Averages:
    """Summarise the table `flows`: all its columns."""
    return _all(table, replications, ("flow", "group", "from", "to", "hops"))


def workahead(table: pa.Table, replications: int, _: float) -> Averages:
    """Summarise the table `workahead`: all its columns."""
    return _all(table, replications, ("flow", "group", "link", "hop", "factor", "rate"))


def _all(table: pa.Table, replications: int, fixed: tuple[str, ...]) -> Averages:
    varying = [name for name in table.column_names if name not in (*fixed, "replication", "seed")]
    figures = {name: figure(table, name, replications) for name in varying}
    return average(names(table, fixed, replications), figures)


SUMMARIES: Mapping[str, Callable[[pa.Table, int, float], Averages]] = {
    "flows": flows,
    "groups": groups,
    "links": links,
    "classes": classes,
    "usage": usage,
    "gate": gate,
    "workahead": workahead,
}
"""Each takes the table of its name, the number of replications in it, and the measured seconds of
one."""
