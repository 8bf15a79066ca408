"""What a late packet met on its way, hop by hop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ORIGIN_TICKS = 1 << 60
"""The clock at the start of a run; a stamp that is a time is later, and an order of arrival is far below."""
NEVER_TICKS = (1 << 64) - 1
"""The stamp of a datagram: served when nothing with a reservation waits."""
TICKS_PER_SECOND = 10**11

MOST_FLOWS = 5
"""Most flows that are listed as having been served before a packet."""


@dataclass(frozen=True)
class Before:
    """What one flow sent while a packet waited.

    Attributes:
        flow: Its name.
        packets: Its packets that started in that time.
        bytes: Their bytes.
        share: The share of the wait that they took, 0 to 1.
    """

    flow: str
    packets: int
    bytes: int
    share: float


@dataclass(frozen=True)
class Hop:
    """A packet at one link.

    Attributes:
        link: Name of the link.
        arrived: When its last bit was in, or its flow's envelope let it go, in s from the start of the run.
        held: How long the envelope held it before that, in s. It is no part of `wait`, nor of the packet's
            delay where the envelope is at the source.
        queue: Packets that it met, the one in service included; None for a packet that an envelope held.
        wait: The queueing delay: from `arrived` to first bit out, in s.
        stamp: `time` when the scheduler stamped it with a time, `order` when with its order of arrival,
            `datagram` when it stamped it as without a reservation, `other` when its stamp is something else.
        lead: How far a stamp that is a time was ahead of real time when the packet arrived, in s; else None.
        packets_before: Packets that started while it waited.
        bytes_before: Their bytes.
        before: The flows that sent most of them, at most MOST_FLOWS, most bytes first.
        rest: Share of the wait that is not theirs: the packet in service when it arrived, flows that are not
            listed, and time in which a ceiling held it, 0 to 1.
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


def hop(met: Mapping[str, Any], rate: float, *, stamp_is_known: bool = True) -> Hop:
    """Sum up one hop of a watched packet, at a link of `rate` bit/s.

    `stamp_is_known` says whether the scheduler's stamps are times or orders of arrival.
    """
    wait = met["started"] - met["arrived"]
    largest = sorted(met["before"], key=lambda served: -served["bytes"])[:MOST_FLOWS]
    before = tuple(
        Before(one["flow"], one["packets"], one["bytes"], one["bytes"] * 8 / rate / wait if wait > 0 else 0.0)
        for one in largest
    )
    kind = _kind(met["stamp"]) if stamp_is_known else "other"
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
    )


def seconds(stamp: int) -> float:
    """Return a stamp that is a time in s from the start of the run."""
    return (stamp - ORIGIN_TICKS) / TICKS_PER_SECOND


def _kind(stamp: int) -> str:
    if stamp == NEVER_TICKS:
        return "datagram"
    return "time" if stamp >= ORIGIN_TICKS else "order"
