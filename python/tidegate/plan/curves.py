"""Closed forms for a flow with a reservation at VirtualClock ports: rate, delay and backlog.

A port with VirtualClock is a guaranteed-rate server: a packet leaves by its stamp and the time of the
largest packet L of the port on its link of rate C (Figueira and Pasquale 1995; Xie and Lam 1995). With a
reservation R, the route of H ports offers the flow the service curve of rate R and latency

    Σ (L / C + propagation) + (H - 1) · l / R

with the largest packet l of the flow, which every port but the last hands over whole (Goyal, Lam and Vin
1997; Le Boudec and Thiran 2001, sections 1.7.2 and 2.1.3). The burst is paid once. Everything is exact:
sizes are in bytes, rates in bit/s, times in s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

SCHEDULER = "virtual-clock"
"""The scheduler of all ports, for which these forms hold."""


@dataclass(frozen=True)
class Curve:
    """An arrival curve: the least of token buckets.

    Attributes:
        buckets: Burst in bytes and rate in bit/s of each bucket.
    """

    buckets: tuple[tuple[Fraction, Fraction], ...]

    @property
    def rate(self) -> Fraction:
        """The rate in the long run, in bit/s."""
        return min(rate for _, rate in self.buckets)

    def at(self, time: Fraction) -> Fraction:
        """Return the most bytes within so many seconds."""
        return min(burst + rate * time / 8 for burst, rate in self.buckets)

    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """Return the times at which another bucket becomes the least, from 0, and the bytes by then."""
        time = Fraction(0)
        # Among buckets of the same burst, that of the lowest rate is the least from then on.
        burst, rate = min(self.buckets)
        corners = [(time, burst)]
        while later := [one for one in self.buckets if one[1] < rate]:
            meets = {one: 8 * (one[0] - burst) / (rate - one[1]) for one in later}
            burst, rate = min(later, key=lambda one: (meets[one], one[1]))
            time = meets[burst, rate]
            corners.append((time, self.at(time)))
        return corners


@dataclass(frozen=True)
class Hop:
    """A port on a route.

    Attributes:
        rate: Rate of its link, in bit/s.
        delay: Propagation delay of its link, in s.
    """

    rate: int
    delay: Fraction


def fixed(hops: Sequence[Hop], largest: int) -> Fraction:
    """Return the seconds that a route takes whatever is reserved.

    Args:
        hops: Its ports.
        largest: The largest packet that any flow may send through them, in bytes.
    """
    return sum((Fraction(8 * largest, hop.rate) + hop.delay for hop in hops), Fraction(0))


def needed(curve: Curve, packet: int, hops: Sequence[Hop], largest: int, delay: Fraction) -> int | None:
    """Return the least reservation with which no packet is later than `delay`, in whole bit/s.

    It is at least the rate of the curve. None if no reservation is enough.
    """
    spare = delay - fixed(hops, largest)
    if spare <= 0:
        return None
    between = (len(hops) - 1) * packet
    least = max(8 * (sent + between) / (spare + time) for time, sent in curve.corners())
    return ceil(max(least, curve.rate))


def longest_delay(curve: Curve, packet: int, hops: Sequence[Hop], largest: int, reserve: int) -> Fraction:
    """Return the bound on the delay over a route, in s, with a reservation of at least the curve's rate."""
    between = (len(hops) - 1) * packet
    waits = max(8 * (sent + between) / Fraction(reserve) - time for time, sent in curve.corners())
    return waits + fixed(hops, largest)


def backlogs(curve: Curve, packet: int, hops: Sequence[Hop], largest: int, reserve: int) -> list[Fraction]:
    """Return the most bytes of the flow at each port, the packet on its way out included.

    The ports up to one offer the curve of rate R with the latency of all of them, and a packet counts until
    its last bit is out: the backlog of the last one is at most the vertical deviation (Le Boudec and Thiran
    2001, sections 1.4.1 and 1.4.3).
    """
    latency = Fraction(0)
    found = []
    for hop in hops:
        latency += Fraction(8 * largest, hop.rate) + Fraction(8 * packet, reserve)
        after = [sent - reserve * max(time - latency, Fraction(0)) / 8 for time, sent in curve.corners()]
        found.append(max([curve.at(latency), *after]))
    return found
