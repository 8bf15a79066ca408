"""Random workloads at one port of 1 Mbit/s: those of `crates/core/tests/conformance/port.rs`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

LINK = 1_000_000
"""Rate of the link in bit/s."""
LARGEST = 1000
"""The largest packet, in bytes."""
LATENCY = 3 * 4 * 5 * 8 * LARGEST / LINK
"""The most by which a discipline with a guarantee is behind it, in seconds."""


@dataclass(frozen=True)
class Flow:
    """A flow at the port.

    Attributes:
        reserve: Reservation in bit/s.
        part: The same, as a whole number of parts of all reservations.
        priority: Level of priority, 0 the most urgent.
        burst: Depth of the token bucket to which its traffic conforms, if it does, in bytes.
    """

    reserve: float
    part: int
    priority: int
    burst: int

    def seconds(self, length: float) -> float:
        """Return the seconds in which the reservation serves this many bytes."""
        return 8 * length / self.reserve


Arrival = tuple[float, int, int]
"""Time of an arrival in seconds, index of its flow, and bytes of its packet."""


@dataclass(frozen=True)
class Workload:
    """Flows and their arrivals, in order of time, and the index of the flow that is looked at."""

    flows: tuple[Flow, ...]
    arrivals: list[Arrival]
    subject: int = 0


@dataclass(frozen=True)
class Sent:
    """A packet that was sent, with its number among those of its flow; times are in seconds."""

    flow: int
    number: int
    length: int
    arrived: float
    left: float


@dataclass(frozen=True)
class Run:
    """A workload, and what a port did with it until the end."""

    workload: Workload
    sent: list[Sent]
    ended: float

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows of the workload."""
        return self.workload.flows

    def served(self, flow: int, begin: float, end: float) -> int:
        """Return the bytes of a flow that left between two times."""
        return sum(one.length for one in self.sent if one.flow == flow and begin < one.left <= end)

    def delays(self, flow: int) -> Iterator[float]:
        """Yield the delays of a flow's packets; of those that wait at the end, so far."""
        left = {one.number: one.left for one in self.sent if one.flow == flow}
        came = (time for time, own, _ in self.workload.arrivals if own == flow and time <= self.ended)
        for number, time in enumerate(came):
            yield left.get(number, self.ended) - time


def flows(rng: random.Random, reserved: float = 0.9 * LINK) -> tuple[Flow, ...]:
    """Draw two to five flows whose reservations differ by four at most."""
    parts = [rng.randint(1, 4) for _ in range(rng.randint(2, 5))]
    return tuple(
        Flow(reserved * part / sum(parts), part, rng.randrange(4), LARGEST * rng.randint(1, 4))
        for part in parts
    )


def flood(flow: int, begin: float, lasts: float) -> list[Arrival]:
    """Return packets that come at once, until they take so long on the link."""
    return [(begin, flow, LARGEST)] * int(lasts * LINK / (8 * LARGEST))


def conforming(place: int, flow: Flow, lasts: float, rng: random.Random) -> list[Arrival]:
    """Draw packets that conform to a flow's bucket, some as early as they may and some later."""
    made: list[Arrival] = []
    now, tokens, filled = 0.0, float(flow.burst), 0.0
    while now < lasts:
        for _ in range(rng.randint(1, 6)):
            length = rng.choice((100, 500, LARGEST))
            tokens = min(flow.burst, tokens + (now - filled) * flow.reserve / 8)
            filled = now
            wait = max(0.0, (length - tokens) * 8 / flow.reserve)
            now += wait
            tokens, filled = tokens + wait * flow.reserve / 8 - length, now
            made.append((now, place, length))
        now += rng.randrange(3) * rng.uniform(0.0, 0.06)
    return made
