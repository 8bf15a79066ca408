"""Which runs of a sweep are next, and how much is left.

Points take turns, in an order that is shuffled, so that the first tenth of the runs is like the
others. The number of runs that a point gets at a time depends on how long its runs take; no result
does.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence

TURN = 0.1
"""Seconds of runs that a point gets at a time, about."""

LARGEST = 256
"""Runs that a point gets at a time, at most."""

Needed = Callable[[int, int], int]
"""Takes a point and the number of its runs, which are all done; returns how many runs it needs."""


class Agenda:
    """The runs of a sweep that are not done.

    Args:
        first: Number of runs that every point needs at least.
        needed: Number of runs that it needs in the end; None for no more.
        done: Replications of each point that are there already.
    """

    def __init__(self, first: Sequence[int], needed: Needed | None, done: Sequence[Collection[int]]) -> None:
        self._needed = needed
        self.runs = list(first)
        self._there = [frozenset(of_point) for of_point in done]
        self._missing = [
            runs - sum(one < runs for one in there)
            for runs, there in zip(self.runs, self._there, strict=True)
        ]
        self._next = [0] * len(self.runs)
        self._seconds = [0.0] * len(self.runs)
        self._timed = [0] * len(self.runs)
        order = list(range(len(self.runs)))
        random.Random(len(order)).shuffle(order)
        self._turns = deque(order)
        for point in order:
            self._extend(point)

    def next(self) -> tuple[int, list[int]] | None:
        """Return a point and the replications that it gets now; None if nothing is to be given out."""
        while self._turns:
            point = self._turns.popleft()
            replications = self._take(point)
            if replications:
                self._turns.append(point)
                return point, replications
        return None

    def record(self, point: int, number: int, seconds: float) -> None:
        """Count some runs of a point as done, with the seconds that they took."""
        self._missing[point] -= number
        self._seconds[point] += seconds
        self._timed[point] += number
        if self._extend(point):
            self._turns.append(point)

    @property
    def total(self) -> int:
        """Number of runs, as far as it is known."""
        return sum(self.runs)

    @property
    def done(self) -> int:
        """Number of runs that are done."""
        return self.total - sum(self._missing)

    def left(self, elapsed: float) -> float | None:
        """Return the seconds that are left, if it goes on as it did; None before the first run is done.

        Args:
            elapsed: Seconds in which the runs that were noted were done.
        """
        spent, timed = math.fsum(self._seconds), sum(self._timed)
        if not timed or not spent:
            return None
        # A point of which nothing is known takes as long as the mean of the others.
        means = [
            seconds / number for seconds, number in zip(self._seconds, self._timed, strict=True) if number
        ]
        usual = math.fsum(means) / len(means)
        to_do = math.fsum(
            missing * (seconds / number if number else usual)
            for missing, seconds, number in zip(self._missing, self._seconds, self._timed, strict=True)
        )
        return to_do * elapsed / spent

    def _extend(self, point: int) -> bool:
        """Ask how many runs a point needs when all are done; return whether it lacks some then."""
        if self._needed is None:
            return False
        while not self._missing[point]:
            before, needed = self.runs[point], self._needed(point, self.runs[point])
            if needed <= before:
                return False
            self.runs[point] = needed
            self._missing[point] = sum(one not in self._there[point] for one in range(before, needed))
        return True

    def _take(self, point: int) -> list[int]:
        number = 1
        if self._timed[point]:
            mean = self._seconds[point] / self._timed[point]
            number = min(LARGEST, max(1, int(TURN / max(mean, 1e-9))))
        taken: list[int] = []
        while len(taken) < number and self._next[point] < self.runs[point]:
            if self._next[point] not in self._there[point]:
                taken.append(self._next[point])
            self._next[point] += 1
        return taken
