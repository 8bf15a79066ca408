"""Contracts of flows, and the packets that a flow may send as early as its contract allows.

Times are in ticks of 10 ps, as everywhere in a simulation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.source import LoadedScenario

TICKS = 10**11
"""Ticks in a second."""

Packets = list[tuple[int, int]]
"""Time in ticks and size in bytes of each packet, in order of time."""


@dataclass(frozen=True)
class Contract:
    """The traffic that a flow may send: no more than each of its token buckets allows.

    Attributes:
        flow: Name of the flow.
        group: The group that it is a member of.
        buckets: Burst in bytes and rate in bytes a second of each bucket.
        smallest: Its smallest packet, in bytes.
        largest: Its largest packet, in bytes.
        reason: Why it has no contract; None if it has one.
    """

    flow: str
    group: str
    buckets: tuple[tuple[Fraction, Fraction], ...]
    smallest: int
    largest: int
    reason: str | None


def contracts(scenario: LoadedScenario) -> list[Contract]:
    """Return the contract of each flow, in their order.

    A group that has a flow without a contract has none: its members share one source.
    """
    entries = json.loads(scenario.contracts_json())
    without = {one["group"]: one["reason"] for one in entries if one["reason"] is not None}
    return [
        Contract(
            one["flow"],
            one["group"],
            tuple((Fraction(bucket["burst"]), Fraction(bucket["rate"])) for bucket in one["buckets"]),
            one["smallest"] or 1,
            one["largest"] or 1,
            without.get(one["group"]),
        )
        for one in entries
    ]


def greedy(contract: Contract, size: int, window: int, most: int) -> Packets:
    """Return packets of one size, each as early as the contract allows: a burst, and then the rate.

    Args:
        contract: The contract; its buckets are full at the time 0.
        size: Bytes of each packet, no more than a burst.
        window: Ticks from the first packet within which the others are sent.
        most: Most packets.
    """
    buckets = []
    for burst, rate in contract.buckets:
        per_tick = rate / TICKS
        scale = lcm(burst.denominator, per_tick.denominator)
        buckets.append((int(burst * scale), int(per_tick * scale), size * scale))
    levels = [full for full, _, _ in buckets]
    packets: Packets = []
    now = 0
    while len(packets) < most:
        wait = 0
        for level, (_, gain, need) in zip(levels, buckets, strict=True):
            if level < need:
                if not gain:
                    return packets
                wait = max(wait, -((level - need) // gain))
        now += wait
        if now > window:
            break
        levels = [
            min(full, level + gain * wait) - need
            for level, (full, gain, need) in zip(levels, buckets, strict=True)
        ]
        packets.append((now, size))
    return packets
