"""Sources that are written in Python.

    class Pairs(tidegate.Source):
        name = "pairs"
        parameters = {"every": 0.01}

        def packets(self, rng, sizes):
            while True:
                yield round(self.every * TICKS), sizes[0]
                yield 0, sizes[0]

From then on a flow may have `source = "pairs"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tidegate import _tidegate
from tidegate.policy import TICKS, Declaration, Policy

__all__ = ["TICKS", "Source"]


class Source(Policy):
    """Sends the packets of a flow, whatever the network does with them.

    Each flow that names it makes an object of it.
    """

    _role = "source"

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        _tidegate.register_source(*declaration)

    def packets(self, rng: Random, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the packets of a flow: for each, ticks since the one before, and its length in bytes.

        The ticks of the first packet count from the flow's `start`. Lengths are from 1 to the largest
        of `sizes`, the flow's `size` in bytes. `rng` follows from the seed of the run and the name of
        the flow: other flows change nothing. The flow ends with the iterator.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `packets`")

    def _start(self, high: int, low: int, sizes: list[int]) -> Iterator[tuple[int, int]]:
        return iter(self.packets(Random(high << 64 | low), tuple(sizes)))
