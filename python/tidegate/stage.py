"""Stages that are written in Python.

    class Tenth(tidegate.Stage):
        name = "tenth"

        def __init__(self):
            self.count = 0

        def entered(self, now, packet):
            self.count += 1
            return tidegate.Passage.DROP if self.count % 10 == 0 else None

From then on a scenario may have `[[stage]]` tables with a `name`, a `node` and `policy = "tenth"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from random import Random

from tidegate import _tidegate
from tidegate._tidegate import PassingPacket
from tidegate.policy import TICKS, Declaration, Policy

__all__ = ["TICKS", "Passage", "PassingPacket", "Stage"]


class Passage(Enum):
    """The fate of a packet that does not pass.

    Attributes:
        DROP: It is dropped, at the end of the link over which it came.
        ABSORB: It ends at the stage, and counts as absorbed.
    """

    DROP = "drop"
    ABSORB = "absorb"


class Stage(Policy):
    """Stands beside a node, and sees the packets that pass it.

    Each `[[stage]]` that names it makes an object of it. Override those methods that are needed: a
    method that is not costs nothing. A packet is another object in each call.

    Attributes:
        rng: Random numbers that follow from the seed of the run and the name of the `[[stage]]`.
    """

    _role = "stage"

    rng: Random

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_stage(*declaration)

    def entered(self, now: int, packet: PassingPacket) -> Passage | None:
        """Judge a packet whose last bit has come; None lets it pass.

        It goes on to the port of the link `packet.goes`, or to its receiver if that is None. Set
        `packet.dscp` and `packet.ecn` to mark it.
        """

    def started(self, now: int, packet: PassingPacket) -> None:
        """Learn that the first bit of a packet leaves."""

    def left(self, now: int, packet: PassingPacket) -> None:
        """Learn that the last bit of a packet has left; it may be marked as in `entered`."""

    def dropped(self, now: int, packet: PassingPacket) -> None:
        """Learn that a packet that was let pass was dropped at the port, or by a later stage."""

    def woken(self, now: int) -> int | None:
        """Act at the beginning of the run, and after as many ticks as the call before returned."""

    def gauges(self) -> Mapping[str, float]:
        """Return quantities by their names, which the series of a run record."""
        return {}

    def _start(self, high: int, low: int) -> set[str]:
        self.rng = Random(high << 64 | low)
        calls = ("entered", "started", "left", "dropped", "woken", "gauges")
        return {call for call in calls if getattr(type(self), call) is not getattr(Stage, call)}
