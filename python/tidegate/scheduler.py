"""Schedulers that are written in Python.

    class ShortestFirst(tidegate.Scheduler):
        name = "shortest-first"

        def select(self, now):
            return min(self.queues, key=lambda flow: self.queues[flow][0].length, default=None)

From then on `port = "shortest-first"` is a port with this scheduler.
"""

from __future__ import annotations

from collections import deque
from typing import Self

from tidegate import _tidegate
from tidegate._tidegate import Contract, Packet
from tidegate.policy import NEVER, TICKS, Declaration, QueuePolicy, Value

__all__ = ["NEVER", "TICKS", "Contract", "Packet", "Scheduler"]


class Scheduler(QueuePolicy):
    """Decides which flow of a port sends next.

    A port that names it makes an object of it, and keeps `queues`. Override `select`, and of the
    other methods those that are needed.

    Attributes:
        queues: The packets of each flow that has some and may send, the first one first.
    """

    _role = "scheduler"

    queues: dict[int, deque[Packet]]
    _all: dict[int, deque[Packet]]
    _held: set[int]

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_scheduler(*declaration)

    def __new__(cls, **parameters: Value) -> Self:  # noqa: D102
        self = super().__new__(cls, **parameters)
        self.queues, self._all, self._held = {}, {}, set()
        return self

    def arrived(self, now: int, packet: Packet) -> None:
        """Learn of a packet that is about to join the queue of its flow."""

    def select(self, now: int) -> int | None:
        """Return the flow whose first packet is sent next; None only if `queues` is empty.

        It is asked repeatedly, and changes nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `select`")

    def served(self, now: int, packet: Packet) -> None:
        """Learn that a packet has left its queue, and is being sent."""

    def lost(self, now: int, packet: Packet) -> None:
        """Learn that a packet has left its queue, and will not be sent."""

    def _enqueue(self, now: int, packet: Packet) -> None:
        self.arrived(now, packet)
        queue = self._all.setdefault(packet.flow, deque())
        queue.append(packet)
        if packet.flow not in self._held:
            self.queues[packet.flow] = queue

    def _dequeue(self, now: int, flow: int) -> None:
        packet = self._all[flow].popleft()
        self._forget_if_empty(flow)
        self.served(now, packet)

    def _remove(self, now: int, flow: int, is_last: bool) -> None:
        queue = self._all[flow]
        packet = queue.pop() if is_last else queue.popleft()
        self._forget_if_empty(flow)
        self.lost(now, packet)

    def _take_part(self, flow: int, takes_part: bool) -> None:
        if not takes_part:
            self._held.add(flow)
            self.queues.pop(flow, None)
            return
        self._held.discard(flow)
        if self._all.get(flow):
            self.queues[flow] = self._all[flow]

    def _forget_if_empty(self, flow: int) -> None:
        if not self._all[flow]:
            del self._all[flow]
            self.queues.pop(flow, None)
