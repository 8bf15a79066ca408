"""Congestion controls that are written in Python.

    class Gentle(tidegate.CongestionControl):
        name = "gentle"
        parameters = {"left": 0.8}

        def decrease(self, now, windows, flight):
            return int(self.left * flight)

From then on `transport = { kind = "tcp", congestion = "gentle" }` is TCP with this congestion control.
"""

# Methods that are there to be overridden do not use what they are told.
# ruff: noqa: ARG002

from __future__ import annotations

from typing import ClassVar, Literal

from tidegate import _tidegate
from tidegate._tidegate import Acknowledgement, Windows
from tidegate.policy import Declaration, Policy

__all__ = ["Acknowledgement", "CongestionControl", "Windows"]


class CongestionControl(Policy):
    """Sets the congestion window of a TCP connection.

    A connection makes an object of it, keeps the windows, and repairs losses. It asks the object how
    the windows grow, and by how much they are reduced: at most once in a window of data (RFC 5681,
    section 3.2). Override those methods that are needed: without any, it is Reno (RFC 5681).
    Windows and sizes are in bytes. The object is copied with its state (`copy.deepcopy`) when a
    reduction may be undone.

    Attributes:
        responds: Its response to congestion marks. `loss`: as to a loss (RFC 3168). `share`: by the
            share of marked data in each window, for which the receiver reports every mark (RFC 8257).
            `each`: to each acknowledgement that reports marks, with accurate feedback and ECT(1) (RFC
            9331), which needs `recovery = "rack"` and `ecn = "on"`.
    """

    responds: ClassVar[Literal["loss", "share", "each"]] = "loss"
    _role = "congestion control"
    _fixed = (*Policy._fixed, "responds")

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_congestion_control(*declaration, responds=cls.responds)

    def _defined(self) -> set[str]:
        """Return the names of the methods that the class overrides."""
        own = {name for name in vars(CongestionControl) if not name.startswith("_")}
        return {name for name in own if getattr(type(self), name) is not getattr(CongestionControl, name)}

    def acknowledged(self, now: int, report: Acknowledgement) -> None:
        """Learn of an acknowledgement, before the window grows or is reduced for it."""

    def measured(self, now: int, round_trip: int) -> None:
        """Learn of the round trip that an acknowledgement shows, in ticks.

        `recovery = "rack"` measures them; the smoothed one is in `report` with any recovery.
        """

    def grow(self, now: int, windows: Windows, report: Acknowledgement) -> int:
        """Return the congestion window after an acknowledgement: slow start, or `avoid`.

        It is called outside of recovery, while the window was used to the full.
        """
        return windows.slow_start(report.new) if windows.is_slow_start else self.avoid(now, windows, report)

    def avoid(self, now: int, windows: Windows, report: Acknowledgement) -> int:
        """Return the congestion window after an acknowledgement in congestion avoidance."""
        return windows.avoid()

    def not_used(self, now: int) -> None:
        """Learn of an acknowledgement while the window was not used to the full: it does not grow."""

    def decrease(self, now: int, windows: Windows, flight: int) -> int:
        """Return what a loss leaves of `flight` bytes in flight, the new slow start threshold.

        It is two segments at least.
        """
        return flight // 2

    def decrease_marked(self, now: int, windows: Windows, flight: int) -> int:
        """Return what a congestion mark leaves of `flight` bytes in flight."""
        return self.decrease(now, windows, flight)

    def marked(self, now: int, windows: Windows, report: Acknowledgement) -> int | None:
        """Return the congestion window after an acknowledgement that reports marks; None leaves it.

        Only a control that responds to `each` is asked.
        """

    def interval(self, windows: Windows, size: int) -> int | None:
        """Return the ticks from a packet with `size` bytes of data to the next; None does not pace.

        Packets are paced with `recovery = "rack"`.
        """

    def recovered(self, now: int) -> None:
        """Learn that a recovery has ended, also one that began without a reduction."""

    def begin_anew(self, now: int) -> None:
        """Learn that slow start begins anew: after a timeout, or an idle time."""
