"""The stamps of a flow's packets: runs a replication again and follows them."""

from __future__ import annotations

from typing import NamedTuple

from tidegate import _tidegate
from tidegate.results import Results

__all__ = ["TICKS_PER_SECOND", "Stamped", "stamps"]

TICKS_PER_SECOND = 10**11
"""Ticks of a stamp in a second."""

_SLICE = 200_000

_ALL = 2**32
"""More packets than a run that is followed packet by packet has."""


class Stamped(NamedTuple):
    """A packet at a link.

    Attributes:
        sequence: Its number within its flow, from 0.
        arrived: When its last bit was in, in s from the start of the run.
        stamp: Its stamp at that link's port, in ticks from some fixed time before the start of the
            run.
    """

    sequence: int
    arrived: float
    stamp: int


def stamps(results: Results, flow: str, link: str, replication: int = 0) -> list[Stamped]:
    """Run a replication again and return the stamps of a flow's packets at a link, in their order.

    Only packets that have arrived at their destination by the end of the run are there. The
    scheduler's tags are taken for times, as stamps of VirtualClock and its relatives are.

    Raises:
        TidegateError: There is no such flow.
    """
    scenario = results.scenario()
    run = _tidegate.Run(scenario, results.seeds[replication], replication, watch=(flow, _ALL))
    while not run.advance(_SLICE):
        pass
    return sorted(
        Stamped(packet["sequence"], hop["arrived"], hop["stamp"])
        for packet in run.slowest()
        for hop in packet["hops"]
        if hop["link"] == link
    )
