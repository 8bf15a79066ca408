"""Schedulers that are written in Python, and have a name in scenarios.

    class ShortestFirst(tidegate.Scheduler):
        name = "shortest-first"

        def select(self, now):
            return min(self.queues, key=lambda flow: self.queues[flow][0].length, default=None)

From then on `port = "shortest-first"` is a port with this scheduler. Times are whole ticks of 10 ps
(`TICKS`), so that nothing is rounded but what a scheduler rounds itself.
"""

from __future__ import annotations

import heapq
import os
import re
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import ClassVar

from tidegate import _tidegate
from tidegate._tidegate import Contract, Packet, TidegateError

__all__ = ["NEVER", "TICKS", "Contract", "Packet", "RankScheduler", "Scheduler", "load_schedulers"]

TICKS = 100_000_000_000
"""Ticks in a second."""

NEVER = 2**64 - 1
"""A time later than any."""

Value = int | float | str

_classes: dict[str, type[Scheduler]] = {}
_files: dict[str, PolicyFile] = {}
"""The file in which each class was defined, by its name; none for a program's own."""

_carried_out: set[PolicyFile] = set()
_under_way: list[PolicyFile] = []


@dataclass(frozen=True)
class PolicyFile:
    """A Python file that defines schedulers.

    Attributes:
        path: Its path, for messages.
        text: Its text.
    """

    path: str
    text: str


class Scheduler:
    """Decides which flow of a port sends next.

    A class that states a `name` is registered when it is defined. A port that has it makes an object
    of it, and keeps `queues`. Override `select`, and of the other methods those that are needed.

    Attributes:
        name: Its name in scenarios: lower-case letters, digits and `-`.
        parameters: Its parameters and their defaults, whole numbers, numbers or text. An object has
            an attribute for each, with the value that a scenario states.
        reads: Keys of a flow's contract that it uses, such as `reserve`.
        queues: The packets of each flow that has some and may send, the first one first.
    """

    name: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Value]] = {}
    reads: ClassVar[Sequence[str]] = ()

    queues: dict[int, deque[Packet]]
    _all: dict[int, deque[Packet]]
    _held: set[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__ and cls.name:
            _register(cls)

    def __new__(cls, **parameters: Value) -> Scheduler:  # noqa: D102
        self = super().__new__(cls)
        self.queues, self._all, self._held = {}, {}, set()
        for key, value in {**cls.parameters, **parameters}.items():
            setattr(self, key, value)
        return self

    def __init__(self, **parameters: Value) -> None:
        """Prepare the object; its parameters are attributes already."""

    def rate_set(self, now: int, rate: float | None) -> None:
        """Learn the rate of the port's link in bit/s, before the first flow and when it changes."""

    def opened(self, now: int, flow: int, contract: Contract) -> None:
        """Learn of a flow, or of a change of its contract. Flows are numbered from 0 at each port."""

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


class RankScheduler(Scheduler):
    """Sends the packet with the smallest rank of those that are first in their queues.

    Equal ranks are sent in the order of arrival. Override `rank`.
    """

    _heads: list[tuple[int, int, int]]
    _ranks: dict[int, deque[tuple[int, int]]]
    _arrivals: int

    def __new__(cls, **parameters: Value) -> RankScheduler:  # noqa: D102
        self = super().__new__(cls, **parameters)
        assert isinstance(self, RankScheduler)
        self._heads, self._ranks, self._arrivals = [], {}, 0
        return self

    def rank(self, now: int, packet: Packet) -> int:
        """Return the rank of a packet that is about to join the queue of its flow."""
        raise NotImplementedError(f"{type(self).__name__} has no `rank`")

    def select(self, now: int) -> int | None:
        """Return the flow whose first packet has the smallest rank."""
        del now
        heads, ranks = self._heads, self._ranks
        while heads:
            rank, order, flow = heads[0]
            if flow in self.queues and ranks[flow][0] == (rank, order):
                return flow
            heapq.heappop(heads)
        return None

    def _enqueue(self, now: int, packet: Packet) -> None:
        ranked = (self.rank(now, packet), self._arrivals)
        self._arrivals += 1
        super()._enqueue(now, packet)
        ranks = self._ranks.setdefault(packet.flow, deque())
        ranks.append(ranked)
        if len(ranks) == 1:
            self._put_first(packet.flow)

    def _dequeue(self, now: int, flow: int) -> None:
        self._ranks[flow].popleft()
        self._put_first(flow)
        super()._dequeue(now, flow)

    def _remove(self, now: int, flow: int, is_last: bool) -> None:
        if is_last:
            self._ranks[flow].pop()
        else:
            self._ranks[flow].popleft()
            self._put_first(flow)
        super()._remove(now, flow, is_last)

    def _take_part(self, flow: int, takes_part: bool) -> None:
        super()._take_part(flow, takes_part)
        if takes_part:
            self._put_first(flow)

    def _put_first(self, flow: int) -> None:
        ranks = self._ranks.get(flow)
        if ranks:
            heapq.heappush(self._heads, (*ranks[0], flow))


def _register(cls: type[Scheduler]) -> None:
    """Give a class its name in scenarios; one that has it already is replaced, as in a notebook.

    Raises:
        TidegateError: The name is taken, or parameters are of another kind than before.
    """
    before = _classes.get(cls.name)
    if before is not None and (before.parameters, before.reads) != (cls.parameters, cls.reads):
        raise TidegateError(
            f"the scheduler `{cls.name}` was defined before with other `parameters` or `reads`: "
            "give it another name, or start Python again"
        )
    _classes[cls.name] = cls
    _files.pop(cls.name, None)
    if _under_way:
        _files[cls.name] = _under_way[-1]
    if before is None:
        help_text = (cls.__doc__ or cls.__name__).strip().splitlines()[0]
        try:
            _tidegate.register_scheduler(cls.name, help_text, dict(cls.parameters), list(cls.reads), _make)
        except TidegateError:
            del _classes[cls.name]
            raise


def _make(name: str, parameters: Mapping[str, Value]) -> Scheduler:
    return _classes[name](**parameters)


def load_schedulers(file: str | os.PathLike[str]) -> None:
    """Carry out a Python file that defines schedulers; a second time does nothing.

    Raises:
        TidegateError: The file cannot be read, or raises an exception.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TidegateError(f"{file}: {error}") from error
    define(PolicyFile(str(Path(file).resolve()), text))


def define(file: PolicyFile) -> None:
    """Define the schedulers of a file, unless it is done.

    Raises:
        TidegateError: The file raises an exception.
    """
    if file in _carried_out:
        return
    module = ModuleType(f"tidegate_policies_{len(_carried_out)}")
    module.__file__ = file.path
    sys.modules[module.__name__] = module
    _under_way.append(file)
    try:
        exec(compile(file.text, file.path, "exec"), module.__dict__)
    except TidegateError:
        raise
    except Exception as error:
        line = extract_tb(error.__traceback__)[-1].lineno
        raise TidegateError(f"{file.path}:{line}: {type(error).__name__}: {error}") from error
    finally:
        _under_way.pop()
    _carried_out.add(file)


def files_of(scenario_toml: str) -> tuple[PolicyFile, ...]:
    """Return the files that define the schedulers in Python that a scenario names.

    Raises:
        TidegateError: One of them is not defined in a file, and so no other process has it.
    """
    names = [name for name in _classes if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", scenario_toml)]
    for name in names:
        if name not in _files:
            raise TidegateError(
                f"the scheduler `{name}` is defined in the program itself, and the processes of a sweep "
                "do not have it: put it in a file of its own, and load that with `tidegate.load_schedulers`"
            )
    return tuple(dict.fromkeys(_files[name] for name in names))
