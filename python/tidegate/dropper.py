"""Droppers that are written in Python.

    class Short(tidegate.Dropper):
        name = "short"
        parameters = {"packets": 20}

        def arrived(self, now, packet, queue):
            return tidegate.Drop("queue-limit") if queue.packets >= self.packets else None

From then on `port = "fifo + short"` is a port with this dropper.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from tidegate import _tidegate
from tidegate._tidegate import Packet, Queue
from tidegate.policy import Declaration, QueuePolicy

__all__ = ["Congested", "Drop", "Dropper", "Packet", "Queue"]


class Drop(NamedTuple):
    """The verdict that a packet is dropped.

    Attributes:
        reason: A name of the counters: `queue-limit`, `early-drop`, `forced-drop`, `sojourn-time`.
    """

    reason: str
    may_mark: bool = False


class Congested(NamedTuple):
    """The verdict that a packet is marked if it is ECN-capable, and dropped otherwise (RFC 3168).

    Attributes:
        reason: As that of `Drop`.
    """

    reason: str
    may_mark: bool = True


Verdict = Drop | Congested | None


class Dropper(QueuePolicy):
    """Decides which packets enter a queue, and which leave it.

    A port, a class or a flow whose queue it guards makes an object of it. Override those methods
    that are needed. A packet is the same object from `arrived` to `left`.

    Attributes:
        marks: True if it returns `Congested`.
    """

    marks: ClassVar[bool] = False
    _role = "dropper"
    _fixed = (*QueuePolicy._fixed, "marks")

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_dropper(*declaration, marks=cls.marks)

    def arrived(self, now: int, packet: Packet, queue: Queue) -> Verdict:
        """Judge a packet before it joins the queue, which does not count it; None admits it."""

    def selected(self, now: int, packet: Packet, queue: Queue) -> Verdict:
        """Judge a packet that is to be sent next; None lets it leave.

        `queue` does not count the packet.
        """

    def left(self, now: int, packet: Packet, how: str) -> None:
        """Learn that an admitted packet is not in the queue any more.

        `how` is `sent` (its last bit is out), `pushed-out` (a memory was full), `dropped`
        (a `selected` of this dropper or of another one dropped it), `refused` (a dropper further out
        did not admit it) or `moved` (to another flow).
        """
