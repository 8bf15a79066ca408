"""Detectors that are written in Python.

    class Unlucky(tidegate.Detector):
        name = "unlucky"

        def dropped(self, now, packet):
            self.report(packet.flow)

From then on a port with a dropper may have `detector = "unlucky"`.
"""

from __future__ import annotations

from typing import ClassVar, Self

from tidegate import _tidegate
from tidegate._tidegate import Contract, Packet, TidegateError
from tidegate.dropper import Drop, Verdict
from tidegate.policy import Declaration, Policy, Value

__all__ = ["Contract", "Detector", "Drop", "Packet"]

Found = list[tuple[int, bool]]
"""Flows, each with True if it was named and False if it was released."""


class Detector(Policy):
    """Names flows that do not respond to congestion, by the drops of a node's dropper.

    A port or a class that names it makes an object of it. Drops of meters, of the shared memory and
    of other nodes, and marks, are not reported to it.

    Attributes:
        named: The flows that it has named, and not released since.
    """

    _role = "detector"
    _sees_arrivals: ClassVar[bool] = False

    named: set[int]
    _at: int
    """The flow of the packet at hand."""

    _found: Found

    def __init_subclass__(cls) -> None:
        cls._sees_arrivals = cls.arrived is not Detector.arrived
        super().__init_subclass__()

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_detector(*declaration)

    def __new__(cls, **parameters: Value) -> Self:  # noqa: D102
        self = super().__new__(cls, **parameters)
        self.named, self._found = set(), []
        return self

    def opened(self, flow: int, contract: Contract) -> None:
        """Learn of a flow, or of a change of its contract. Flows are numbered from 0 at each port."""

    def closed(self, flow: int) -> None:
        """Learn that a flow has ended, and that its number goes to another one."""

    def dropped(self, now: int, packet: Packet) -> None:
        """Learn of a packet that the dropper has dropped."""

    def arrived(self, now: int, packet: Packet) -> Verdict:
        """Judge a packet that arrives, before the dropper does; None lets it pass.

        The reason of `Drop` is `non-responsive`. Such a packet is not reported as dropped.
        """

    def report(self, flow: int) -> None:
        """Name the flow of the packet at hand; a flow that is named stays so.

        Raises:
            TidegateError: It is not the packet's flow.
        """
        if flow != self._at:
            raise TidegateError(f"it reports flow {flow!r} at a packet of flow {self._at}")
        if flow not in self.named:
            self.named.add(flow)
            self._found.append((flow, True))

    def release(self, flow: int) -> None:
        """Release a flow that was named, at a packet of any flow.

        Raises:
            TidegateError: It was not named.
        """
        if flow not in self.named:
            raise TidegateError(f"it releases flow {flow!r}, which is not named")
        self.named.remove(flow)
        self._found.append((flow, False))

    def _close(self, flow: int) -> None:
        self.named.discard(flow)
        self.closed(flow)

    def _dropped(self, now: int, packet: Packet) -> tuple[Verdict, Found]:
        self._at = packet.flow
        self.dropped(now, packet)
        found, self._found = self._found, []
        return None, found

    def _arrived(self, now: int, packet: Packet) -> tuple[Verdict, Found]:
        self._at = packet.flow
        verdict = self.arrived(now, packet)
        found, self._found = self._found, []
        return verdict, found
