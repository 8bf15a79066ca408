"""References for the measured figures: limits, and the same chain in other simulators."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path


@dataclass(frozen=True)
class Bar:
    """A limit of a figure, and on which side of it the figure should be.

    Attributes:
        limit: The limit.
        at_least: Whether the figure should not be below it; else it should not be above it.
        of: Unit of the limit, as ` bytes`.
    """

    limit: float
    at_least: bool = False
    of: str = ""

    def met(self, figure: float) -> bool:
        """Return whether a figure keeps the limit."""
        return figure >= self.limit if self.at_least else figure <= self.limit

    def cell(self, figure: float) -> str:
        """Return the limit as a table shows it beside a figure, marked when the figure does not keep it."""
        side = "at least" if self.at_least else "at most"
        return f"{side} {self.limit:,g}{self.of}{'' if self.met(figure) else ', **not met**'}"


CHAIN = {
    ("fifo", 0): Bar(560),
    ("virtual-clock", 0): Bar(720),
    ("fifo", 1): Bar(680),
    ("virtual-clock", 1): Bar(840),
}
"""Instructions per packet-hop of the five-server chain, by scheduler and milliseconds of a link."""
QUEUE = Bar(2, at_least=True)
FLOW = Bar(256, of=" bytes")
SHARES = {
    1_000: (Bar(0.6), Bar(0.9)),
    100_000: (Bar(0.3), Bar(0.45)),
    1_000_000: (Bar(0.2), Bar(0.3)),
}
"""Shares of what a heap with an entry for every packet takes, by backlogged flows: VirtualClock
with its queues, and the whole switch."""
TCP_HOP = Bar(1_150)
CREDIT_HOP = Bar(1_300)
RATE_HOPS = {
    ("lot", "plain"): Bar(850),
    ("path", "plain"): Bar(850),
    ("lot", "vsvd"): Bar(1_250),
    ("path", "vsvd"): Bar(1_500),
}
"""Instructions of a cell-hop, by network and algorithm."""
FABRIC_HOP = Bar(1_000)
FABRIC_MISSES = Bar(20)
FABRIC_SPEED = Bar(0.5, at_least=True)
NAMED_FLOW = Bar(8_000, of=" bytes")
MEMBER = Bar(600, of=" bytes")
IDLE_LINK = Bar(2_000, of=" bytes")
LIST = Bar(100, of=" ms")
GATE_FILE = Bar(1, at_least=True)
CHECK = Bar(1, of=" CPU s")
PAPERS = Bar(300, of=" CPU s")
PAPERS_MEMORY = Bar(500, of=" MB")
PUSH_OUT = Bar(2, of=" times that of 1,000 flows")
SUBSCRIBERS = Bar(1.25, of=" times that of 100")
HOUSEHOLDS = Bar(1.3, of=" times that of one queue")
PORTS = Bar(1.25, of=" times that of 10")
HOUSEHOLDS_MEMORY = Bar(300, of=" MB")
IDLE_HOUSEHOLD = Bar(1_000, of=" bytes")
EXPLANATIONS = Bar(2, of=" %")
KERNEL_NANOS = 1_900
"""Nanoseconds of a frame that the gate spends in the kernel: 86 % of the 2.2 µs of `ring` in docs/gate.md."""
GATE_FRAME = Bar(400)
"""Instructions of a frame in a gate beyond those of the core's switch, of copying it and of its message."""
DECISIONS = {"srtcm": Bar(120, of=" instructions"), "trtcm": Bar(120, of=" instructions")}
"""Instructions of one decision with one state."""


SAME_HOUR = "23 to 25 November 2026, 2 cores of x86-64, 2.4 to 2.9 GHz"
EARLIER = "by 21 November 2026, 2 cores of x86-64, 2.4 to 2.9 GHz"
PEERS = [
    ("csg-htsim", 4.85, 1_442, SAME_HOUR),
    ("ns-2 2.35, unused headers removed", 3.74, 1_744, SAME_HOUR),
    ("ns-3 3.37, bare devices", 0.62, 10_200, EARLIER),
    ("ns-3 3.37, UDP over IP", 0.17, 37_300, EARLIER),
    ("ns.py 0.4.3", 0.10, 72_900, EARLIER),
]
"""The chain with links of 1 ms elsewhere, which does not run here: millions of packet-hops per CPU
second, instructions per packet-hop, when and where they were measured."""

PEERS_CHAIN = 1
"""Milliseconds of a link in the peers' chain."""


def today() -> str:
    """Return the day and the machine of a measurement."""
    day = date.today()
    return f"{day.day} {day:%B %Y}, {machine()}"


def machine() -> str:
    """Return what this machine is, as far as it says."""
    model = platform.machine()
    described = Path("/proc/cpuinfo")
    for line in described.read_text().splitlines() if described.exists() else ():
        if line.startswith("model name"):
            model = " ".join(line.partition(":")[2].split())
            break
    return f"{os.cpu_count()} cores of {model}"


def against_the_first(names: Sequence[str], costs: Sequence[float], bar: Bar) -> list[list[str]]:
    """Rows of instructions by size; each size behind the first has a limit in multiples of the first."""
    limits = ["", *(bar.cell(cost / costs[0]) for cost in costs[1:])]
    rows = zip(names, costs, limits, strict=True)
    return [[name, f"{cost:,.0f} instructions", limit] for name, cost, limit in rows]
