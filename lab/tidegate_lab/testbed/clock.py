"""An event loop on the kernel's clock: timers to the nanosecond, and sockets. Runs in the guest."""

from __future__ import annotations

import ctypes
import heapq
import itertools
import os
import select
import socket
import time
from collections.abc import Callable

CLOCK_MONOTONIC = 1
TFD_NONBLOCK = 0o4000
TFD_TIMER_ABSTIME = 1

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Loop:
    """Carries out calls at their times, in order, and those of sockets that are ready.

    Attributes:
        start: The time of the kernel's monotonic clock that is time 0 of the loop, in ns.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self._timer = _libc.timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)
        if self._timer < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._poll = select.epoll()
        self._poll.register(self._timer, select.EPOLLIN)
        self._sockets: dict[int, Callable[[int], None]] = {}
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def now(self) -> int:
        """Return the time in ns."""
        return time.monotonic_ns() - self.start

    def at(self, when: int, call: Callable[[], None]) -> None:
        """Carry out a call at a time in ns; calls of one time in the order in which they were asked for."""
        heapq.heappush(self._calls, (when, next(self._numbers), call))

    def watch(self, peer: socket.socket, events: int, call: Callable[[int], None]) -> None:
        """Call whenever a socket is ready for one of these events."""
        number = peer.fileno()
        if number in self._sockets:
            self._poll.modify(number, events)
        else:
            self._poll.register(number, events)
        self._sockets[number] = call

    def forget(self, peer: socket.socket) -> None:
        """Watch a socket no more."""
        self._poll.unregister(peer.fileno())
        del self._sockets[peer.fileno()]

    def run(self, until: int) -> None:
        """Run to a time in ns, the calls of that time included."""
        # Calls are carried out by the time for which the timer was set: each look at the clock
        # takes 256 ns in a kernel in virtual time.
        ended = False
        self.at(until, lambda: None)
        while not ended:
            when = self._calls[0][0]
            self._set(when)
            is_due = is_too_late = False
            while not (is_due or is_too_late):
                for number, events in self._poll.poll():
                    if number == self._timer:
                        is_due = os.read(number, 8) != b""
                    elif call := self._sockets.get(number):
                        call(events)
                        # It may have asked for a call before that.
                        is_too_late = self._calls[0][0] < when
            while is_due and self._calls and self._calls[0][0] <= when:
                ended = ended or self._calls[0][0] >= until
                heapq.heappop(self._calls)[2]()

    def _set(self, when: int) -> None:
        whole, part = divmod(self.start + when, 1_000_000_000)
        value = _Itimerspec(_Timespec(0, 0), _Timespec(whole, part))
        if _libc.timerfd_settime(self._timer, TFD_TIMER_ABSTIME, ctypes.byref(value), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")
