"""Scenarios and executors of the tests of sweeps."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import tidegate
from conftest import CHAIN

SHORT = CHAIN.replace('"2s"', '"400ms"')
"""A run takes about 2 ms."""

RATE = "flow.voice.source.rate"
POLICY = "port.policy"

VALUES = {POLICY: ["fifo", "fq-codel", "virtual-clock"], RATE: ["32kbit", "64kbit"]}
"""Six points."""


class Counting(ThreadPoolExecutor):
    """Carries runs out in threads of this process, and counts them by scenario and seed."""

    def __init__(self, workers=2):
        super().__init__(workers)
        self.runs = Counter()

    def submit(self, task, batch):
        self.runs.update((batch.text, seed) for seed in batch.seeds)
        return super().submit(task, batch)


def swept(**more):
    """Return the table of six points, each 20 times, unless said otherwise."""
    return tidegate.sweep(SHORT, **({"values": VALUES, "replications": 20, "jobs": 2} | more))
