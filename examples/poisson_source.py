"""A source in Python: `--python examples/poisson_source.py --set flow.data.source=poisson-in-python`."""

from collections.abc import Iterator, Sequence
from random import Random

import tidegate
from tidegate.policy import TICKS


class Poisson(tidegate.Source):
    """Sends packets with independent, exponential gaps, and sizes with equal chance."""

    name = "poisson-in-python"
    parameters = {"rate": 100_000}
    rate: int

    def packets(self, rng: Random, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
        mean = 8 * TICKS * sum(sizes) / len(sizes) / self.rate
        while True:
            yield round(rng.expovariate(1 / mean)), rng.choice(sizes)
