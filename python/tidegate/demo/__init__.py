"""The demo: a real office behind three congested hops, under FIFO and under VirtualClock.

Both schedulers get the same packets: those of a capture, and cross traffic that differs from
replication to replication. The scenario and the capture are those of `examples/office.toml`, and
are installed with this package.
"""

from __future__ import annotations

from pathlib import Path

from tidegate import replications
from tidegate.demo.kinds import by_kind
from tidegate.replications import Progress
from tidegate.results import Results
from tidegate.source import load

SCENARIO = Path(__file__).resolve().parent / "office.toml"
SCHEDULERS = ("fifo", "virtual-clock")

KINDS = {
    "voice": "telephone call, reserved",
    "video": "video stream, reserved",
    "ssh": "remote shell, reserved",
    "ping": "ping, reserved",
    "steady": "cross traffic that keeps to its reservation",
    "web": "42 web connections",
    "dns": "70 name lookups",
    "download": "3 downloads",
    "bursts": "cross traffic in bursts of 60 packets",
    "liar": "cross traffic, 4 times what it reserved",
}
"""Kinds of flows and their descriptions, in the order of the table."""

DRAWN = ("voice", "video", "ssh", "steady", "web", "download", "bursts", "liar")
"""The kinds in the figure."""


def run(runs: int, progress: Progress | None = None) -> dict[str, Results]:
    """Simulate the office under each scheduler, and take the flows of a kind as one group.

    Args:
        runs: Replications under each scheduler, at least 1.
        progress: Called with the share that is done, 0 to 1.
    """
    results = {}
    for done, scheduler in enumerate(SCHEDULERS):

        def overall(share: float, done: int = done) -> None:
            if progress is not None:
                progress((done + share) / len(SCHEDULERS))

        scenario = load(SCENARIO, [("port.scheduler", scheduler)])
        results[scheduler] = by_kind(replications.simulate(scenario, replications=runs, progress=overall))
    return results
