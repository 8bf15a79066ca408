"""Meters that are written in Python.

    class Big(tidegate.Meter):
        name = "big"
        parameters = {"length": 500}
        colours = True

        def arrived(self, now, profile, packet):
            packet.colour = "red" if packet.length > self.length else "green"

From then on `port = { scheduler = "fifo", meter = "big" }` is a port with this meter.
"""

from __future__ import annotations

from typing import ClassVar

from tidegate import _tidegate
from tidegate._tidegate import Contract, MeteredPacket
from tidegate.dropper import Congested, Drop, Verdict
from tidegate.policy import Declaration, Policy

__all__ = ["Congested", "Contract", "Drop", "Meter", "MeteredPacket"]


class Meter(Policy):
    """Judges packets by their profiles, after the shaper and before the droppers.

    A port or a class that names it makes two objects of it: one meters the profiles of the flows
    themselves, one the profiles that several flows share. The table `usage` counts the bytes of a
    profile by the colours that it writes.

    Attributes:
        colours: True if it divides a profile's packets by colour into those inside, which are green,
            and those outside.
    """

    colours: ClassVar[bool] = False
    _role = "meter"
    _fixed = (*Policy._fixed, "colours")

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_meter(*declaration, colours=cls.colours)

    def opened(self, profile: int, contract: Contract) -> None:
        """Learn of a profile, or of a change of its terms. Profiles are numbered from 0."""

    def arrived(self, now: int, profile: int, packet: MeteredPacket) -> Verdict:
        """Judge a packet of a profile; None lets it pass. Set `packet.colour` to colour it.

        The reason of `Drop` and `Congested` is `meter`.
        """

    def closed(self, profile: int) -> None:
        """Learn that a profile has ended, and that its number goes to another one."""
