"""Conformance of packets to token buckets, in exact rational arithmetic.

This module shares no code with the one that makes the packets: it goes by the definition of an
arrival curve, and not by the level of a bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

TICK = Fraction(1, 10**11)
"""Seconds in a tick."""


def violation(packets: Sequence[tuple[int, int]], buckets: Sequence[tuple[Fraction, Fraction]]) -> str | None:
    """Return which packets break a contract; None if they keep it.

    Over any closed interval of t seconds, the packets in it have at most `burst + rate · t` bytes for
    each bucket. It is enough to look at intervals that begin and end with a packet: with S bytes sent
    up to the last one and S' before the first, at t and t', they keep the bucket if `S - rate · t` is
    at most `burst + S' - rate · t'`.

    Args:
        packets: Ticks of 10 ps from the start, and bytes.
        buckets: Burst in bytes and rate in bytes a second of each.
    """
    times = [at * TICK for at, _ in packets]
    if any(later < earlier for earlier, later in pairwise(times)):
        return "its packets are not in order of time"
    for burst, rate in buckets:
        sent = Fraction(0)
        least: Fraction | None = None
        for number, (time, (_, size)) in enumerate(zip(times, packets, strict=True)):
            start = sent - rate * time
            least = start if least is None else min(least, start)
            sent += size
            if sent - rate * time - least > burst:
                return f"packet {number} is beyond {burst} B and {rate} B/s"
    return None
