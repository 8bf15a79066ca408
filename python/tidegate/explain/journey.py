"""The waits of a late packet on its way, hop by hop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ORIGIN_TICKS = 1 << 60
"""The clock at the start of a run; a stamp that is a time is later, and an order of arrival is far
below."""
NEVER_TICKS = (1 << 64) - 1
"""The stamp of a datagram: served when nothing with a reservation waits."""
TICKS_PER_SECOND = 10**11

MAX_FLOWS = 5
"""Most flows that are listed as having been served before a packet."""


@dataclass(frozen=True)
class Before:
    """Traffic of one flow while a packet waited.

    Attributes:
        flow: Its name.
        packets: Its packets that started in that time.
        bytes: Their bytes.
        share: The share of the wait in which the link was sending packets of the flow, the one that
            it was sending before included, while nothing else kept the packet back, 0 to 1.
    """

    flow: str
    packets: int
    bytes: int
    share: float


@dataclass(frozen=True)
class Cause:
    """Cause of a part of a delay.

    Attributes:
        kind: `packets` (the link was sending packets of other flows, or earlier ones of the same),
            `credit cells` (it was sending cells of its own), `no credit`, `flow ceiling`, `class
            ceiling`, `port ceiling`, `slot` (the scheduler sends in slots, and it was not one of
            the flow's), `not eligible` (the scheduler lets packets go at a time), `no opportunity`
            (of a link with a trace, or that is down), `shaper`, `transmission`, `propagation` (at
            first, and without jitter), `jitter` (what a delay that differs adds to it),
            `reordering` or `earlier transmissions` (of data that were sent again).
        seconds: The time, in s.
        share: Its share of the packet's delay, 0 to 1.
    """

    kind: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Hop:
    """A packet at one link.

    Attributes:
        link: Name of the link.
        arrived: When its last bit was in, or its flow's shaper let it go, in s from the start of
            the run.
        held: Time in the shaper before that, in s. It is no part of `wait`, nor of the packet's
            delay where the shaper is an envelope at the source.
        queue: Packets that it met, the one in service included; None for a packet that a shaper
            held.
        wait: The queueing delay: from `arrived` to first bit out, in s.
        stamp: `time` when the scheduler stamped it with a time, `order` when with its order of
            arrival, `datagram` when it stamped it as without a reservation, `other` when its stamp
            is something else.
        lead: Lead of a stamp that is a time over real time when the packet arrived, in s; else
            None.
        packets_before: Packets that started while it waited.
        bytes_before: Their bytes.
        before: The flows that sent most of them, at most MAX_FLOWS, most bytes first.
        rest: Share of the wait that is not theirs: flows that are not listed, and all other causes,
            0 to 1.
        causes: Parts of its time at the link, until its last bit was in at the other end: the
            longest first. They add up to `held` (where that counts), `wait`, transmission and
            propagation.
    """

    link: str
    arrived: float
    held: float
    queue: int | None
    wait: float
    stamp: str
    lead: float | None
    packets_before: int
    bytes_before: int
    before: tuple[Before, ...]
    rest: float
    causes: tuple[Cause, ...]


WAITING = frozenset(
    {
        "credit cells",
        "no credit",
        "flow ceiling",
        "class ceiling",
        "port ceiling",
        "slot",
        "not eligible",
        "no opportunity",
    }
)
"""Causes of a wait other than packets."""


def hop(met: Mapping[str, Any], delay: float, *, stamp_is_known: bool = True) -> Hop:
    """Sum up one hop of a watched packet, whose delay was `delay` s in all.

    `stamp_is_known` says whether the scheduler's stamps are times or orders of arrival.
    """
    wait = met["started"] - met["arrived"]
    largest = sorted(met["before"], key=lambda served: (-served["bytes"], -served["took"]))[:MAX_FLOWS]
    before = tuple(
        Before(one["flow"], one["packets"], one["bytes"], one["took"] / wait if wait > 0 else 0.0)
        for one in largest
    )
    kind = _kind(met["stamp"]) if stamp_is_known else "other"
    packets = {"packets": sum(one["took"] for one in met["before"])}
    return Hop(
        link=met["link"],
        arrived=met["arrived"],
        held=met["held"],
        queue=met["queue"],
        wait=wait,
        stamp=kind,
        lead=seconds(met["stamp"]) - met["arrived"] if kind == "time" else None,
        packets_before=sum(one["packets"] for one in met["before"]),
        bytes_before=sum(one["bytes"] for one in met["before"]),
        before=before,
        rest=max(0.0, 1.0 - sum(one.share for one in before)) if wait > 0 else 0.0,
        causes=causes(packets | met["causes"], delay),
    )


def causes(took: Mapping[str, float], delay: float) -> tuple[Cause, ...]:
    """Return what parts of a delay went to, the longest first."""
    longest = sorted(took.items(), key=lambda cause: -cause[1])
    return tuple(
        Cause(kind, spent, spent / delay if delay > 0 else 0.0) for kind, spent in longest if spent > 0
    )


def seconds(stamp: int) -> float:
    """Return a stamp that is a time in s from the start of the run."""
    return (stamp - ORIGIN_TICKS) / TICKS_PER_SECOND


def _kind(stamp: int) -> str:
    if stamp == NEVER_TICKS:
        return "datagram"
    return "time" if stamp >= ORIGIN_TICKS else "order"
